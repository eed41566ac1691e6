"""Nights of a lab of four phones, as runs leave them in a ledger: two of one device model, two of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from android_runner.battery import BatteryReading
from android_runner.errors import Blame, Retry
from orchestrator.app.kept import Kept, kept_to_text
from orchestrator.outcome import Failed, Measured, Skipped, SkipReason
from orchestrator.plan.case import Purpose, Trial
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import PhoneRecord, RunContents, RunState
from tests.unit.store import sample_run as sample

NIGHTLY = "lab"
B3, B4, C1, C2 = "R5B3", "R5B4", "R5C1", "R5C2"
MODELS = {
    B3: ("Pixel 8", "Tensor G3"),
    B4: ("Pixel 8", "Tensor G3"),
    C1: ("Galaxy A54", "s5e8835"),
    C2: ("Redmi 9", ""),
}
PLACES = {B3: "usb:1-1.1", B4: "usb:1-1.2", C1: "usb:1-2.1", C2: "usb:1-2.2"}
REFUSED = Failed(kind="refused", blame=Blame.RUNTIME, retry=Retry.ELSEWHERE, message="the driver has no Softmax")
ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Night:
    """What happens in one: `slower` is each phone's level, `refused` rows that phones refuse, `dies` what is given up
    after half of the trials."""

    day: int
    phones: Sequence[str] = (B3, B4, C1, C2)
    slower: Mapping[str, float] = field(default_factory=dict)
    refused: Collection[tuple[str, str]] = ()
    dies: Collection[str] = ()
    binary: str = "bb" * 32
    confirms: str = ""
    health: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"2026-04-{self.day:02}"

    @property
    def run(self) -> str:
        return f"04{self.day:02}-lab" + ("-again" if self.confirms else "")


def measure(ledger: Ledger, night: Night) -> None:
    began = datetime(2026, 4, night.day, 22, 30 if night.confirms else 0, tzinfo=UTC)
    contents = _contents(night, began)
    ledger.add_run(contents)
    ledger.batteries.add(
        night.run,
        {
            one: BatteryReading(at=began, place=PLACES[one], level=80, health=night.health.get(one, "Good"))
            for one in night.phones
        },
    )
    attempts, ends = [], []
    rows = {one.case_id: one.row for one in contents.cases}
    for at, trial in enumerate(contents.trials):
        row, dead = rows[trial.case_id], trial.phone in night.dies and trial.round > ROUNDS // 2
        if dead:
            ends.append((trial, Skipped(reason=SkipReason.PHONE_LOST)))
        elif (trial.phone, row) in night.refused:
            attempts.append(sample.attempt(trial, f"{night.run}-{at}", REFUSED, night.run))
            ends.append((trial, REFUSED))
        else:
            jitter = 1 + ((night.day * 7 + at * 3) % 11 - 5) * 1e-3
            outcome = Measured(figures=sample.figures(0.004 * night.slower.get(trial.phone, 1.0) * jitter))
            attempts.append(
                sample.attempt(
                    trial, f"{night.run}-{at}", outcome, night.run, recorded_at=began + timedelta(seconds=at + 1)
                )
            )
    ledger.record_attempts(attempts)
    for trial, outcome in ends:
        ledger.end_trial(trial.trial_id(night.run), outcome, began)
    for phone in night.dies:
        _incidents(ledger, night.run, phone, began + timedelta(minutes=10))
    ledger.set_run_state(night.run, RunState.FINISHED, began + timedelta(hours=1))


def _contents(night: Night, began: datetime) -> RunContents:
    base = sample.contents(night.run, rounds=ROUNDS, created_at=began)
    cases = tuple(replace(one, binary_digest=night.binary) for one in base.cases[:2])
    confirms = (f"confirms={night.confirms}",) if night.confirms else ()
    kept = Kept(
        rounds=ROUNDS, seconds=1.0, iterations=None, seed=1, trace=False, devices=("all",), inputs={}, command="orch"
    )
    return replace(
        base,
        run=replace(
            base.run, tags=(f"nightly={NIGHTLY}", f"night={night.name}", *confirms), binary_digest=night.binary,
            plan_json=kept_to_text(kept),
        ),
        phones=tuple(_phone(one) for one in night.phones),
        cases=cases,
        trials=tuple(
            Trial(case_id=one.case_id, phone=phone, purpose=Purpose.TIME, round=number, position=position)
            for phone in night.phones
            for number in range(1, ROUNDS + 1)
            for position, one in enumerate(cases)
        ),
        dropped=(),
    )  # fmt: skip


def _phone(phone: str) -> PhoneRecord:
    model, soc = MODELS[phone]
    facts = replace(sample.facts(phone), device_model=model, soc=soc, fingerprint=f"os/{phone}", virtual=phone == C2)
    return PhoneRecord(phone=phone, label=phone[2:], serial=phone, facts=facts)


def _incidents(ledger: Ledger, run: str, phone: str, at: datetime) -> None:
    for seconds, rung, result in (
        (60, "wait", "in vain"),
        (2, "reconnect", "in vain"),
        (0, "leave to a person", "ended"),
    ):
        ledger.incidents.add(
            IncidentRecord(
                run_id=run, phone=phone, at=at, seen="not attached", rung=rung, result=result, took_s=float(seconds)
            )
        )

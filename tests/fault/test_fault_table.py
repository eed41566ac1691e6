"""Every cell of the fault table, tried: one run over a crowd of phones, of which each meets its faults."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from android_runner.virtual import lifecycle
from android_runner.virtual.fault_kinds import CATALOGUE, Effect, FaultKind
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import Fault, FaultSchedule, write_schedule
from android_runner.virtual.fault_steps import Step
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.state import Places
from tests.fault.fault_table import HARMLESS, LOST_ONCE, REJECTED_ONCE, Cannot, Cell, cell
from tests.forked_orch import ROOT
from tests.virtual_lab import VirtualLab

BOUND_S = 190.0
"""All deadlines of the hurried run, one after another on one phone, with room for a busy computer."""
SHORT_S = 0.6
LONGER_S = {FaultKind.POWER_OFF: 1.0, FaultKind.LOST_TOOLS: 60.0, FaultKind.HOT: 10.0, FaultKind.BATTERY_LOW: 10.0}
"""Kinds that show only if they are still there with the next question, or at the trial's end."""
TRIAL_S = 10.0
LEAD = Fault(kind=FaultKind.DROP, step=Step.LAUNCH)
"""Makes the lane ask for the phone again: connect, probe and stage come once more, in the run."""
CLEARED = Fault(kind=FaultKind.FOLDER_LOST, step=Step.STAGE, follows=True)
"""So that there is something to stage."""
RUNS = Fault(kind=FaultKind.DRIP, step=Step.RUN)
"""One answer that drips costs nothing: what follows it comes while the trial runs, not before or after it."""
ON_THE_WAY = (Step.CONNECT, Step.PROBE, Step.STAGE)


@dataclass(frozen=True)
class Patient:
    """A phone: what it meets, at which steps, and what becomes of its trial."""

    kind: FaultKind
    steps: tuple[Step, ...]
    expected: Cell

    @property
    def faults(self) -> tuple[Fault, ...]:
        """One after another, in the order of the steps."""
        own_s = SHORT_S if self.expected == HARMLESS else LONGER_S.get(self.kind, SHORT_S)
        for_s = own_s if CATALOGUE[self.kind].for_s else None
        faults = [LEAD] if set(self.steps) & set(ON_THE_WAY) else []
        for step in self.steps:
            if step is Step.STAGE and self.kind is not FaultKind.FOLDER_LOST:
                faults.append(CLEARED)
            if step is Step.JOURNAL and self.expected in (LOST_ONCE, REJECTED_ONCE):
                faults.append(RUNS)
            faults.append(Fault(kind=self.kind, step=step, for_s=for_s, follows=bool(faults)))
        return tuple(faults)


def patients() -> list[Patient]:
    """A phone for each cell that costs something; one for all the harmless ones of a kind, one after another: were one
    of them not harmless, its trial would have another row."""
    found: list[Patient] = []
    for kind, traits in CATALOGUE.items():
        if traits.effect is Effect.SERVER or kind is FaultKind.DRIVER_REBOOT:
            continue  # the first would befall the whole crowd; the second is a reboot that only NNAPI's processes meet
        cells = [(step, one) for step in Step if isinstance(one := cell(kind, step), Cell)]
        if harmless := tuple(step for step, one in cells if one == HARMLESS):
            found.append(Patient(kind, harmless, HARMLESS))
        found += [Patient(kind, (step,), one) for step, one in cells if one != HARMLESS]
    return found


def test_the_table_is_whole() -> None:
    """At least 25 kinds by eight steps; what can't be says why, in words of its own."""
    assert len(FaultKind) >= 25
    assert len(Step) == 8
    for kind in FaultKind:
        for step in Step:
            one = cell(kind, step)
            assert isinstance(one, Cannot) == (step not in CATALOGUE[kind].steps), (kind, step)
            assert not isinstance(one, Cannot) or len(one.why) > 20, (kind, step)


@dataclass(frozen=True)
class Story:
    """What a phone's trial came to: its row, the endings of its attempts, and what had gone wrong."""

    outcome: dict[str, str]
    attempts: tuple[str, ...]
    happened: tuple[tuple[FaultKind, Step | None], ...]


def plan_of(folder: Path, mnist: Path) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(
        f'models = ["{mnist}"]\nrounds = 1\niterations = 5\ntwins = false\ncanary = false\n'
        '[[matrix]]\nrecipe = ["onnx"]\n'
    )
    return plan


def hurried_run(home: Path, plan: Path, tool: Path, devices: list[str]) -> tuple[int, float, str]:
    """A run of the real command line with shorter deadlines: exit code, seconds, what it said."""
    words = [word for device in devices for word in ("--device", device)]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.fault.hurried_orch", "run", plan, *words, "--perf-test", tool,
         "--virtual-slots", "400"],
        env={**os.environ, "ORCH_HOME": str(home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "ORCH_TRACEBACK": "1"},
        cwd=home.parent, capture_output=True, text=True, timeout=BOUND_S, check=False,
    )  # fmt: skip
    return done.returncode, time.monotonic() - began, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


def stories(home: Path) -> Iterator[tuple[str, Story]]:
    """By phone, from the ledger and from the phones' own logs."""
    attempts: dict[str, list[str]] = defaultdict(list)
    with sqlite3.connect(f"file:{home / 'ledger.sqlite'}?mode=ro", uri=True) as ledger:
        for phone, ending, code in ledger.execute("select phone, ending, exit_code from attempt order by seq"):
            attempts[phone].append(ending if code is None else f"{ending} {code}")
        rows = ledger.execute("select phone, state, outcome from trial").fetchall()
    for phone, state, outcome in rows:
        told = tuple((one.kind, one.step) for one in happened(Places(home.resolve()).phone(phone)))
        row = {"state": state, **(json.loads(outcome) if outcome else {})}
        yield phone, Story(row, tuple(attempts[phone]), told)


@pytest.mark.timeout(400)
def test_every_cell_ends_as_the_table_says(tmp_path: Path, mnist: Path) -> None:
    home = tmp_path / "home"
    crowd = patients()
    with VirtualLab(home, slots=400) as lab:
        phones = lab.up(("pixel-8", len(crowd)))
        for phone, patient in zip(phones, crowd, strict=True):
            write_schedule(lab.folder(phone), FaultSchedule(fault=patient.faults))
            lifecycle.poke(home, phone.serialno)
        tool = sleeping_perf_test(tmp_path / "tool", TRIAL_S)
        code, took_s, said = hurried_run(home, plan_of(tmp_path, mnist), tool, [f"virtual:pixel-8x{len(crowd)}"])
        found = dict(stories(home))
        left = {phone.serialno: left_on(lab.folder(phone)) for phone in phones}
    assert code == 3, said
    assert took_s < BOUND_S, said
    wrong = []
    for phone, patient in zip(phones, crowd, strict=True):
        story, expected = found.get(phone.serialno), patient.expected
        if story is None:
            wrong.append(f"{patient.kind} at {patient.steps}: left out of the run")
            continue
        seen = Cell(
            outcome=story.outcome["state"],
            kind=story.outcome.get("kind", ""),
            blame=story.outcome.get("blame", ""),
            attempts=story.attempts,
        )
        planned = tuple((fault.kind, fault.step) for fault in patient.faults)
        if seen != expected or story.happened != planned:
            met = [f"{met_kind} {step}" for met_kind, step in story.happened]
            why = story.outcome.get("message", "")
            wrong.append(f"{patient.kind} at {', '.join(patient.steps)}: {seen}; happened {met}; {why}")
        if left[phone.serialno] and Step.RELEASE not in patient.steps and patient.kind is not FaultKind.FOREIGN_LEASE:
            wrong.append(f"{patient.kind} at {patient.steps}: left on the phone {left[phone.serialno]}")
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize(
    ("kind", "step"), [(FaultKind.ROGUE_OPEN, Step.LAUNCH), (FaultKind.SERVER_KILLED, Step.JOURNAL)]
)
def test_a_server_that_ends_under_its_phones_costs_no_attempt(
    tmp_path: Path, mnist: Path, kind: FaultKind, step: Step
) -> None:
    """In a lab of its own: all the crowd would meet it. Both kinds end it in the same way, whichever step it was."""
    home = tmp_path / "home"
    with VirtualLab(home, slots=2) as lab:
        phones = lab.up(("pixel-8", 2))
        write_schedule(lab.folder(phones[0]), FaultSchedule(fault=(Fault(kind=kind, step=step),)))
        lifecycle.poke(home, phones[0].serialno)
        tool = sleeping_perf_test(tmp_path / "tool", 1.0)
        code, _, said = hurried_run(home, plan_of(tmp_path, mnist), tool, ["virtual:pixel-8x2"])
        found = dict(stories(home))
        met = [one.kind for one in happened(lab.folder(phones[0]))]
    assert code == 0, said
    assert met == [kind]
    expected = cell(kind, step)
    assert isinstance(expected, Cell)
    assert [(story.outcome["state"], story.attempts) for story in found.values()] == [
        (expected.outcome, expected.attempts)
    ] * 2, said


def left_on(folder: Path) -> list[str]:
    """Blocks of ours that still lie on a phone."""
    return sorted(path.name for path in (folder / "root/data/local/tmp/orch/blocks").glob("*"))

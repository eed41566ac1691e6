"""Alerts of a nightly: at a night's end by what it showed, and at once when a hub or much of the lab is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from android_runner.recovery.rungs import Result
from orchestrator.app.morning import incidents_now, material_of
from orchestrator.app.registry import Registry, read_registry
from orchestrator.errors import ExitCode, FarmError
from orchestrator.home import Home
from orchestrator.nights.alerts import Alert, Folded, Lost, Seen, fold, sudden
from orchestrator.report.morning.digest import digest, seen
from orchestrator.report.morning.nouns import Digest
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import PhoneRecord

LOOK_EVERY_S = 10.0
END_S = 5.0


def end_night(
    home: Home, ledger: Ledger, nightly: str, night: str, *, problem: str = "", code: ExitCode | None = None
) -> tuple[Digest, Folded]:
    """Write down what became of the alerts in this night, and make its digest; the numbers that a regression goes by
    are kept. `problem` and `code`, why it did not run as asked and its exit code, go over what its record says. Told
    again of the same night, nothing is opened twice. Raises StoreError."""
    material = material_of(home, ledger, nightly, night)
    if code is not None:
        material = replace(material, problem=problem, nobody=code == ExitCode.NO_DEVICE and not material.runs)
    folded = fold(nightly, night, ledger.alerts.standing(nightly), seen(material))
    ledger.alerts.write(folded.changed)
    found = digest(replace(material, alerts=ledger.alerts.on(nightly, night)))
    numbers = [Number(run, one.phone) for one in found.regressed for run in (one.last_good, one.first_bad) if run]
    ledger.kept.keep(numbers, Use.ALERTED, f"orch nightly digest {night} --name {nightly}")
    return found, folded


def at_once(home: Home, ledger: Ledger, nightly: str, night: str, run_id: str) -> tuple[Alert, ...]:
    """While a run goes on: alerts of a hub, or of much of the lab, that nobody has been told of; they are written down.

    Raises StoreError.
    """
    phones = {one.phone: one for one in ledger.contents(run_id).phones}
    registry = read_registry(home)
    places = {phone: _place(phone, ledger, registry) for phone in phones}
    places |= {one.phone: _place(one.phone, ledger, registry) for one in registry.phones.values() if one.expected}
    seen_now = Seen(lost=_away(ledger, run_id, phones, places), lab=places)
    found = sudden(fold(nightly, night, ledger.alerts.standing(nightly), seen_now))
    if found:
        ledger.alerts.write(found)
    return found


def _away(ledger: Ledger, run_id: str, phones: dict[str, PhoneRecord], places: dict[str, str]) -> Sequence[Lost]:
    """Phones of which the last that was seen is no answer."""
    away: dict[str, Lost] = {}
    for one in incidents_now(ledger, run_id, phones):
        if one.phone in phones and one.result != Result.BACK:
            away[one.phone] = Lost(phone=one.phone, name=one.label, where=places.get(one.phone, ""))
        else:
            away.pop(one.phone, None)
    return list(away.values())


def _place(phone: str, ledger: Ledger, registry: Registry) -> str:
    readings = ledger.batteries.of(phone)
    known = registry.of(phone).seen
    return (readings[-1].place if readings else "") or (known.where if known is not None else "")


class LossWatch:
    """Looks, inside its block, every so often whether a hub or much of the lab is gone in a run of the night; `tell`
    hears of each such alert once, on the watch's own thread. A ledger that can't be read for a moment is asked again.
    """

    def __init__(
        self, home: Home, nightly: str, night: str, run_id: str, tell: Callable[[Sequence[Alert]], object],
        every_s: float = LOOK_EVERY_S,
    ) -> None:  # fmt: skip
        self._asked = (nightly, night, run_id)
        self._home = home
        self._tell = tell
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="losses", daemon=True)

    def __enter__(self) -> LossWatch:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join(END_S)

    def _live(self) -> None:
        while not self._stop.wait(self._every_s):
            try:
                found = self._look()
            except FarmError:
                continue
            if found:
                self._tell(found)

    def _look(self) -> tuple[Alert, ...]:
        ledger = Ledger.open(self._home.root)
        try:
            return at_once(self._home, ledger, *self._asked)
        finally:
            ledger.close()

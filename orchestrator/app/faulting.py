"""Faults of virtual phones, as the command line speaks of them: a schedule put in place, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from android_runner.virtual.fault_kinds import CATALOGUE
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import FaultSchedule, FaultScheduleError, load_schedule, write_schedule
from android_runner.virtual.lifecycle import listing, poke
from android_runner.virtual.state import Places
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.presets import unknown

NONE = "none"
"""In place of a schedule's file: no more faults."""


def schedule_of(path: str) -> FaultSchedule | None:
    """The schedule in a file; None for `none` and where none is asked for. Raises UsageError with every problem."""
    if path in ("", NONE):
        return None
    try:
        return load_schedule(Path(path))
    except FaultScheduleError as error:
        raise UsageError(*(Problem(f"--faults {error.source}", each) for each in error.problems)) from error


def put_in_place(home: Home, schedule: FaultSchedule | None, serialnos: Sequence[str], seed: int) -> None:
    """Have phones go wrong by a schedule from now on, or (None) no more."""
    for serialno in serialnos:
        write_schedule(Places(home.root.resolve()).phone(serialno), schedule, seed=seed)
        poke(home.root, serialno)


def happened_on(home: Home, serialnos: Sequence[str]) -> list[dict[str, object]]:
    """What has happened on these phones (none: all), by phone and time. Raises UsageError for one that is not there."""
    known = [one.serialno for one in listing(home.root)]
    if wrong := [name for name in serialnos if name not in known]:
        raise UsageError(*(unknown("virtual phone", name, known or [NONE], where="arguments") for name in wrong))
    places = Places(home.root.resolve())
    return [
        {
            "phone": name,
            "at_s": round(one.begun_s, 3),
            "kind": one.kind.value,
            "step": one.step.value if one.step is not None else "-",
            "for_s": round(one.until_s - one.begun_s, 3),
        }
        for name in (serialnos or known)
        for one in happened(places.phone(name))
    ]


def kinds_known() -> list[dict[str, object]]:
    """The catalogue, in its order."""
    return [
        {"kind": kind.value, "steps": [step.value for step in traits.steps], "about": traits.about}
        for kind, traits in CATALOGUE.items()
    ]

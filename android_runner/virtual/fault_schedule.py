"""When a virtual phone goes wrong: a file that says it (TOML or JSON, read strictly), or draws by a seed.

[[fault]]                       [[random]]
kind = "drop"                   kinds = ["drop", "unplug", "hang"]
step = "pull"                   mean_up_s = 120
after_bytes = 2000              mean_down_s = 30
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.toml_text import NotTomlError, toml_as_json
from android_runner.virtual.fault_kinds import CATALOGUE, FaultKind
from android_runner.virtual.fault_steps import Step

_STRICT = ConfigDict(strict=True, extra="forbid")
SCHEDULE_NAME = "fault-schedule.json"
HAPPENED_NAME = "faults.log"
_SHORTEST_S = 0.05
_MAX_S = 1e7
_ALL = ("*",)


class FaultScheduleError(ValueError):
    """A schedule cannot be used; `problems` has one line for each reason, with its path in the file."""

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(f"{source}: {problem}" for problem in problems))
        self.source = source
        self.problems = problems


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Fault:
    """One fault. With a `step` it happens when an operation of that step begins, else at its time.

    `at_s`: not before so many seconds after the schedule was put in place. `for_s`: how long it lasts (none: the
    kind's own; 0: one operation). `skip`: how many operations of the step go well before; `times`: how often it
    happens (once where it has no step). `follows`: not before the fault above it in the file has happened.
    `after_bytes`: see the kind. `phones`: by serial number, with `*` and `?`.
    """

    kind: FaultKind
    step: Step | None = None
    at_s: float = Field(default=0.0, ge=0.0, le=_MAX_S)
    for_s: float | None = Field(default=None, ge=0.0, le=_MAX_S)
    skip: int = Field(default=0, ge=0)
    times: int = Field(default=1, ge=1)
    follows: bool = False
    after_bytes: int | None = Field(default=None, ge=0)
    phones: tuple[str, ...] = Field(default=_ALL, min_length=1)

    @property
    def lasts_s(self) -> float:
        """How long it holds once it has begun."""
        return CATALOGUE[self.kind].for_s if self.for_s is None else self.for_s


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class RandomFaults:
    """Faults drawn by the seed: well for `mean_up_s` on the average, then a fault of `kinds` for `mean_down_s`.

    Both are drawn from exponential distributions. With `steps` each is at one of them (or, where the kind can't show
    there, at its time); it passes by when no operation of that step begins before the next fault is due. `together`
    draws the same for all `phones`: they hang on one hub. `at_most` bounds how many a phone gets (0: no bound).
    """

    kinds: tuple[FaultKind, ...] = Field(min_length=1)
    mean_up_s: float = Field(gt=0.0, le=_MAX_S)
    mean_down_s: float = Field(default=1.0, gt=0.0, le=_MAX_S)
    steps: tuple[Step, ...] = ()
    together: bool = False
    at_most: int = Field(default=0, ge=0)
    phones: tuple[str, ...] = Field(default=_ALL, min_length=1)

    def drawn(self, seed: str) -> Iterator[Fault]:
        """The faults of one phone in the order of their times, without end but for `at_most`; the same for ever."""
        draw = Random(seed)
        at_s, count = 0.0, 0
        while not self.at_most or count < self.at_most:
            at_s += draw.expovariate(1.0 / self.mean_up_s)
            down_s = max(_SHORTEST_S, draw.expovariate(1.0 / self.mean_down_s))
            kind = self.kinds[draw.randrange(len(self.kinds))]
            step = self.steps[draw.randrange(len(self.steps))] if self.steps else None
            yield Fault(
                kind=kind,
                step=step if step in CATALOGUE[kind].steps else None,
                at_s=at_s,
                for_s=down_s,
                after_bytes=draw.choice((0, 1, 16, 256, 4096)),
            )
            at_s += down_s
            count += 1


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class FaultSchedule:
    """All faults of one file."""

    fault: tuple[Fault, ...] = ()
    random: tuple[RandomFaults, ...] = ()

    def of_phone(self, serialno: str) -> FaultSchedule:
        """Only what concerns one phone. A fault that `follows` one of other phones follows what is before it here."""
        return FaultSchedule(
            fault=tuple(replace(one, phones=_ALL) for one in self.fault if _names(one.phones, serialno)),
            random=tuple(replace(one, phones=_ALL) for one in self.random if _names(one.phones, serialno)),
        )


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class PutInPlace:
    """A phone's schedule as it lies in its folder: since when, on the host's monotonic clock, and its seed."""

    since_s: float
    seed: str
    schedule: FaultSchedule


def parse_schedule(content: bytes, *, source: str) -> FaultSchedule:
    """Read TOML, or JSON where `source` ends in `.json`; raise `FaultScheduleError` with every problem."""
    try:
        text = content.decode("utf-8") if source.endswith(".json") else toml_as_json(content)
        if source.endswith(".json"):
            json.loads(text)
    except (NotTomlError, ValueError, RecursionError) as error:
        kind = "JSON" if source.endswith(".json") else "TOML"
        raise FaultScheduleError(source, (f"not {kind}: {error}",)) from error
    try:
        schedule = TypeAdapter(FaultSchedule).validate_json(text)
    except ValidationError as error:
        found = tuple(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise FaultScheduleError(source, found) from error
    problems = tuple(_contradictions(schedule))
    if problems:
        raise FaultScheduleError(source, problems)
    return schedule


def load_schedule(path: Path) -> FaultSchedule:
    """Read a schedule's file; raise `FaultScheduleError`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FaultScheduleError(str(path), (f"cannot be read: {error.strerror}",)) from error
    return parse_schedule(content, source=str(path))


def write_schedule(phone_dir: Path, schedule: FaultSchedule | None, *, seed: int | str = 0) -> None:
    """Put a schedule in place for one phone, from now on; None takes it away. What a fault left is then mended."""
    target = phone_dir / SCHEDULE_NAME
    if schedule is None:
        target.unlink(missing_ok=True)
        return
    placed = PutInPlace(since_s=time.monotonic(), seed=str(seed), schedule=schedule.of_phone(phone_dir.name))
    (phone_dir / HAPPENED_NAME).unlink(missing_ok=True)
    fresh = target.with_suffix(".new")
    fresh.write_bytes(TypeAdapter(PutInPlace).dump_json(placed))
    fresh.replace(target)


def read_placed(phone_dir: Path) -> PutInPlace | None:
    """The schedule that lies in a phone's folder; None where there is none. Raises `ValueError` for a wrong one."""
    try:
        raw = (phone_dir / SCHEDULE_NAME).read_bytes()
    except FileNotFoundError:
        return None
    return TypeAdapter(PutInPlace).validate_json(raw)


def _names(patterns: tuple[str, ...], serialno: str) -> bool:
    return any(fnmatchcase(serialno, pattern) for pattern in patterns)


def _contradictions(schedule: FaultSchedule) -> Iterator[str]:
    for index, fault in enumerate(schedule.fault):
        traits = CATALOGUE[fault.kind]
        where = f"fault.{index}"
        if fault.step is not None and fault.step not in traits.steps:
            yield f"{where}.step: {fault.kind} can't be at {fault.step}; it can at {', '.join(traits.steps)}"
        if fault.step is None and (fault.times != 1 or fault.skip):
            yield f"{where}: `times` and `skip` count operations of a step; give a step"
        if fault.follows and index == 0:
            yield f"{where}.follows: nothing stands above it"

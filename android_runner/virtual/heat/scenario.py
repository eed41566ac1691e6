"""Scenario files: the ranges that a phone's nature is drawn from. TOML, read strictly, every problem with its path.

A range is `[low, high]`; its figure is drawn evenly between them, that of `process_cv` evenly in its logarithm.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.toml_text import NotTomlError, toml_as_json

_STRICT = ConfigDict(strict=True, extra="forbid")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")

Range = tuple[float, float]


class ScenarioError(ValueError):
    """A scenario cannot be used; `problems` has one line for each reason, with its path in the file."""

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(f"{source}: {problem}" for problem in problems))
        self.source = source
        self.problems = problems


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class HeatRanges:
    """Heat, by what can be seen from outside.

    `lost` is the share of its speed that a cold phone loses under full load until it settles, and `time_constant_s`
    how long it takes to lose 63 % of that; it settles `settles_above_c` over `throttle_from_c`, where clocks begin to
    fall. With `lost = [0, 0]` it gets warm with that time constant and never throttles.
    """

    lost: Range
    time_constant_s: Range
    ambient_c: Range = (22.0, 27.0)
    throttle_from_c: Range = (36.0, 40.0)
    settles_above_c: Range = (3.0, 8.0)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class BatteryRanges:
    """The battery: level at the start in percent; currents as in `model.HeatTraits`."""

    level: Range = (60.0, 95.0)
    mah: Range = (3500.0, 5000.0)
    charge_ma: Range = (400.0, 500.0)
    load_ma: Range = (900.0, 1800.0)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class BurstRanges:
    """Bursts of load by others, as in `bursts.BurstTraits`."""

    mean_gap_s: Range
    mean_length_s: Range
    takes: Range
    runnable: Range


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class SlowModeRanges:
    """A slow mode that no sensor shows: a process starts in it with chance `enters` after a fast one.

    After a slow one the chance is `stays`. All of a slow process takes `by` longer (a share).
    """

    enters: Range
    stays: Range
    by: Range


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class NoiseRanges:
    """How processes that do the same differ: a log-normal factor with this coefficient of variation."""

    process_cv: Range = (0.005, 0.05)
    slow_mode: SlowModeRanges | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class SensorChances:
    """The chance of each sensor to be missing, or to lie."""

    missing: float = Field(default=0.0, ge=0.0, le=1.0)
    lying: float = Field(default=0.0, ge=0.0, le=1.0)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Scenario:
    """One scenario. `time_scale`: how many seconds of heat go by in one of the clock's, on a phone that lives."""

    name: str = Field(pattern=rf"^{_NAME.pattern}$")
    about: str = Field(min_length=1, max_length=400)
    heat: HeatRanges
    battery: BatteryRanges = Field(default_factory=BatteryRanges)
    noise: NoiseRanges = Field(default_factory=NoiseRanges)
    bursts: BurstRanges | None = None
    sensors: SensorChances = Field(default_factory=SensorChances)
    time_scale: float = Field(default=1.0, gt=0.0, le=10_000.0)


def scenario_names() -> list[str]:
    """The names of the scenarios that come with the project, sorted."""
    folder = importlib.resources.files(__package__) / "scenarios"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Read a scenario by name, or by path when it ends in `.toml`; raise `ScenarioError`."""
    text = str(name_or_path)
    if text.endswith(".toml"):
        try:
            content = Path(text).read_bytes()
        except OSError as error:
            raise ScenarioError(text, (f"cannot be read: {error.strerror}",)) from error
        return parse_scenario(content, source=text)
    names = scenario_names()
    if text not in names:
        raise ScenarioError(text, (f"no such scenario; there are: {', '.join(names)}",))
    folder = importlib.resources.files(__package__) / "scenarios"
    return parse_scenario((folder / f"{text}.toml").read_bytes(), source=text)


def parse_scenario(content: bytes, *, source: str) -> Scenario:
    """Read TOML; raise `ScenarioError` with every problem and its path."""
    try:
        text = toml_as_json(content)
    except NotTomlError as error:
        raise ScenarioError(source, (f"not TOML: {error}",)) from error
    try:
        scenario = TypeAdapter(Scenario).validate_json(text)
    except ValidationError as error:
        found = tuple(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ScenarioError(source, found) from error
    problems = tuple(_contradictions(scenario))
    if problems:
        raise ScenarioError(source, problems)
    return scenario


_BOUNDS: dict[str, tuple[float, float]] = {
    "heat.lost": (0.0, 0.6),
    "heat.time_constant_s": (1.0, 100_000.0),
    "heat.ambient_c": (-10.0, 45.0),
    "heat.throttle_from_c": (30.0, 90.0),
    "heat.settles_above_c": (0.5, 40.0),
    "battery.level": (1.0, 100.0),
    "battery.mah": (100.0, 20_000.0),
    "battery.charge_ma": (0.0, 10_000.0),
    "battery.load_ma": (0.0, 10_000.0),
    "noise.process_cv": (0.0001, 1.0),
    "noise.slow_mode.enters": (0.0, 1.0),
    "noise.slow_mode.stays": (0.0, 1.0),
    "noise.slow_mode.by": (0.0, 10.0),
    "bursts.mean_gap_s": (0.1, 1e6),
    "bursts.mean_length_s": (0.1, 1e6),
    "bursts.takes": (0.0, 0.9),
    "bursts.runnable": (0.0, 64.0),
}


def _contradictions(scenario: Scenario) -> Iterator[str]:
    for path, (least, most) in _BOUNDS.items():
        found: object = scenario
        for part in path.split("."):
            found = getattr(found, part, None)
        if isinstance(found, tuple):
            low, high = found
            if not low <= high:
                yield f"{path}: {low:g} is above {high:g}"
            if not (least <= low and high <= most):
                yield f"{path}: outside of {least:g} to {most:g}"
    if scenario.heat.ambient_c[1] + 2.0 > scenario.heat.throttle_from_c[0]:
        yield "heat.throttle_from_c: less than 2 °C above heat.ambient_c"
    if scenario.sensors.missing + scenario.sensors.lying > 1.0:
        yield "sensors: missing and lying add up to more than 1"

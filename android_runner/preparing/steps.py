"""Pure: the steps of a preparation: what each sets on which phone, or why it is not to be had there.

Unrooted phones are quieted, never tuned beyond what a shell may: clocks are fixed on rooted ones only, at 7/8 of their
top as Chromium's `devil` does (`perf_control.py`), below the point where most phones throttle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from android_runner.facts import framed_lines, whole_number
from android_runner.preparing.knobs import AWAKE, Kind, Knob, setting

AIRPLANE_COMMAND_API = 30
"""Android 11 has `cmd connectivity airplane-mode` for the shell; before, only the system may switch it."""
TASK_PROFILE = "MaxPerformance"
STAY_ON = "7"
"""BatteryManager's PLUGGED_AC | PLUGGED_USB | PLUGGED_WIRELESS."""
BRIGHTNESS = "102"
"""0.4 of 255, AOSP's own default: bright enough to be on, the same on every phone."""
SCREEN_OFF_MS = "1800000"
_NETWORK_SERIAL = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,253}:[0-9]{1,5}|.*\._tcp.*")


class StepName(StrEnum):
    """The steps, in the order in which they are done."""

    AWAKE = "awake"
    SCREEN = "screen"
    AIRPLANE = "airplane"
    ANIMATIONS = "animations"
    DOZE = "doze"
    UPDATES = "updates"
    PROFILE = "profile"
    CLOCKS = "clocks"


class Standing(StrEnum):
    """What came of a step."""

    DONE = "done"
    NOT_OFFERED = "not offered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What came of a step on one phone; `words` say what was set, or why it was not."""

    step: StepName
    standing: Standing
    words: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Knobs to set, in this order. The task profile has none: it ends with the processes that have it."""

    name: StepName
    targets: tuple[tuple[Knob, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What of a phone decides on the steps. `clocks` are kHz to fix, by cpufreq policy; `no_root` says why it has none.

    `by_network`: adb reaches it over Wi-Fi or Ethernet, which airplane mode would end.
    """

    api_level: int
    no_root: str
    by_network: bool
    clocks: Mapping[str, int] = field(default_factory=dict)


def reached_by_network(serial: str) -> bool:
    """Whether a transport of this name goes over a network: `host:port`, or a name that mDNS found."""
    return _NETWORK_SERIAL.fullmatch(serial) is not None


def fixed_clocks(text: str) -> dict[str, int]:
    """kHz to fix each cpufreq policy at, from framed `scaling_available_frequencies` and `cpuinfo_max_freq` lines.

    The highest step at or below 7/8 of the top; the lowest step where all are above.
    """
    tops: dict[str, int] = {}
    offered: dict[str, list[int]] = {}
    for path, value in framed_lines(text):
        found = re.search(r"/(policy[0-9]{1,4})/(cpuinfo_max_freq|scaling_available_frequencies)$", path)
        figures = [one for word in value.split()[:100] if (one := whole_number(word, highest=10**9))]
        if found and figures and found[2] == "cpuinfo_max_freq":
            tops.setdefault(found[1], figures[0])
        elif found and figures:
            offered.setdefault(found[1], sorted(figures))
    return {policy: _below(top * 7 // 8, offered.get(policy, [])) for policy, top in tops.items()}


def _below(cap: int, steps: Sequence[int]) -> int:
    if not steps:
        return cap
    return max((one for one in steps if one <= cap), default=steps[0])


def steps_for(about: About, wanted: Sequence[StepName]) -> list[Step | StepReport]:
    """The wanted steps in their order: what to set, or the report that this phone can't have it."""
    return [_STEPS[name](about) for name in StepName if name in wanted]


def _awake(_about: About) -> Step:
    stay = setting("global", "stay_on_while_plugged_in")
    return Step(StepName.AWAKE, ((stay, STAY_ON), (Knob(Kind.WAKEFULNESS, "screen"), AWAKE)))


def _screen(_about: About) -> Step:
    return Step(
        StepName.SCREEN,
        (
            (setting("system", "screen_brightness_mode"), "0"),
            (setting("system", "screen_brightness"), BRIGHTNESS),
            (setting("system", "screen_off_timeout"), SCREEN_OFF_MS),
        ),
    )


def _airplane(about: About) -> Step | StepReport:
    if about.by_network:
        return _not(StepName.AIRPLANE, "it would cut the phone off: adb reaches it by network")
    if about.api_level >= AIRPLANE_COMMAND_API:
        return Step(StepName.AIRPLANE, ((Knob(Kind.AIRPLANE, "mode"), "enabled"),))
    if about.no_root:
        return _not(StepName.AIRPLANE, f"needs root before API {AIRPLANE_COMMAND_API}: {about.no_root}")
    return Step(StepName.AIRPLANE, ((Knob(Kind.AIRPLANE_AS_ROOT, "mode"), "1"),))


def _animations(_about: About) -> Step:
    keys = ("window_animation_scale", "transition_animation_scale", "animator_duration_scale")
    return Step(StepName.ANIMATIONS, tuple((setting("global", key), "0") for key in keys))


def _doze(_about: About) -> Step:
    return Step(StepName.DOZE, ((Knob(Kind.DOZE, "deep"), "0"), (Knob(Kind.DOZE, "light"), "0")))


def _updates(_about: About) -> Step:
    return Step(StepName.UPDATES, ((setting("global", "ota_disable_automatic_update"), "1"),))


def _profile(_about: About) -> Step:
    return Step(StepName.PROFILE, ())


def _clocks(about: About) -> Step | StepReport:
    if about.no_root:
        return _not(StepName.CLOCKS, f"needs root: {about.no_root}")
    if not about.clocks:
        return _not(StepName.CLOCKS, "the kernel shows no cpufreq policy")
    targets = [
        (Knob(Kind.CLOCK, f"{policy}/scaling_{end}_freq"), str(khz))
        for policy, khz in about.clocks.items()
        for end in ("min", "max")  # undone backwards: the lowest may never be above the highest
    ]
    return Step(StepName.CLOCKS, tuple(targets))


def _not(step: StepName, why: str) -> StepReport:
    return StepReport(step=step, standing=Standing.NOT_OFFERED, words=why)


_STEPS: Mapping[StepName, Callable[[About], Step | StepReport]] = {
    StepName.AWAKE: _awake,
    StepName.SCREEN: _screen,
    StepName.AIRPLANE: _airplane,
    StepName.ANIMATIONS: _animations,
    StepName.DOZE: _doze,
    StepName.UPDATES: _updates,
    StepName.PROFILE: _profile,
    StepName.CLOCKS: _clocks,
}

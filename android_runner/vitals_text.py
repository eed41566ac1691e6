"""Pure: a snapshot's text as vitals, and what the script wrote of a trial's process; bounded, nonsense left out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from android_runner.facts import (
    MAX_ZONES,
    ProcessFacts,
    Vitals,
    cleaned,
    core_list,
    framed_lines,
    temperature_c,
    whole_number,
)

MAX_POLICIES = 64
MAX_STEPS = 256
"""Bound on the clocks of one policy."""

MAX_KHZ = 10**9

LEAST_UAH, MAX_UAH = 500_000, 30_000_000
"""Capacities of phones and tablets."""
RECKONED_LEVEL = 50
"""Below this level a capacity reckoned from the charge is off by more than two per cent for the level's rounding."""

TICK_S = 0.01
"""`time_in_state` counts in 10 ms: Documentation/cpu-freq/cpufreq-stats.txt of Linux."""

MAX_SHELLS = 8
"""Others' processes that are told of."""

MAX_PROCESS_BYTES = 16 * 1024

HEALTH = ("Unknown", "Good", "Overheat", "Dead", "Over voltage", "Unspecified failure", "Cold")
STATUS = ("Unknown", "Charging", "Discharging", "Not charging", "Full")
"""`dumpsys battery` counts these from 1 (android.os.BatteryManager); files have the kernel's words."""


def parse_vitals(snapshot_text: str) -> Vitals:
    """How the phone was, from one snapshot: `PATH:VALUE` lines, and lines `dumpsys-SERVICE:` of four services.

    Whatever stands before a known path's end (the phone's root prefix) is ignored; so are lines of unknown form.
    """
    reading = _Reading()
    for path, value in framed_lines(snapshot_text):
        reading.take(path, value)
    return reading.vitals()


def parse_process(text: str) -> ProcessFacts | None:
    """What the phone script wrote of a trial's process, `NAME:VALUE` lines; None when it could read nothing."""
    lines = dict(reversed(framed_lines(text[:MAX_PROCESS_BYTES])))  # the first of a name counts
    nice = re.fullmatch(r"-?[0-9]{1,2}", lines.get("nice", "").strip())
    found = ProcessFacts(
        cpuset=cleaned(lines.get("cpuset", "")),
        cgroup=cleaned(lines.get("cgroup", "")),
        allowed_cpus=core_list(lines.get("allowed", "")),
        nice=int(nice[0]) if nice else None,
    )
    return None if found == ProcessFacts() else replace(found, online_cpus=core_list(lines.get("online", "")))


class _Reading:
    """Collects one snapshot's lines; the first of a kind counts."""

    def __init__(self) -> None:
        self.plain: dict[str, str] = {}
        self.zone_types: dict[int, str] = {}
        self.zone_figures: dict[int, float] = {}
        self.clocks: dict[tuple[str, int], int] = {}
        self.limits: dict[int, int] = {}
        self.governors: dict[int, str] = {}
        self.residency: dict[int, tuple[tuple[int, float], ...]] = {}

    def take(self, path: str, value: str) -> None:
        """One line."""
        for ending in _PLAIN:
            if path.endswith(ending):
                self.plain.setdefault(ending, value)
                return
        if found := re.search(r"/thermal_zone(\d{1,4})/(type|temp)$", path):
            self._take_zone(int(found[1]), found[2], value)
        elif found := re.search(r"/(policy|cpu)(\d{1,4})(?:/cpufreq)?/(?:stats/)?([a-z_]+)$", path):
            self._take_clock(found[1], int(found[2]), found[3], value)
        elif path == "shells":
            self.plain.setdefault(path, value)
        elif path in _DUMPSYS:
            key, mark, rest = value.partition("=" if path == "dumpsys-power" else ":")
            if mark and (kind := _DUMPSYS[path].get(key.strip().lower())):
                self.plain.setdefault(kind, rest)

    def _take_zone(self, number: int, what: str, value: str) -> None:
        if what == "type":
            self.zone_types.setdefault(number, cleaned(value)[:64])
        elif (figure := temperature_c(value)) is not None:
            self.zone_figures.setdefault(number, figure)

    def _take_clock(self, kind: str, number: int, what: str, value: str) -> None:
        figure = whole_number(value, highest=10**9)
        if what == "scaling_cur_freq" and figure is not None:
            self.clocks.setdefault((kind, number), figure)
        elif what == "scaling_max_freq" and figure is not None:
            self.limits.setdefault(number, figure)
        elif what == "scaling_governor" and (word := cleaned(value)[:32]):
            self.governors.setdefault(number, word)
        elif what == "time_in_state" and (steps := _steps(value)):
            self.residency.setdefault(number, steps)

    def vitals(self) -> Vitals:
        """What was collected, checked."""
        kind = "policy" if any(name == "policy" for name, _ in self.clocks) else "cpu"
        load = self.plain.get("/proc/loadavg")
        wakefulness = self.plain.get("wakefulness", "").strip()
        return Vitals(
            uptime_s=_first_figure(self.plain.get("/proc/uptime")),
            boot_id=_boot_id(self.plain.get("/boot_id")),
            battery_level=whole_number(self._either("/battery/capacity", "level"), highest=100),
            battery_c=_tenths_c(self._either("/battery/temp", "temperature")),
            battery_current_ua=_signed(self.plain.get("/battery/current_now")),
            battery_health=self._word("/battery/health", "health", HEALTH),
            battery_status=self._word("/battery/status", "charging", STATUS),
            battery_full_uah=self._full_uah(),
            battery_design_uah=_capacity_uah(self.plain.get("/battery/charge_full_design")),
            battery_cycles=whole_number(self.plain.get("/battery/cycle_count", ""), highest=100_000),
            thermal_status=whole_number(self.plain.get("status", ""), highest=6),
            zones_c=self._zones(),
            current_freq_khz=tuple(self.clocks[key] for key in sorted(self.clocks) if key[0] == kind),
            limit_khz=_few(self.limits),
            residency_s=_few(self.residency),
            governors=_few(self.governors),
            load_1m=_first_figure(load),
            running=_running(load),
            available_bytes=_available_bytes(self.plain.get("/proc/meminfo")),
            screen_on=_AWAKE.get(wakefulness),
            doze=cleaned(self.plain.get("deep", ""))[:32] or None,
            shells=_shells(self.plain.get("shells")),
        )

    def _either(self, file: str, dumpsys: str) -> str:
        return self.plain.get(file) or self.plain.get(dumpsys) or ""

    def _word(self, file: str, dumpsys: str, words: tuple[str, ...]) -> str | None:
        """A file's word, else the one that a service's number stands for."""
        number = whole_number(self.plain.get(dumpsys, ""), highest=len(words))
        return cleaned(self.plain.get(file, ""))[:32] or (words[number - 1] if number else None)

    def _full_uah(self) -> int | None:
        """The kernel's figure, else reckoned from what is in the battery now, where it is full enough for that."""
        told = _capacity_uah(self.plain.get("/battery/charge_full"))
        held = whole_number(self.plain.get("counter", ""), highest=MAX_UAH)
        level = whole_number(self._either("/battery/capacity", "level"), highest=100)
        if told is not None or held is None or level is None or level < RECKONED_LEVEL:
            return told
        return _capacity_uah(str(round(held * 100 / level)))

    def _zones(self) -> dict[str, float]:
        zones: dict[str, float] = {}
        for number in sorted(self.zone_figures)[:MAX_ZONES]:
            name = self.zone_types.get(number) or f"thermal_zone{number}"
            zones[name if name not in zones else f"{name}#{number}"] = self.zone_figures[number]
        return zones


_PLAIN = (
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/meminfo",
    "/boot_id",
    "/battery/capacity",
    "/battery/temp",
    "/battery/current_now",
    "/battery/health",
    "/battery/status",
    "/battery/charge_full",
    "/battery/charge_full_design",
    "/battery/cycle_count",
)
_DUMPSYS = {
    "dumpsys-battery": {
        "level": "level",
        "temperature": "temperature",
        "status": "charging",
        "health": "health",
        "charge counter": "counter",
    },
    "dumpsys-thermalservice": {"thermal status": "status"},
    "dumpsys-power": {"mwakefulness": "wakefulness"},
    "dumpsys-deviceidle": {"deep": "deep"},
}
_AWAKE = {"Awake": True, "Dreaming": True, "Asleep": False, "Dozing": False}
"""Words of android.os.PowerManagerInternal; a dream is a screen saver, dozing the screen's ambient mode."""

_SHELL = re.compile(r"([0-9]{1,10}),([0-9]{1,19}),([0-9]{1,10}),([A-Za-z0-9_.:@+-]{1,32})")


def _shells(text: str | None) -> dict[str, float] | None:
    """`PID,START,TICKS,NAME` each, as the script tells of others; None where it told nothing."""
    if text is None:
        return None
    found = (_SHELL.fullmatch(word) for word in text.split()[:MAX_SHELLS])
    return {f"{one[4]} {one[1]}@{one[2]}": int(one[3]) * TICK_S for one in found if one is not None}


_T = TypeVar("_T")


def _few(by_policy: dict[int, _T]) -> dict[int, _T]:
    return {number: by_policy[number] for number in sorted(by_policy)[:MAX_POLICIES]}


def _steps(text: str) -> tuple[tuple[int, float], ...]:
    """`KHZ TICKS` pairs in one line as (kHz, seconds) in rising order; empty for anything else."""
    words = text[: 40 * MAX_STEPS].split()
    figures = [whole_number(word, highest=10**15) for word in words]
    if len(words) % 2 or len(words) > 2 * MAX_STEPS:
        return ()
    pairs = {
        khz: ticks * TICK_S
        for khz, ticks in zip(figures[::2], figures[1::2], strict=True)
        if khz is not None and khz <= MAX_KHZ and ticks is not None
    }
    return tuple(sorted(pairs.items())) if 2 * len(pairs) == len(words) else ()


def _running(loadavg: str | None) -> int | None:
    """The fourth field of /proc/loadavg is `RUNNABLE/ALL`."""
    found = re.match(r"\s*(?:\S{1,12}\s){3}(\d{1,6})/\d{1,9}(?:\s|$)", loadavg or "")
    return int(found[1]) if found else None


def _available_bytes(line: str | None) -> int | None:
    found = re.search(r"^\s*(?:MemAvailable:)?\s*(\d{1,15}) kB", line or "")
    return int(found[1]) * 1024 if found else None


def _capacity_uah(text: str | None) -> int | None:
    """A phone's battery in µAh; None for what is none: some drivers count otherwise."""
    found = whole_number(text or "", highest=MAX_UAH)
    return found if found is not None and found >= LEAST_UAH else None


def _signed(text: str | None) -> int | None:
    found = re.fullmatch(r"\s*(-?\d{1,10})\s*", text or "")
    return int(found[1]) if found else None


def _first_figure(text: str | None) -> float | None:
    found = re.match(r"\s*(\d{1,12}(?:\.\d{1,6})?)(?:\s|$)", text or "")
    return float(found[1]) if found else None


def _tenths_c(text: str) -> float | None:
    """Battery temperature: tenths of °C, in sysfs and dumpsys alike."""
    found = re.fullmatch(r"\s*(-?\d{1,5})\s*", text)
    value = int(found[1]) / 10 if found else None
    return value if value is not None and -60.0 <= value <= 200.0 else None


def _boot_id(text: str | None) -> str | None:
    found = re.fullmatch(r"\s*([0-9a-fA-F-]{8,64})\s*", text or "")
    return found[1].lower() if found else None

"""Pure: what a phone is (facts, which don't change) and how it is now (vitals, which do), from its own text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneFacts:
    """What doesn't change while a run lasts. Text is cleaned: printable, at most 200 characters.

    `identity` is `ro.serialno` (the transport's serial when empty). `exec_abis` is what the phone can execute, best
    first: Android's ABI names on a phone, `linux-x86_64` and the like on a virtual one, whose `abis` are for display.
    `max_freq_khz` is one entry a core. `tools` are the commands that the shell finds (`taskset`,
    `sha256sum`, …). `launcher` and `profile` (a device profile's name) are a virtual phone's, empty elsewhere;
    `scenario` is that of its heat (a name or a path), empty also for a virtual phone without one. `page_bytes` is a
    page of its memory (4096; newer phones may have 16384), 0 where it does not say.
    """

    identity: str
    device_model: str
    manufacturer: str
    fingerprint: str
    soc: str
    api_level: int
    abis: tuple[str, ...]
    exec_abis: tuple[str, ...]
    cores: int
    max_freq_khz: tuple[int, ...]
    memory_bytes: int
    rooted: bool
    virtual: bool
    confinement: str
    shell: str
    tools: tuple[str, ...]
    launcher: str
    profile: str
    free_bytes: int
    scenario: str = ""
    page_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """How a phone was at one moment; None and missing keys mean "not offered", never "fine".

    `battery_c` and `zones_c` in °C by zone name, `current_freq_khz` one entry a core or policy, `thermal_status` as
    `dumpsys thermalservice` counts (0 none … 6 shutdown), `uptime_s` in seconds. Of each cpufreq policy, by its number:
    `residency_s` since boot as (kHz, seconds) in rising order, `limit_khz` the highest clock the kernel allows now,
    `governors`. `battery_current_ua` in µA as the driver counts (its sign and, on some phones, its unit differ),
    `battery_health` and `battery_status` in the kernel's words ("Good", "Charging"); in µAh `battery_full_uah` what it
    holds when full and `battery_design_uah` what it held when new; `battery_cycles` how often it was charged. `running`
    counts what is runnable at this moment, who asks included; `available_bytes` is the kernel's MemAvailable; `doze`
    the device idle controller's state. `shells` are others' processes of our user, by `NAME PID@START`: seconds that
    they have computed.
    """

    uptime_s: float | None = None
    boot_id: str | None = None
    battery_level: int | None = None
    battery_c: float | None = None
    battery_current_ua: int | None = None
    battery_health: str | None = None
    battery_status: str | None = None
    battery_full_uah: int | None = None
    battery_design_uah: int | None = None
    battery_cycles: int | None = None
    thermal_status: int | None = None
    zones_c: Mapping[str, float] = field(default_factory=dict)
    current_freq_khz: tuple[int, ...] = ()
    limit_khz: Mapping[int, int] = field(default_factory=dict)
    residency_s: Mapping[int, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    governors: Mapping[int, str] = field(default_factory=dict)
    load_1m: float | None = None
    running: int | None = None
    available_bytes: int | None = None
    screen_on: bool | None = None
    doze: str | None = None
    shells: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """How a trial's own process was placed, read once after its start; empty and None mean "not offered".

    `cpuset` and `cgroup` are the kernel's paths, `allowed_cpus` its cores, `online_cpus` the phone's at that time.
    """

    cpuset: str = ""
    cgroup: str = ""
    allowed_cpus: tuple[int, ...] = ()
    online_cpus: tuple[int, ...] = ()
    nice: int | None = None


MAX_TEXT = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
MAX_CORES = 1024
MAX_ZONES = 256


def cleaned(text: str) -> str:
    """Text of a phone made fit to be shown and stored: one line, printable, at most `MAX_TEXT` characters."""
    return printable(text[: 4 * MAX_TEXT])[:MAX_TEXT].rstrip()


def printable(text: str) -> str:
    """Text with control characters, and all that shows nothing or turns the reading direction, as spaces."""
    line = _CONTROL.sub(" ", text)
    if not line.isprintable():
        line = "".join(char if char.isprintable() else " " for char in line)
    return line.strip()


def parse_properties(text: str) -> dict[str, str]:
    """What `getprop` prints, `[name]: [value]` a line; values may hold line ends, and are cleaned."""
    properties: dict[str, str] = {}
    name, value = "", ""
    for line in text.splitlines():
        start, middle, rest = line.partition("]: [")
        if middle and start.startswith("["):
            name, value = cleaned(start[1:]), rest
        elif len(value) < MAX_TEXT:
            value += " " + line
        if name and line.endswith("]"):
            properties.setdefault(name, cleaned(value.removesuffix("]")))
            name = ""
    return properties


def whole_number(text: str, *, highest: int = 2**62) -> int | None:
    """A plain non-negative decimal number not above `highest`; None for anything else."""
    stripped = text.strip()
    if not re.fullmatch(r"[0-9]{1,19}", stripped):
        return None
    number = int(stripped)
    return number if number <= highest else None


def framed_lines(text: str) -> list[tuple[str, str]]:
    """(path, value) of lines as `grep -sH ''` prints them; lines without a colon are left out."""
    return [(path, value) for line in text.splitlines() for path, colon, value in [line.partition(":")] if colon]


def core_list(text: str) -> tuple[int, ...]:
    """The kernel's list format (`0-3,6`, or `0 1 2`) as numbers; empty when it is none."""
    cores: set[int] = set()
    for piece in re.split(r"[,\s]+", text.strip()):
        found = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", piece)
        if found is None:
            return ()
        last = int(found[2] or found[1])
        cores.update(range(int(found[1]), min(last, MAX_CORES) + 1))
    return tuple(sorted(cores))


def parse_core_count(possible: str, cpuinfo: str) -> int:
    """Cores, those asleep included: the kernel's `possible` list, else the `processor` lines of cpuinfo; at least 1."""
    return len(core_list(possible)) or len(re.findall(r"^processor\s*:", cpuinfo, re.M)) or 1


def parse_max_frequencies(text: str, cores: int) -> tuple[int, ...]:
    """kHz a core, from framed `cpuinfo_max_freq` and `related_cpus` of cores or policies; empty when none is known.

    A core without a figure of its own has 0.
    """
    own: dict[int, int] = {}
    policies: dict[int, int] = {}
    members: dict[int, tuple[int, ...]] = {}
    for path, value in framed_lines(text):
        figure = whole_number(value, highest=10**9)
        if (found := re.search(r"/cpu(\d{1,4})/cpufreq/cpuinfo_max_freq$", path)) and figure is not None:
            own[int(found[1])] = figure
        elif (found := re.search(r"/policy(\d{1,4})/cpuinfo_max_freq$", path)) and figure is not None:
            policies[int(found[1])] = figure
        elif found := re.search(r"/policy(\d{1,4})/(?:related|affected)_cpus$", path):
            members.setdefault(int(found[1]), core_list(value))
    for policy, figure in policies.items():
        for core in members.get(policy) or (policy,):
            own.setdefault(core, figure)
    return tuple(own.get(core, 0) for core in range(cores)) if own else ()


def parse_memory_bytes(meminfo: str) -> int:
    """`MemTotal` of /proc/meminfo in bytes; 0 when it is not said."""
    found = re.search(r"^MemTotal:\s*(\d{1,15}) kB", meminfo, re.M)
    return int(found[1]) * 1024 if found else 0


def parse_free_bytes(df: str) -> int:
    """Available bytes in what `df -k FOLDER` prints (toybox, GNU, busybox); 0 when it is not said."""
    found = re.findall(r"\s(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+\d{1,3}%", df)
    return int(found[-1][2]) * 1024 if found else 0


def temperature_c(raw: str) -> float | None:
    """A thermal zone's figure in °C: most give thousandths, some tenths, some whole degrees; None for nonsense."""
    found = re.fullmatch(r"\s*(-?\d{1,7})\s*", raw)
    if found is None:
        return None
    figure = float(found[1])
    value = figure / 1000 if abs(figure) >= 1000 else figure / 10 if abs(figure) > 150 else figure
    return value if -60.0 <= value <= 200.0 else None

"""Pure: what a phone is (facts, which don't change) and how it is now (vitals, which do), from its own text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneFacts:
    """What doesn't change while a run lasts. Text is cleaned: printable, at most 200 characters.

    `identity` is `ro.serialno` (the transport's serial when empty). `exec_abis` is what the phone can execute, best
    first: Android's ABI names on a phone, `linux-x86_64` and the like on a virtual one, whose `abis` are for display.
    `max_freq_khz` is one entry a core. `tools` are the commands that the shell finds (`taskset`,
    `sha256sum`, …). `launcher` and `profile` (a device profile's name) are a virtual phone's, empty elsewhere.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """How a phone was at one moment; None and missing keys mean "not offered", never "fine".

    `battery_c` and `zones_c` in °C by zone name, `current_freq_khz` one entry a core or policy, `thermal_status` as
    `dumpsys thermalservice` counts (0 none … 6 shutdown), `uptime_s` in seconds.
    """

    uptime_s: float | None = None
    boot_id: str | None = None
    battery_level: int | None = None
    battery_c: float | None = None
    thermal_status: int | None = None
    zones_c: Mapping[str, float] = field(default_factory=dict)
    current_freq_khz: tuple[int, ...] = ()
    load_1m: float | None = None

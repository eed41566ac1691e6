"""Pure: the files of a phone that its heat and clocks show in, below its root; None for one that is not offered.

Formats are those of Android kernels: `time_in_state` has `KHZ TICKS` a line, in ticks of 10 ms
(`drivers/cpufreq/cpufreq_stats.c`), `current_now` is in µA and positive into the battery, `/proc/loadavg` as
`fs/proc/loadavg.c` prints it. The rest is as `android_runner.virtual.identity` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from android_runner.profile import DeviceProfile
from android_runner.virtual.heat.sensors import Readings
from android_runner.virtual.identity import (
    BATTERY,
    THERMAL,
    THERMAL_STATUS,
    battery_temperature,
    policies,
    zone_temperature,
)

LOADAVG = "proc/loadavg"
PACE = "dev/orch/pace"
"""What the perf_tests of a hot phone read: the share of its full speed that they have, in ten-thousandths."""
_TICKS_PER_S = 100
_FULL_PACE = 10_000


def hot_files(
    profile: DeviceProfile, said: Readings, clock_step: float, residency_scale: float
) -> Iterator[tuple[str, str | None]]:
    """Every file of a hot phone but load and pace, from what its sensors say.

    `clock_step` is the distance of two clocks as a share of the top one; the residency's seconds are multiplied by
    `residency_scale`, as the kernel counts them by its own clock.
    """
    yield f"{BATTERY}/capacity", f"{said.battery_level}\n"
    yield f"{BATTERY}/temp", None if said.battery_c is None else battery_temperature(said.battery_c)
    current = said.battery_current_ma
    yield f"{BATTERY}/current_now", None if current is None else f"{round(current * 1000)}\n"
    yield THERMAL_STATUS, None if said.thermal_status is None else f"{said.thermal_status}\n"
    for index, name in enumerate(profile.zones_c):
        temp_c = None if said.zones_c is None else zone_c(name, said)
        yield f"{THERMAL}/thermal_zone{index}/temp", None if temp_c is None else zone_temperature(temp_c)
    residency_s = said.residency_s
    for folder, cluster in policies(profile):
        clocks = clock_table(cluster.min_khz, cluster.max_khz, clock_step)
        yield f"{folder}/scaling_available_frequencies", " ".join(map(str, clocks)) + " \n"
        now = None if said.clock is None else _nearest(clocks, said.clock * cluster.max_khz)
        yield f"{folder}/scaling_cur_freq", None if now is None else f"{now}\n"
        text = None
        if residency_s is not None:
            spent = {share * cluster.max_khz: spent_s * residency_scale for share, spent_s in residency_s.items()}
            text = time_in_state(clocks, spent)
        yield f"{folder}/stats/time_in_state", text


def zone_c(name: str, said: Readings) -> float | None:
    """What a zone of this name is at: the case, the battery, or else the chip."""
    zones, low = said.zones_c or {}, name.lower()
    if "batt" in low:
        return said.battery_c
    return zones.get("skin" if any(word in low for word in ("skin", "quiet", "case")) else "soc")


def clock_table(min_khz: int, max_khz: int, clock_step: float) -> tuple[int, ...]:
    """The clocks of one policy, rising: each step's share of the top clock that is not below the lowest."""
    steps = round(1.0 / clock_step)
    return tuple(sorted({max(min_khz, round(max_khz * at / steps)) for at in range(1, steps + 1)}))


def time_in_state(clocks: tuple[int, ...], spent_s: Mapping[float, float]) -> str:
    """The kernel's table; seconds by kHz, each counted at the nearest clock."""
    counted = dict.fromkeys(clocks, 0.0)
    for khz, seconds in spent_s.items():
        counted[_nearest(clocks, khz)] += seconds
    return "".join(f"{khz} {round(seconds * _TICKS_PER_S)}\n" for khz, seconds in counted.items())


def load_text(load_1m: float, running: int) -> str:
    """`/proc/loadavg`, where only the first figure and the number of runnable threads are ours to say."""
    return f"{load_1m:.2f} {load_1m:.2f} {load_1m:.2f} {running}/120 4096\n"


def pace_text(share: float) -> str:
    """The pace file; of one length, so that one write replaces all of it."""
    return f"{max(1, round(share * _FULL_PACE)):<5}\n"


def _nearest(clocks: tuple[int, ...], khz: float) -> int:
    return min(clocks, key=lambda clock: abs(clock - khz))

"""All that a snapshot holds, and how a trial's process was placed, under the shells that phones have and may have."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from android_runner.facts import ProcessFacts, Vitals
from android_runner.phone.snapshots import read_snapshots
from android_runner.vitals_text import parse_process
from tests.host_phone import PHONE_SHELLS, HostPhone, block_of, task

POLICY = "/sys/devices/system/cpu/cpufreq/policy0"
BATTERY = "/sys/class/power_supply/battery"
SERVICES = """#!/bin/sh
echo "$*" >>"$ORCH_ROOT/calls"
case $1 in
  battery) echo "  level: 61"; echo "  temperature: 298"; echo "  status: 2"; echo "  health: 2" ;;
  thermalservice) echo "Thermal Status: 2" ;;
  power) i=0; while [ $i -lt 300 ]; do echo "  of no meaning: $i"; i=$((i + 1)); done; echo "  mWakefulness=Asleep" ;;
  deviceidle) echo ACTIVE ;;
esac
"""


pytestmark = pytest.mark.parametrize("phone", PHONE_SHELLS, indirect=True)


def tool(phone: HostPhone, name: str, text: str) -> None:
    (phone.tools / name).write_text(text)
    (phone.tools / name).chmod(0o755)


def around(phone: HostPhone, *, trials: int = 1) -> list[Vitals]:
    """The snapshots before each of some trials, and the last one after."""
    block = block_of(*[task(f"t{n}", "true") for n in range(trials)])
    records = list(phone.run(block).records.values())
    numbers = [*(record.before for record in records), records[-1].after or 0]
    found = read_snapshots(phone.local(block.directory / "vitals").read_bytes(), set(numbers))
    return [found[number] for number in numbers]


def test_what_a_phone_offers_stands_in_each_snapshot(phone: HostPhone) -> None:
    phone.write(f"{POLICY}/scaling_max_freq", "2000000")
    phone.write(f"{POLICY}/scaling_governor", "schedutil")
    phone.write(f"{POLICY}/stats/time_in_state", "2000000 150\n300000 12345\n1000000 0")
    phone.write(f"{BATTERY}/current_now", "-431000")
    phone.write(f"{BATTERY}/health", "Good")
    phone.write(f"{BATTERY}/status", "Not charging")
    phone.write("/proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable:    4812345 kB\nBuffers: 3 kB")
    phone.write("/proc/loadavg", "0.52 0.40 0.30 3/345 4711")
    for vitals in around(phone):
        assert vitals.residency_s == {0: ((300_000, 123.45), (1_000_000, 0.0), (2_000_000, 1.5))}
        assert (vitals.limit_khz, vitals.governors) == ({0: 2_000_000}, {0: "schedutil"})
        assert (vitals.battery_current_ua, vitals.battery_health, vitals.battery_status) == (
            -431_000,
            "Good",
            "Not charging",
        )
        assert vitals.available_bytes == 4_812_345 * 1024
        assert (vitals.load_1m, vitals.running) == (0.52, 3)
        assert (vitals.screen_on, vitals.doze, vitals.thermal_status) == (None, None, None)


def test_services_are_asked_rarely_and_hold_for_the_snapshots_between(phone: HostPhone) -> None:
    for name in ("capacity", "temp"):
        phone.local(f"{BATTERY}/{name}").unlink()
    tool(phone, "dumpsys", SERVICES)
    tool(phone, "getprop", "#!/bin/sh\necho 29\n")
    for vitals in around(phone, trials=4):
        assert (vitals.battery_level, vitals.battery_c, vitals.thermal_status) == (61, 29.8, 2)
        assert (vitals.battery_health, vitals.battery_status) == ("Good", "Charging")
        assert (vitals.screen_on, vitals.doze) == (False, "ACTIVE")
    calls = sorted((phone.root / "calls").read_text().splitlines())
    assert calls == ["battery", "deviceidle get deep", "power", "thermalservice"]


def test_a_service_that_fails_is_not_asked_again_and_says_nothing(phone: HostPhone) -> None:
    tool(phone, "dumpsys", '#!/bin/sh\necho "$1" >>"$ORCH_ROOT/calls"\nexit 1\n')
    tool(phone, "getprop", "#!/bin/sh\necho 34\n")
    assert {vitals.thermal_status for vitals in around(phone, trials=3)} == {None}
    assert sorted((phone.root / "calls").read_text().split()) == ["deviceidle", "power", "thermalservice"]


def placed(phone: HostPhone, *, cpu_mask: int | None = None) -> ProcessFacts | None:
    block = block_of(replace(task("a", "sleep", "0.3"), cpu_mask=cpu_mask))
    phone.run(block)
    return parse_process((phone.local(block.directory) / "out/a/process").read_text())


def test_the_process_tells_how_it_is_placed(phone: HostPhone) -> None:
    phone.write("/sys/devices/system/cpu/online", "0-7")
    mine = tuple(sorted(os.sched_getaffinity(0)))
    facts = placed(phone)
    assert facts is not None
    assert (facts.allowed_cpus, facts.online_cpus, facts.nice) == (mine, tuple(range(8)), os.nice(0))
    with open("/proc/self/cgroup", encoding="utf-8") as own:
        assert facts.cgroup.split()[0] == own.readline().strip()


def test_cores_that_were_asked_for_are_read_back_from_the_program(phone: HostPhone) -> None:
    core = min(os.sched_getaffinity(0))
    facts = placed(phone, cpu_mask=1 << core)
    assert facts is not None
    assert facts.allowed_cpus == (core,)

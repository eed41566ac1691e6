"""Snapshots and placements as text: bounded, nonsense left out, the first of a kind counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.facts import ProcessFacts, Vitals
from android_runner.vitals_text import MAX_POLICIES, MAX_STEPS, parse_process, parse_vitals

CPU = "/sys/devices/system/cpu/cpufreq"


def test_a_process_of_which_nothing_could_be_read_has_no_facts() -> None:
    assert parse_process("") is None
    assert parse_process("nice:\ncpuset:\ncgroup:\nonline:0-3\n") is None
    assert parse_process("nice:$(x)\nallowed:0-99999999\ncpuset:\x1b[31m/top\n") == ProcessFacts(cpuset="[31m/top")
    assert parse_process("allowed:0-3\nallowed:0\nonline:junk\n" + "x" * 99_999) == ProcessFacts(
        allowed_cpus=(0, 1, 2, 3)
    )


@pytest.mark.parametrize(
    "value", ["", "300000", "300000 x", "300000 1 300000 2", "-1 5", "1 2 " * (MAX_STEPS + 1), "9" * 12 + " 1"]
)
def test_residency_that_is_none_is_left_out(value: str) -> None:
    assert parse_vitals(f"{CPU}/policy0/stats/time_in_state:{value}\n") == Vitals()


def test_only_so_many_policies_are_kept() -> None:
    lines = [f"{CPU}/policy{n}/scaling_max_freq:1000\n" for n in range(3 * MAX_POLICIES)]
    assert len(parse_vitals("".join(lines)).limit_khz) == MAX_POLICIES


def test_a_services_numbers_are_the_kernels_words() -> None:
    vitals = parse_vitals("dumpsys-battery:  status: 4\ndumpsys-battery:  health: 3\n")
    assert (vitals.battery_status, vitals.battery_health) == ("Not charging", "Overheat")
    assert parse_vitals("dumpsys-battery:  status: 6\ndumpsys-battery:  health: 0\n") == Vitals()


@pytest.mark.parametrize(
    ("word", "screen_on"), [("Awake", True), ("Dreaming", True), ("Dozing", False), ("Asleep", False), ("Odd", None)]
)
def test_whether_the_screen_is_on(word: str, screen_on: bool | None) -> None:
    assert parse_vitals(f"dumpsys-power:  mWakefulness={word}\n").screen_on is screen_on


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("/proc/loadavg:0.5 0.4 0.3 2/712 9", Vitals(load_1m=0.5, running=2)),
        ("/proc/loadavg:0.5 0.4 0.3", Vitals(load_1m=0.5)),
        ("/proc/loadavg:0.5 0.4 0.3 x/712 9", Vitals(load_1m=0.5)),
        ("/proc/meminfo:MemAvailable: 4 kB", Vitals(available_bytes=4096)),
        ("/proc/meminfo:MemAvailable: 4 MB", Vitals()),
        ("/sys/class/power_supply/battery/current_now:-431000", Vitals(battery_current_ua=-431_000)),
        ("/sys/class/power_supply/battery/current_now:many", Vitals()),
    ],
)
def test_lines_by_themselves(line: str, wanted: Vitals) -> None:
    assert parse_vitals(line + "\n") == wanted


@given(st.text(max_size=300))
def test_no_text_breaks_the_readers(text: str) -> None:
    parse_vitals(text)
    parse_vitals(f"{CPU}/policy0/stats/time_in_state:{text}\ndumpsys-power:{text}\n/proc/loadavg:{text}\n")
    parse_process(text)

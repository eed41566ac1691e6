"""The gate is one rule, told twice: in the phone script's shell, and for simulated phones in `benchmarks`.

The script's own functions wait here in a time that only counts, on phones whose sensors follow a drawn course; the same
courses are given to `benchmarks.simulated_farm.wait_at_gate`.
"""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from android_runner.facts import Vitals
from android_runner.phone.listing import render_list, script_source
from android_runner.validity import Limits
from android_runner.vitals_text import parse_vitals
from benchmarks.simulated_farm import wait_at_gate
from tests.host_phone import PHONE_SHELLS, block_of, shell_or_skip, task

COURSES = 600
LOOKED_S = 16
"""Longer than the patience of any course."""
BATTERY, ZONES = "/sys/class/power_supply/battery", "/sys/class/thermal"
_LOADS = ("0.10 0.20 0.30 1/345 4711", "9.05 2.00 1.00 7/345 4711", "9.05 2.00 1.00 1/345 4711", "0.50 1.0 1.0 9/9 9")

_TIME_AND_SENSORS = r"""
root='' index=1 id=t
clock() { up=$now_s.00; }
sleep() { now_s=$((now_s + 1)); }
sense() {
  zone=''
  eval "look=\$look_$now_s load=\$load_$now_s"
  while [ -n "$look" ]; do
    regard "${look%%;*}"
    look=${look#*;}
  done
}
asked_to_end() { return 1; }
snapshot() { :; }
put() { told=$1; }
"""
"""What the functions of the gate use of the script around them."""


@dataclass
class Course:
    """A phone whose sensors were drawn second by second; after its end they stay."""

    limits: Limits
    looks: list[tuple[str, ...]]
    loads: list[str]
    now_s: float = 0.0

    def at(self, second: int) -> tuple[tuple[str, ...], str]:
        place = min(second, len(self.looks) - 1)
        return self.looks[place], self.loads[place]

    def vitals(self) -> Vitals:
        look, load = self.at(int(self.now_s))
        return parse_vitals("\n".join([*look, f"/proc/loadavg:{load}"]))

    def rest(self, dt_s: float) -> None:
        assert dt_s > 0
        self.now_s += 1.0  # as often as the script looks


def drawn(seed: int) -> Course:
    draw = random.Random(seed)

    def maybe(value: object) -> object:
        return None if draw.random() < 0.3 else value

    limits = Limits(
        max_battery_c=maybe(draw.choice((30.0, 37.5))),  # type: ignore[arg-type]
        max_zone_c=maybe(draw.choice((45.0, 60.0))),  # type: ignore[arg-type]
        min_battery_level=maybe(draw.choice((20, 30, 98))),  # type: ignore[arg-type]
        battery_hysteresis=draw.choice((0, 5)),
        max_load=maybe(draw.choice((0.25, 2.0))),  # type: ignore[arg-type]
        max_status=maybe(draw.choice((0, 1))),  # type: ignore[arg-type]
        flat_c=draw.choice((0.2, 0.5)),
        flat_window_s=draw.choice((2, 5)),
        gate_timeout_s=draw.choice((0, 4, 12)),
    )
    offered = [draw.random() < 0.8 for _ in range(4)]
    heat, zone, level, status = draw.randint(280, 420), draw.randint(30_000, 70_000), draw.randint(15, 40), 0
    looks, loads = [], []
    for _ in range(LOOKED_S):
        heat -= draw.choice((0, 0, 1, 5, 20, -5))
        zone -= draw.choice((0, 100, 200, 3_000, -1_000))
        level = min(100, level + draw.choice((0, 0, 1, 5, -2)))
        status = min(6, max(0, status + draw.choice((0, 0, 1, -1))))
        lines = (
            f"{BATTERY}/temp:{heat}",
            f"{ZONES}/thermal_zone0/temp:{zone}",
            f"{BATTERY}/capacity:{level}",
            f"dumpsys-thermalservice:Thermal Status: {status}",
        )
        looks.append(tuple(line for line, there in zip(lines, offered, strict=True) if there))
        loads.append(draw.choice(_LOADS))
    return Course(limits, looks, loads)


def of_the_script() -> str:
    """The script's functions of the gate, as they stand."""
    text = script_source().decode()
    begin, end = text.index("# --- the gate:"), text.index("# --- trials ---")
    return text[begin:end]


def shell_text(courses: list[Course]) -> str:
    """A shell program that tells of each course how long the gate waited, and the journal's words."""
    lines = [of_the_script(), _TIME_AND_SENSORS]
    for course in courses:
        block = replace(block_of(task("t", "true")), limits=course.limits)
        lines.append(render_list(block).decode().partition("\n")[0])
        lines.append("now_s=0 heat='' level='' zone='' load='' status='' told='' asked=0")
        for second in range(LOOKED_S):
            look, load = course.at(second)
            words = "".join(f"{line.removeprefix('dumpsys-')};" for line in look)
            lines.append(f"look_{second}='{words}' load_{second}='{load}'")
        lines.append('sense; gate; echo "$told"')
    return "\n".join(lines) + "\n"


def told(course: Course) -> str:
    """The journal's line on a wait, as the experiment would write it; empty where there was none."""
    waited = wait_at_gate(course, course.limits)
    return f"gate 1 t {waited.waited_s:.0f} {waited.outcome} {waited.cause}" if waited.cause else ""


@pytest.mark.parametrize("shell", PHONE_SHELLS)
def test_the_script_waits_as_the_experiment_does(shell: str, tmp_path: Path) -> None:
    program = tmp_path / "gate.sh"
    program.write_text(shell_text([drawn(seed) for seed in range(COURSES)]))
    done = subprocess.run(
        [*shell_or_skip(shell), str(program)], capture_output=True, text=True, check=True, timeout=60, env={"PATH": ""}
    )
    lines = done.stdout.splitlines()
    assert len(lines) == COURSES
    expected = [told(drawn(seed)) for seed in range(COURSES)]
    assert lines == expected
    words = {tuple(line.split()[4:]) for line in expected}
    assert {("ready", "level"), ("flat", "battery"), ("timeout", "load"), ()} < words, "the courses come to little"

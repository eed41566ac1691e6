"""What faults of links cost in real time: phones whose links go and come, beside phones of the same run that are well.

Half of the phones are out of reach for 30 s on the average after 120 s on the average, by a pulled cable or a key that
is not accepted; both times are exponential, unscaled. All of them sleep through the same trials in one run of the real
command line. What is counted is what ended on the phones within the same half hour (`ORCH_LINKS_S` seconds).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time

from android_runner.virtual import lifecycle
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import FaultSchedule, RandomFaults, write_schedule
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.state import Places
from benchmarks.lab import Lab, lab, mnist, write_plan
from benchmarks.row import Row

PHONES = 8
"""Of each sort."""
SLEEP_S = 5.0
LASTS_S = float(os.environ.get("ORCH_LINKS_S", "1800"))
UP_S, DOWN_S = 120.0, 30.0
SEED = 6
GOAL = 0.95
PROFILE = "pixel-8"
MATRIX = '[[matrix]]\nrecipe = ["onnx", "basic", "all", "all runtime"]\n'
KINDS = (FaultKind.UNPLUG, FaultKind.UNAUTHORIZED)
WEATHER = FaultSchedule(random=(RandomFaults(kinds=KINDS, mean_up_s=UP_S, mean_down_s=DOWN_S),))
START_S, END_S = 120.0, 300.0


def run() -> Row:
    """The row: the share of the throughput that link faults leave."""
    with lab() as place:
        names = [f"virtual-{PROFILE}-{number}" for number in range(1, 2 * PHONES + 1)]
        plan = write_plan(
            place, "links", model=mnist(place.files / "models"), rounds=int(LASTS_S / SLEEP_S / 4) + 20,
            iterations=50, matrix=MATRIX,
        )  # fmt: skip
        binary = sleeping_perf_test(place.files, SLEEP_S)
        place.phones(f"{PROFILE}x{2 * PHONES}", slots=2 * PHONES)
        words = (
            "run", plan, "--device", f"virtual:{PROFILE}x{2 * PHONES}", "--perf-test", binary,
            "--virtual-slots", str(2 * PHONES), "--yes",
        )  # fmt: skip
        with subprocess.Popen(
            place.command(*words), env=place.env(), cwd=place.files, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            until = time.monotonic() + START_S
            while not _ended(place, names, 0.0, float("inf")) and time.monotonic() < until:
                time.sleep(0.5)
            begin_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            _weather(place, names[:PHONES], WEATHER)
            time.sleep(LASTS_S)
            end_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            faults = [
                min(one.until_s, LASTS_S) - one.begun_s
                for name in names[:PHONES]
                for one in happened(Places(place.home.resolve()).phone(name))
            ]
            _weather(place, names[:PHONES], None)
            process.send_signal(signal.SIGINT)
            process.wait(END_S)
        ill = _ended(place, names[:PHONES], begin_s, end_s) / PHONES
        well = _ended(place, names[PHONES:], begin_s, end_s) / PHONES
    share = ill / well
    return Row(
        name="links",
        goal=f"≥ {GOAL:.0%} of the trials of phones without faults",
        figure=f"{share:.1%}",
        met=share >= GOAL,
        detail=(
            f"{PHONES} phones with {len(faults)} faults of {sum(faults) / max(1, len(faults)):.0f} s on the average "
            f"(down {sum(faults) / PHONES / LASTS_S:.0%} of the time) measured {ill:.1f} trials of {SLEEP_S:g} s each "
            f"in {LASTS_S:.0f} s, {PHONES} without faults {well:.1f}"
        ),
    )


def _weather(place: Lab, names: list[str], schedule: FaultSchedule | None) -> None:
    places = Places(place.home.resolve())
    for name in names:
        write_schedule(places.phone(name), schedule, seed=SEED)
        lifecycle.poke(place.home, name)


def _ended(place: Lab, names: list[str], begin_s: float, end_s: float) -> int:
    """How many timed trials ended well on these phones between two uptimes."""
    if not (place.home / "ledger.sqlite").exists():
        return 0
    marks = ", ".join("?" * len(names))
    query = (
        "SELECT count(*) FROM attempt WHERE purpose = 'time' AND exit_code = 0 AND ended_uptime_s BETWEEN ? AND ? "
        f"AND phone IN ({marks})"
    )
    return int(place.rows(query, begin_s, end_s, *names)[0][0])

"""32 virtual phones at once against one: 20 sleeping trials of 2 s on each, Enter to the prompt, phones already up."""

from __future__ import annotations

import statistics

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from benchmarks.lab import all_measured, lab, mnist, write_plan
from benchmarks.row import Row, spread

PHONES, TRIALS, SLEEP_S = 32, 20, 2.0
REPEATS = 2
GOAL = 1.25
PROFILE = "pixel-8"
MATRIX = '[[matrix]]\nrecipe = ["all"]\nthreads = [2, 3, 4, 5]\n'


def run() -> Row:
    """The row of the speed table."""
    one, many = [], []
    with lab() as place:
        binary = sleeping_perf_test(place.files, SLEEP_S)
        plan = write_plan(
            place, "makespan", model=mnist(place.files / "models"), rounds=TRIALS // 4, iterations=50, matrix=MATRIX
        )
        place.phones(f"{PROFILE}x{PHONES}", slots=PHONES)
        for _ in range(REPEATS):
            for count, took in ((1, one), (PHONES, many)):
                device = f"virtual:{PROFILE}x{count}"
                took.append(
                    place.orch("run", plan, "--device", device, "--perf-test", binary, "--virtual-slots", str(PHONES))
                )
                all_measured(place, place.last_run(), count * TRIALS)
    ratio = statistics.median(many) / statistics.median(one)
    return Row(
        name="makespan",
        goal=f"{PHONES} phones in ≤ {GOAL} of the time of one",
        figure=f"{ratio:.3f}",
        met=ratio <= GOAL,
        detail=(
            f"{TRIALS} trials of {SLEEP_S:g} s on each phone, the whole command, {REPEATS} interleaved repeats, median "
            f"[range]: one phone {spread(one)}, {PHONES} phones {spread(many)}"
        ),
    )

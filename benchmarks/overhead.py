"""What a trial costs beside the process it measures: 100 sleeping trials through `orch run`, against the bare process.

Ours counts from the snapshot before the first trial until the ledger holds the last result: vitals before and after
each trial, the journal, the gaps between blocks (20 cases × the default 5 rounds: five blocks), pulling, evidence,
parsing, ledger. The same binary with the same command line then runs 100 times alone in one shell on the phone, timed
there; and, for a part, in a loop on the host of `adb shell` for the vitals that our script reads and for the trial.
"""

from __future__ import annotations

import json
import statistics
import time

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from benchmarks.lab import Lab, all_measured, lab, measured_span_s, mnist, quoted, write_plan
from benchmarks.row import Row, spread

TRIALS, SLEEP_S = 100, 0.5
REPEATS = 3
LOOP_TRIALS = 20
GOAL = 1.02
PROFILE = "pixel-8"
MATRIX = (
    '[[matrix]]\nrecipe = ["all"]\nthreads = [2, 3, 4, 5, 6]\narena = [true, false]\nmemory_pattern = [true, false]\n'
)
FOLDER = "/data/local/tmp/alone"


def run() -> Row:
    """The row of the speed table."""
    ours, alone, loop = [], [], []
    with lab() as place:
        binary = sleeping_perf_test(place.files, SLEEP_S)
        plan = write_plan(
            place, "overhead", model=mnist(place.files / "models"), rounds=TRIALS // 20, iterations=50, matrix=MATRIX
        )
        (serial,) = place.phones(PROFILE)
        for _ in range(REPEATS):
            place.orch("run", plan, "--device", f"virtual:{PROFILE}", "--perf-test", binary)
            run_id = place.last_run()
            all_measured(place, run_id, TRIALS)
            ours.append(measured_span_s(place, run_id))
            alone.append(_alone_s(place, serial, run_id))
            loop.append(_loop_s(place, serial, run_id) * TRIALS / LOOP_TRIALS)
    ratio = statistics.median(ours) / statistics.median(alone)
    against_loop = statistics.median(ours) / statistics.median(loop)
    ours_ms = 1000 * (statistics.median(ours) - statistics.median(alone)) / TRIALS
    return Row(
        name="overhead",
        goal=f"≤ {GOAL} of the bare process, and faster than a loop of adb shell",
        figure=f"{ratio:.3f} of the bare process, {against_loop:.3f} of the loop",
        met=ratio <= GOAL and against_loop < 1,
        detail=(
            f"{TRIALS} trials of {SLEEP_S} s, {REPEATS} interleaved repeats, median [range]: orch run {spread(ours)}, "
            f"alone in the phone's shell {spread(alone)}, loop of adb shell {spread(loop)} "
            f"(from {LOOP_TRIALS} trials); {ours_ms:.1f} ms a trial are ours"
        ),
    )


def _argv(place: Lab, run_id: str) -> list[str]:
    """A trial's command line, as the phone had it."""
    (text,) = place.rows("SELECT argv FROM attempt WHERE run_id = ? LIMIT 1", run_id)[0]
    return list(json.loads(text))


def _alone_s(place: Lab, serial: str, run_id: str) -> float:
    """100 processes one after another in a shell of the phone, between two looks at its uptime."""
    command = quoted(_argv(place, run_id))
    script = (
        f"rm -rf {FOLDER}; mkdir -p {FOLDER}; cd {FOLDER}; read -r a b </proc/uptime; i=0; "
        f"while [ $i -lt {TRIALS} ]; do {command} >stdout 2>stderr; i=$((i+1)); done; read -r z b </proc/uptime; "
        "echo $a $z"
    )
    begin, end = place.adb(serial, "shell", script).split()
    return float(end) - float(begin)


def _loop_s(place: Lab, serial: str, run_id: str) -> float:
    """What a shell loop on the host costs: a snapshot, the trial, a snapshot, its files pulled, each by its own adb."""
    command = quoted(_argv(place, run_id))
    vitals = "; ".join(f"cat {name} 2>/dev/null" for name in _vital_files(place, serial))
    begin_s = time.perf_counter()
    for index in range(LOOP_TRIALS):
        folder = f"{FOLDER}/{index}"
        place.adb(serial, "shell", f"{vitals}; true")
        place.adb(serial, "shell", f"mkdir -p {folder}; cd {folder}; {command} >stdout 2>stderr")
        place.adb(serial, "shell", f"{vitals}; true")
        place.adb(serial, "pull", folder, str(place.files / f"pulled-{time.monotonic_ns()}"))
    return time.perf_counter() - begin_s


def _vital_files(place: Lab, serial: str) -> list[str]:
    """The files that the phone script reads for a snapshot, as far as this phone has them."""
    patterns = (
        "/proc/uptime /proc/loadavg /proc/sys/kernel/random/boot_id "
        "/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq /sys/class/thermal/thermal_zone*/temp "
        "/sys/class/power_supply/battery/capacity /sys/class/power_supply/battery/temp"
    )
    return place.adb(serial, "shell", f"ls {patterns} 2>/dev/null; true").split()

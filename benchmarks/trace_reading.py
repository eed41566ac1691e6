"""Reading a 200 MB trace into the per-operator table, against `json.load` and a DataFrame of the events.

The trace is a true one of onnxruntime_perf_test 1.21 whose runs are repeated. Both readers work in fresh processes,
turn by turn; imports are not counted as time, but as memory they are.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests" / "corpus" / "perf_test-1.21" / "profile"
SIZE_BYTES = 200_000_000
ROUNDS = 3
TIME_GOAL = 0.15
MEMORY_GOAL = 0.25

_MEASURE = """
import json, resource, sys, time
{setup}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
try:
    # The peak of this program alone: ru_maxrss also knows its parent before exec.
    status = open("/proc/self/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({{"seconds": seconds, "peak_bytes": peak, "operators": operators}}))
"""

_OURS = _MEASURE.format(
    setup="from pathlib import Path\nfrom android_runner.trace import operators as by_operator, read_trace",
    work="table = read_trace(Path(sys.argv[1]))\noperators = len(by_operator(table))\nassert table.complete",
)
_THEIRS = _MEASURE.format(
    setup="import pandas",
    work="with open(sys.argv[1]) as file: frame = pandas.DataFrame(json.load(file))\noperators = len(frame)",
)


def write_trace(target: Path, size_bytes: int = SIZE_BYTES) -> int:
    """A trace of about `size_bytes`: the sample's head once, its last run again and again. Returns its events."""
    lines = next(SAMPLE.glob("*.json")).read_bytes().splitlines(keepends=True)
    ends = [index for index, line in enumerate(lines) if b'"name" :"model_run"' in line]
    head, run = lines[: ends[-2] + 1], lines[ends[-2] + 1 : ends[-1] + 1]
    run[-1] = run[-1].rstrip().rstrip(b",") + b",\n"
    again = max(1, (size_bytes - sum(map(len, head))) // sum(map(len, run)))
    with target.open("wb") as file:
        file.writelines(head)
        file.write(b"".join(run) * (again - 1))
        file.write(b"".join(run).rstrip().rstrip(b",") + b"\n]\n")
    return len(head) - 1 + len(run) * again


def _measured(program: str, trace: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", program, str(trace)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def run(size_bytes: int = SIZE_BYTES, rounds: int = ROUNDS) -> dict[str, Any]:
    """The row of the speed table: goal, figure, whether it is met, and the seconds and bytes behind it."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        events = write_trace(trace, size_bytes)
        for _ in range(rounds):
            ours.append(_measured(_OURS, trace))
            theirs.append(_measured(_THEIRS, trace))

    def median(of: list[dict[str, float]], key: str) -> float:
        return statistics.median(each[key] for each in of)

    time_ratio = median(ours, "seconds") / median(theirs, "seconds")
    memory_ratio = median(ours, "peak_bytes") / median(theirs, "peak_bytes")
    return {
        "what": f"reading a {size_bytes / 1e6:.0f} MB trace into the per-operator table",
        "against": "json.load + DataFrame",
        "goal": f"≤ {TIME_GOAL} of the time, ≤ {MEMORY_GOAL} of the memory",
        "figure": f"{time_ratio:.3f} of the time, {memory_ratio:.3f} of the memory",
        "met": time_ratio <= TIME_GOAL and memory_ratio <= MEMORY_GOAL,
        "events": events,
        "time_ratio": time_ratio,
        "memory_ratio": memory_ratio,
        "seconds": median(ours, "seconds"),
        "their_seconds": median(theirs, "seconds"),
        "peak_bytes": median(ours, "peak_bytes"),
        "their_peak_bytes": median(theirs, "peak_bytes"),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))

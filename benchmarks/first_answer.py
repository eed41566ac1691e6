"""Enter to the first provisional answer, two cases on one virtual phone, against the same typed by hand.

`orch run` starts with an empty home (nothing built, probed or staged; only the phone is up) and default settings: it
builds the variant, makes inputs, probes, stages, calibrates, measures one round. By hand, with everything at hand and
known before: `adb push` of binary, library, models and inputs, then perf_test of the two cases by `adb shell` with the
iterations that `orch run` found, into an empty folder of the same phone.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.lab import TIMEOUT_S, Lab, lab, mnist, quoted
from benchmarks.row import Row, spread

REPEATS = 3
GOAL = 1.5
PROFILE = "pixel-8"
FOLDER = "/data/local/tmp/hand"
STAGED = "/data/local/tmp/orch/staged/"


def run() -> Row:
    """The row of the speed table."""
    ours, theirs = [], []
    for _ in range(REPEATS):
        with lab() as place:
            plan = place.files / "two.toml"
            model = mnist(place.files / "models")
            plan.write_text(f'models = ["{model}"]\nrounds = 1\n[[matrix]]\nrecipe = ["onnx", "all"]\n')
            (serial,) = place.phones(PROFILE)
            ours.append(_orch_s(place, plan))
            theirs.append(_hand_s(place, serial))
    ratio = statistics.median(ours) / statistics.median(theirs)
    return Row(
        name="first_answer",
        goal=f"≤ {GOAL} of a hand-typed push and perf_test",
        figure=f"{ratio:.3f}",
        met=ratio <= GOAL,
        detail=(
            f"mnist, .onnx and all, phone up, all else cold; {REPEATS} interleaved repeats, each in a new home, median "
            f"[range]: orch run to its first “so far” {spread(ours)}, by hand {spread(theirs)}"
        ),
    )


def _orch_s(place: Lab, plan: Path) -> float:
    """Seconds from Enter until stderr says what the first round says."""
    begin_s = time.perf_counter()
    process = subprocess.Popen(
        place.command("run", plan, "--device", f"virtual:{PROFILE}"), env=place.env(), cwd=place.files,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = []
    answered_s = None
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        if answered_s is None and "so far" in line:
            answered_s = time.perf_counter() - begin_s
    if process.wait(TIMEOUT_S) or answered_s is None:
        raise RuntimeError(f"orch run: exit {process.returncode}\n{''.join(said)}")
    return answered_s


def _hand_s(place: Lab, serial: str) -> float:
    """Seconds for the commands that a person types who knows all of it: files, options, iterations."""
    orders = place.rows("SELECT argv, iterations_asked FROM attempt WHERE purpose = 'time' ORDER BY seq")
    staged = place.home / "virtual" / "phones" / f"virtual-{PROFILE}-1" / "root"
    pushes: dict[str, Path] = {}
    commands = []
    for text, iterations in orders:
        argv = [word for word in json.loads(text) if "launcher" not in word]
        assert str(iterations) in argv
        tool = next(word for word in argv if word.endswith("onnxruntime_perf_test"))
        units = dict.fromkeys(re.findall(STAGED + r"([0-9a-f]{64})/", " ".join(argv)))
        for unit in units:
            pushes[unit] = place.files / unit
        words = [word.replace(STAGED, f"{FOLDER}/") for word in argv]
        library = str(Path(tool.replace(STAGED, f"{FOLDER}/")).parent)
        commands.append(f"cd {FOLDER}; LD_LIBRARY_PATH={library} {quoted(words[argv.index(tool) :])}")
    for unit, local in pushes.items():
        subprocess.run(["cp", "-r", str(staged) + STAGED + unit, str(local)], check=True)
    place.adb(serial, "shell", f"rm -rf {FOLDER}; mkdir -p {FOLDER}")
    begin_s = time.perf_counter()
    for local in pushes.values():
        place.adb(serial, "push", str(local), f"{FOLDER}/")
    for command in commands:
        place.adb(serial, "shell", command)
    return time.perf_counter() - begin_s

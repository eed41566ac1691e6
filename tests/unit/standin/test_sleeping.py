"""The sleeping perf_test answers as the real one does where a runner looks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from android_runner.trace import read_trace
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.perf_test.standin.usage import USAGE_1_21
from tests.unit.standin.differences import figures_masked
from tests.unit.standin.test_conformance import recorded

SHELLS = [shell for shell in ("sh", "mksh", "bash") if shutil.which(shell)]


def run(program: Path, *words: str, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, program, *words], cwd=program.parent, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "mnist.onnx").write_bytes(b"x")
    return sleeping_perf_test(tmp_path, 0.01)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("words", [(), ("-h",), ("a", "b", "c"), ("-r", "0", "m/mnist.onnx")])
def test_usage(sleeper: Path, shell: str, words: tuple[str, ...]) -> None:
    ended = run(sleeper, *words, shell=shell)
    assert (ended.returncode, ended.stdout, ended.stderr) == (255, USAGE_1_21, "")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cpu_times", ("-r", "20", "-e", "cpu", "m/mnist.onnx")),
        ("result_file", ("-r", "20", "-e", "cpu", "m/mnist.onnx", "result.csv")),
        ("result_file_s", ("-s", "-m", "times", "-r", "20", "m/mnist.onnx", "result.csv")),
    ],
)
def test_output_has_the_recorded_form(sleeper: Path, shell: str, name: str, words: tuple[str, ...]) -> None:
    ended = run(sleeper, *words, shell=shell)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert masked(ended.stdout) == masked(recorded(name, "stdout"))
    if "result.csv" in words:
        assert masked((sleeper.parent / "result.csv").read_text()) == masked(recorded(name, "result.csv"))


def masked(text: str) -> list[str]:
    return [figures_masked(line) for line in text.split("\n")]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_trace_is_one_that_is_read(sleeper: Path, shell: str) -> None:
    assert run(sleeper, "-r", "2", "-p", "trace", "m/mnist.onnx", shell=shell).returncode == 0
    (path,) = sleeper.parent.glob("trace_*.json")
    read = read_trace(path)
    assert (read.problems, read.runs_us, [row.op_name for row in read.nodes]) == ((), (105,), ["Sleep"])


def test_missing_model(sleeper: Path) -> None:
    ended = run(sleeper, "-r", "2", "m/nosuch.onnx")
    assert ended.returncode == 255
    assert 'open file "m/nosuch.onnx" failed' in ended.stderr


def test_a_time_that_cannot_be_slept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot sleep"):
        sleeping_perf_test(tmp_path, -1)

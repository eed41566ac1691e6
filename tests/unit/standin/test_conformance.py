"""Each recorded run of the true 1.21.0 program, repeated: same exit code, lines, streams and kinds of files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unit.standin import differences
from tests.unit.standin.bench import Bench, build_bench, write_models

CORPUS = Path(__file__).parents[2] / "corpus" / "perf_test-1.21"
RUNS = sorted(path.parent.name for path in CORPUS.glob("*/cmd"))
PHONE_FOLDER = "/data/local/tmp/bench"
USAGE_REFERENCE = "[... the usage text, as in android/help/stdout ...]"
OWN_FILES = {"cmd", "stdout", "stderr", "rc"}
TRUE_PROGRAM, TRUE_LIBRARY = "ORCH_PERF_TEST", "ORCH_PERF_TEST_LIB"


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: str
    stderr: str
    folder: Path

    def new_files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name not in {"perf", "bin", "m"})


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("models")
    write_models(directory)
    return directory


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Bench:
    return build_bench(tmp_path_factory.mktemp("standin") / "bench", models)


@pytest.fixture(scope="session")
def true_program(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Bench:
    program, library = os.environ.get(TRUE_PROGRAM), os.environ.get(TRUE_LIBRARY)
    if not program or not library:
        pytest.skip(f"no true onnxruntime_perf_test: {TRUE_PROGRAM} and {TRUE_LIBRARY} are not both set")
    directory = tmp_path_factory.mktemp("true") / "bench"
    return build_bench(directory, models, program=Path(program), library=Path(library))


def repeat(run: str, bench: Bench, folder: Path) -> Ended:
    command = (CORPUS / run / "cmd").read_text().strip()
    assert command.startswith(f"cd {PHONE_FOLDER};")
    command = command.replace(PHONE_FOLDER, "'" + str(bench.fresh(folder / "bench")) + "'", 1)
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [shutil.which("sh") or "sh", "-c", command], capture_output=True, env=environment, timeout=120, check=False
    )
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Ended(status, done.stdout.decode(), done.stderr.decode(), folder / "bench")


def recorded(run: str, name: str) -> str:
    text = (CORPUS / run / name).read_text()
    if text.strip() == USAGE_REFERENCE:
        return (CORPUS / "help" / "stdout").read_text()
    return text


def compare(run: str, ended: Ended, *, true_program: bool) -> None:
    status = int(recorded(run, "rc"))
    assert ended.status in differences.EITHER_STATUS.get(run, {status}), ended.stderr
    if ended.status != status:
        return
    for stream, text in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        expected = differences.treated(run, stream, recorded(run, stream), true_program=true_program)
        assert differences.treated(run, stream, text, true_program=true_program) == expected, (run, stream)
    compare_files(run, ended)


def compare_files(run: str, ended: Ended) -> None:
    files = sorted(path.name for path in (CORPUS / run).iterdir() if path.name not in OWN_FILES)
    assert len(ended.new_files()) == len(files), ended.new_files()
    for name, expected in zip(ended.new_files(), files, strict=True):
        if expected.endswith(".json"):
            assert differences.TRACE_NAME.match(name)
            compare_traces(json.loads(recorded(run, expected)), json.loads((ended.folder / name).read_text()))
        else:
            assert name == expected
            lines = [differences.figures_masked(line) for line in (ended.folder / name).read_text().split("\n")]
            assert lines == [differences.figures_masked(line) for line in recorded(run, expected).split("\n")]


def compare_traces(expected: list[dict[str, object]], found: list[dict[str, object]]) -> None:
    def kinds(events: list[dict[str, object]]) -> list[tuple[object, ...]]:
        return [(event["cat"], event["ph"], name_of(event), sorted(event), *details(event["args"])) for event in events]

    def name_of(event: dict[str, object]) -> str:
        return differences.trace_name(str(event["name"]))

    def details(args: object) -> tuple[object, ...]:
        assert isinstance(args, dict)
        names = sorted(name for name in args if not name.startswith(differences.TRACE_ARGS_OF_NEWER_LIBRARIES))
        return (names, args.get("op_name"), args.get("provider"), args.get("output_type_shape"))

    assert kinds(found) == kinds(expected)


def test_all_recorded_runs_are_here() -> None:
    assert len(RUNS) == 31


def test_every_difference_names_recorded_runs_and_says_why() -> None:
    for difference in differences.DIFFERENCES:
        assert set(difference.runs) <= set(RUNS)
        assert difference.stream in {"stdout", "stderr"}
        assert len(difference.reason) > 20


@pytest.mark.parametrize("run", RUNS)
def test_standin_repeats(run: str, standin: Bench, tmp_path: Path) -> None:
    compare(run, repeat(run, standin, tmp_path), true_program=False)


@pytest.mark.parametrize("run", RUNS)
def test_true_program_repeats(run: str, true_program: Bench, tmp_path: Path) -> None:
    compare(run, repeat(run, true_program, tmp_path), true_program=True)


def test_a_changed_line_is_seen(standin: Bench, tmp_path: Path) -> None:
    """The comparison can fail: another run's output does not pass for this one's."""
    ended = repeat("x1", standin, tmp_path)
    with pytest.raises(AssertionError):
        compare("x2", ended, true_program=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_as_they_end_any_program(number: signal.Signals, standin: Bench, tmp_path: Path) -> None:
    folder = standin.fresh(tmp_path / "bench")
    with subprocess.Popen(
        ["./perf", "-v", "-I", "-t", "100", "m/mnist.onnx"],
        cwd=folder,
        env={"LD_LIBRARY_PATH": str(folder / "bin")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"iteration:1,")
        process.send_signal(number)
        process.stdout.read()
        assert process.wait(timeout=60) == -number


def test_names_that_are_not_plain(standin: Bench, tmp_path: Path) -> None:
    folder = standin.fresh(tmp_path / "bench")
    odd = os.fsencode(folder) + b"/a b'\"$\xff\xc3\xa4"
    os.rename(folder / "m", odd)
    words = [b"-I", b"-r", b"2", odd + b"/mnist.onnx", odd + b"/rows, 1.csv"]
    environment = {"LD_LIBRARY_PATH": str(folder / "bin"), "LC_ALL": "C"}
    done = subprocess.run([b"./perf", *words], cwd=folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    with open(odd + b"/rows, 1.csv", "rb") as file:
        assert file.readline().startswith(b"a b'\"$\xff\xc3\xa4,")

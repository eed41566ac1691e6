"""The stand-in and the true 1.21.0 program, side by side with one library: same status, same text, figures masked.

Here nothing is left out but figures: both load the library that the true program asks for. One run goes beyond that: a
duration run's count of inferences.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.standin.bench import build_bench, write_models
from tests.unit.standin.datasets import write_cases
from tests.unit.standin.differences import figures_masked
from tests.unit.standin.test_conformance import TRUE_LIBRARY, TRUE_PROGRAM

MODEL = "m/mnist.onnx"
DATA_CASES = [
    "by_name",
    "by_position",
    "swapped",
    "one_missing",
    "gap",
    "no_underscore",
    "one_with_number_3",
    "no_number",
    "one_too_many",
    "wrong_name",
    "one_name_twice",
    "wrong_type",
    "wrong_shape",
    "two_sets",
    "hidden_folder",
    "short_raw",
    "short_floats",
    "floats",
    "unknown_type",
    "negative_dim",
    "external",
    "empty_folder",
    "garbage",
    "zero_bytes",
    "config",
]
TYPES = [
    "FLOAT",
    "FLOAT16",
    "BFLOAT16",
    "DOUBLE",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "BOOL",
    "STRING",
    "COMPLEX64",
]
PROVIDERS = [
    "cuda",
    "dnnl",
    "openvino",
    "tensorrt",
    "qnn",
    "snpe",
    "nnapi",
    "vsinpu",
    "coreml",
    "dml",
    "acl",
    "armnn",
    "rocm",
    "migraphx",
    "xnnpack",
    "vitisai",
    "webgpu",
]
KINDS = [
    "sequence_out",
    "sequence_in",
    "scalar",
    "no_shape",
    "unknown",
    "empty",
    "noise",
    "folder",
]

COMMANDS: dict[str, list[str]] = {
    **{f"data {name}": ["-r", "2", f"d/{name}/m.onnx"] for name in DATA_CASES},
    **{f"type {name}": ["-I", "-r", "2", "-S", "4", f"d/type_{name}/m.onnx"] for name in TYPES},
    **{f"provider {name}": ["-I", "-r", "1", "-e", name, "-x", "1", MODEL] for name in PROVIDERS},
    **{f"kind {name}": ["-I", "-r", "1", f"d/kinds/{name}.onnx"] for name in KINDS},
    "empty .ort": ["-I", "d/kinds/empty.ort"],
    "a folder as .ort": ["-I", "d/kinds/folder.ort"],
    "other ending": ["-I", "m/mnist.txt"],
    "no ending": ["-I", "m"],
    "empty name": ["-I", ""],
    "no such folder": ["-I", "nosuch/mnist.onnx"],
    "broken model before provider": ["-I", "-e", "xnnpack", "d/kinds/noise.onnx"],
    "folder test_": ["-I", "-r", "1", "d/test_/m.onnx", "rows.csv"],
    "folder test_name": ["-I", "-r", "1", "d/test_name/m.onnx", "rows.csv"],
    "doubled slashes": ["-I", "-r", "1", "d//by_name//m.onnx", "rows.csv"],
    "dots in path": ["-I", "-r", "1", "d/by_name/../test_name/m.onnx", "rows.csv"],
    "result file cannot be opened": ["-I", "-r", "1", MODEL, "nosuch/rows.csv"],
    "three words": ["-I", "-r", "1", MODEL, "rows.csv", "more"],
    "value missing": ["-I", MODEL, "-r"],
    "long option": ["--help"],
    "double dash": ["-I", "-r", "2", "--", MODEL],
    "options behind the model": [MODEL, "-Ir2"],
    "a lone dash": ["-", "-I"],
    "unknown letter late": ["-I", "-r", "0", "-Q", MODEL],
    "-b is gone": ["-I", "-b", "ort", MODEL],
    "-m wrong": ["-I", "-m", "often", MODEL],
    "-r zero": ["-I", "-r", "0", MODEL],
    "-r word": ["-I", "-r", "many", MODEL],
    "-r with a tail": ["-I", "-r", "2x", MODEL],
    "-t zero": ["-I", "-t", "0", MODEL],
    "-t zero with result": ["-I", "-t", "0", MODEL, "rows.csv"],
    "-o 3": ["-I", "-o", "3", MODEL],
    "-o 100": ["-I", "-r", "1", "-o", "100", MODEL],
    "-o -1": ["-I", "-o", "-1", MODEL],
    "-x -1": ["-I", "-x", "-1", MODEL],
    "-x=4": ["-I", "-r", "1", "-x=4", MODEL],
    "-y without -P": ["-I", "-r", "1", "-y", "2", MODEL],
    "-c 0": ["-I", "-c", "0", MODEL],
    "-c 3": ["-I", "-r", "30", "-c", "3", MODEL, "rows.csv"],
    "-c 2": ["-r", "2", "-c", "2", "-I", MODEL],
    "-f without value": ["-I", "-f", "batch", "m/mnist_dyn.onnx"],
    "-f word": ["-I", "-f", "batch:x", "m/mnist_dyn.onnx"],
    "-f zero": ["-I", "-f", "batch:0", "m/mnist_dyn.onnx"],
    "-f and -F in order of names": [
        "-I",
        "-r",
        "1",
        "-f",
        "b:3",
        "-f",
        "a:2",
        "-F",
        "X:3",
        "-f",
        "b:4",
        "m/mnist_dyn.onnx",
    ],
    "-f on .ort": ["-I", "-r", "1", "-f", "batch:4", "m/mnist.ort"],
    "-T": ["-I", "-r", "1", "-T", "1;2", "-x", "3", MODEL],
    "-T with too few": ["-I", "-r", "1", "-T", "1", "-x", "3", MODEL],
    "-R missing": ["-I", "-r", "1", "-R", "/nosuch.so", MODEL],
    "-l": ["-I", "-r", "1", "-l", MODEL],
    "-l .ort": ["-I", "-r", "1", "-l", "m/mnist.ort"],
    "-u": ["-I", "-r", "1", "-o", "1", "-u", "saved.onnx", MODEL],
    "-n -p": ["-I", "-n", "-p", "prof", MODEL],
    "failed run with -p": ["-I", "-r", "1", "-p", "prof", "m/runfail.onnx"],
    "-C without bar": ["-I", "-C", "a", MODEL],
    "-C without key": ["-I", "-C", "|a", MODEL],
    "-C twice the same": ["-I", "-C", "a|b a|c", MODEL],
    "-C given twice": ["-I", "-r", "1", "-C", "a|b", "-C", "c|d", MODEL],
    "-C without value": ["-I", "-r", "1", "-C", "a|", MODEL],
    "-C empty": ["-I", "-r", "1", "-C", "", MODEL],
    "-C beside -D": ["-I", "-r", "1", "-C", "session.intra_op.allow_spinning|1", "-D", "-Z", MODEL],
    "-A -M -P -q -z": ["-I", "-r", "1", "-A", "-M", "-P", "-q", "-z", MODEL],
    "-S negative": ["-I", "-r", "1", "-S", "-3", MODEL],
    "-i is not read": ["-I", "-r", "1", "-i", "what ever", MODEL],
    "-s without result": ["-I", "-r", "1", "-s", MODEL],
}


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    program, library = os.environ.get(TRUE_PROGRAM), os.environ.get(TRUE_LIBRARY)
    if not program or not library:
        pytest.skip(f"no true onnxruntime_perf_test: {TRUE_PROGRAM} and {TRUE_LIBRARY} are not both set")
    top = tmp_path_factory.mktemp("pair")
    (top / "models").mkdir()
    write_models(top / "models")
    true = build_bench(top / "true", top / "models", program=Path(program), library=Path(library)).directory
    ours = build_bench(top / "ours", top / "models").directory
    shutil.copyfile(library, ours / "bin" / "libonnxruntime.so")
    for directory in (true, ours):
        (directory / "d").mkdir()
        write_cases(directory / "d")
    return true, ours


def outcome(directory: Path, words: list[str]) -> tuple[object, ...]:
    before = {path.name for path in directory.iterdir()}
    environment = {**os.environ, "LD_LIBRARY_PATH": str(directory / "bin")}
    done = subprocess.run(
        ["./perf", *words], cwd=directory, capture_output=True, env=environment, timeout=120, check=False
    )
    files = {}
    for path in sorted(path for path in directory.iterdir() if path.name not in before):
        name = re.sub(r"_\d{4}-[-_\d]+\.json$", "_#.json", path.name)
        files[name] = masked(path.read_text()) if name.endswith(".csv") else path.stat().st_size > 0
        path.unlink()
    return done.returncode, masked(done.stdout.decode()), masked(done.stderr.decode()), files


def masked(text: str) -> list[str]:
    return [figures_masked(line) for line in text.split("\n")]


@pytest.mark.parametrize("name", COMMANDS)
def test_both_do_the_same(name: str, pair: tuple[Path, Path]) -> None:
    true, ours = pair
    expected = outcome(true, COMMANDS[name])
    assert outcome(ours, COMMANDS[name]) == expected


def test_both_stop_after_the_duration(pair: tuple[Path, Path]) -> None:
    counts = []
    for directory in pair:
        status, stdout, _, _ = outcome(directory, ["-I", "-t", "1", MODEL])
        assert status == 0
        counts.append(
            next(int(line.rpartition(" ")[2]) for line in stdout if line.startswith("Total inference requests"))
        )
    assert min(counts) > 100

"""`orch model ship`, `--build-config`, converters and full disks, through the command line."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from onnxruntime.tools.convert_onnx_models_to_ort import OptimizationStyle, convert_onnx_models_to_ort

from tests.orch_cli import Orch
from tests.unit.variants import nets

THEIR_WARNINGS = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def operators(config: Path) -> list[str]:
    return [line for line in config.read_text().splitlines() if not line.startswith("#")]


@pytest.mark.filterwarnings(*THEIR_WARNINGS)
@pytest.mark.parametrize(
    ("recipe", "style", "ending"),
    [("all", OptimizationStyle.Fixed, ""), ("all runtime", OptimizationStyle.Runtime, ".with_runtime_opt")],
)
@pytest.mark.parametrize("several", [False, True])
def test_files_and_operators_are_those_of_the_converter(
    orch: Orch, models: Path, tmp_path: Path, recipe: str, style: OptimizationStyle, ending: str, several: bool
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path in models.glob("*.onnx"):
        if several or path.stem == "mnist":
            (source / path.name).write_bytes(path.read_bytes())
    given = source if several else source / "mnist.onnx"
    convert_onnx_models_to_ort(given, tmp_path / "theirs", [style], enable_type_reduction=True)
    ended = orch("model", "ship", given, "--recipe", recipe, "-o", tmp_path / "ours")
    assert ended.code == 0, ended
    theirs = {path.name for path in (tmp_path / "theirs").iterdir()}
    assert {path.name for path in (tmp_path / "ours").iterdir()} == theirs | {"manifest.json"}
    (config,) = (name for name in theirs if name.endswith(".config"))
    prefix = "" if several else "mnist."
    assert config == f"{prefix}required_operators_and_types{ending}.config"
    assert operators(tmp_path / "ours" / config) == operators(tmp_path / "theirs" / config)


def test_the_manifest_says_what_lies_there(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    ended = orch("model", "ship", mnist, "--recipe", "basic runtime", "-o", tmp_path / "out", "--json")
    assert ended.code == 0, ended
    manifest = json.loads(ended.out)
    assert manifest == json.loads((tmp_path / "out" / "manifest.json").read_text())
    (entry,) = manifest["models"]
    (file,) = entry["files"]
    data = (tmp_path / "out" / file["file"]).read_bytes()
    assert file == {
        "file": "mnist.basic.with_runtime_opt.ort",
        "size_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    assert entry["source"] == {"file": "mnist.onnx", "digest": hashlib.sha256(mnist.read_bytes()).hexdigest()}
    assert entry["operators"] == {"Conv": 2, "Gemm": 1, "MaxPool": 2, "Relu": 2, "Reshape": 1}
    assert (tmp_path / "out" / manifest["required_operators"]).is_file()
    assert "enable_saved_runtime_optimizations" in manifest["notes"][0]
    assert str(tmp_path) not in ended.out


def test_external_data_travels_with_its_model(orch: Orch, tmp_path: Path) -> None:
    model = nets.external(tmp_path / "in")
    ended = orch("model", "ship", model, "--recipe", "onnx", "-o", tmp_path / "out")
    assert ended.code == 0, ended
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    files = manifest["models"][0]["files"]
    assert [one["file"] for one in files] == ["net/net.onnx", "net/weights.bin"]
    for one in files:
        assert hashlib.sha256((tmp_path / "out" / one["file"]).read_bytes()).hexdigest() == one["sha256"]
    assert manifest["required_operators"] is None
    assert "a minimal build loads no .onnx" in manifest["notes"][0]


def test_what_cannot_be_built_is_not_shipped(orch: Orch, tmp_path: Path) -> None:
    broken = nets.conv_relu()
    broken.graph.node[1].op_type = "NoSuchOperator"
    nets.save(broken, tmp_path / "broken.onnx")
    ended = orch("model", "ship", tmp_path / "broken.onnx", "-o", tmp_path / "out")
    assert ended.code == 2
    assert "NoSuchOperator" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_kernel_that_the_build_lacks_is_refused_by_name(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("model", "ship", mnist, "--recipe", "all", "-o", tmp_path / "out").code == 0
    whole = tmp_path / "out" / "mnist.required_operators_and_types.config"
    ended = orch("plan", mnist, "--device", "virtual", "--build-config", whole, "--all")
    assert ended.code == 0, ended
    dropped = " ".join(ended.out.partition("dropped:")[2].split())
    assert "cpu all" in ended.out.partition("dropped:")[0]
    assert "nnapi basic: the build's configuration lacks Conv (opset 11), Relu (opset 13)" in dropped
    assert "default: " not in dropped, "the .onnx at its own level needs what `all` needs"

    less = tmp_path / "less.config"
    less.write_text("".join(line for line in whole.read_text().splitlines(True) if "FusedConv" not in line))
    ended = orch("model", "ship", mnist, "--recipe", "all", "-o", tmp_path / "again", "--build-config", less)
    assert ended.code == 2
    assert "mnist: all: the build's configuration lacks com.microsoft:FusedConv (opset 1)" in ended.err
    assert not (tmp_path / "again").exists()
    ended = orch("run", mnist, "--device", "virtual", "--build-config", less)
    assert ended.code == 2
    assert "lacks com.microsoft:FusedConv" in ended.err


def test_a_type_that_the_build_lacks_is_refused_by_name(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("model", "ship", mnist, "--recipe", "all", "-o", tmp_path / "out").code == 0
    config = tmp_path / "out" / "mnist.required_operators_and_types.config"
    config.write_text(
        config.read_text().replace('MaxPool{"inputs": {"0": ["float"]}}', 'MaxPool{"inputs": {"0": ["int8_t"]}}')
    )
    ended = orch("model", "ship", mnist, "-o", tmp_path / "again", "--build-config", config)
    assert ended.code == 2
    assert "lacks MaxPool (input 0: float)" in ended.err


def test_converters_are_listed_added_removed_and_used(orch: Orch, mnist: Path) -> None:
    added = orch("model", "converters", "add", sys.executable)
    assert added.code == 0, added
    rows = json.loads(orch("model", "converters", "list", "--json").out)
    assert [row["python"] for row in rows] == ["", sys.executable]
    assert orch("model", "converters").out.count("onnxruntime") == 2
    built = json.loads(orch("model", "build", mnist, "--recipe", "basic", "--converter", sys.executable, "--json").out)
    assert built[0]["converter_version"] == rows[1]["version"]
    assert orch("model", "converters", "remove", sys.executable).code == 0
    ended = orch("model", "build", mnist, "--converter", sys.executable)
    assert ended.code == 2
    assert "is no registered converter" in ended.err


def left_over(home: Path) -> list[str]:
    """What a build that failed left on the shelf: nothing but locks."""
    shelf = home / "shelf"
    return [str(path) for name in ("variants", "tmp") if (shelf / name).is_dir() for path in (shelf / name).rglob("*")]


def test_a_disk_that_fills_during_a_build_leaves_nothing_half_written(orch: Orch, models: Path, tmp_path: Path) -> None:
    """The disk is a limit on files' sizes here: a write fails in the midst of a file, as on a full disk."""
    bytes_written = 1_000_000  # the model has 5 MB
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "model", "build", str(models / "squeezenet.onnx"), "--json",
         "--recipe", "onnx", "--recipe", "basic", "--recipe", "all runtime"],
        env=orch.env, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_written, bytes_written)),
    )  # fmt: skip
    reasons = [one["reason"] for one in json.loads(done.stdout)]
    assert all(reasons)
    assert "File too large" in reasons[0]
    assert "Failed to save ORT format model" in reasons[1]
    assert left_over(orch.home) == []
    again = json.loads(orch("model", "build", models / "squeezenet.onnx", "--recipe", "basic", "--json").out)
    assert again[0]["reason"] == ""


def test_a_full_disk_leaves_what_was_shipped_before(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("model", "ship", mnist, "--recipe", "all", "-o", tmp_path / "out").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert orch("model", "build", mnist, "--recipe", "basic").code == 0  # on the shelf: only shipping writes
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "model", "ship", str(mnist), "--recipe", "basic", "-o", "out"],
        env=orch.env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )  # fmt: skip
    assert done.returncode == 2
    assert "out: can't be written: File too large" in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_over_two_gigabytes_there_is_no_ort_format(orch: Orch, tmp_path: Path) -> None:
    model = nets.huge(tmp_path / "in")
    ended = orch("model", "build", model, "--recipe", "basic", "--recipe", "all runtime", "--json")
    assert ended.code == 0, ended
    for one in json.loads(ended.out):
        assert "2.1 GB, and ORT format ends at 2 GB: such a model is only ONNX with external data" in one["reason"]
    assert left_over(orch.home) == []

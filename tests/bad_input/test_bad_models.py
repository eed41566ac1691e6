"""Models that can't be used are refused with the file, what is wrong and the mend, before a phone is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion
from orchestrator.errors import UsageError
from orchestrator.variants.build import build
from orchestrator.variants.inspect import inspect_model, load_model
from orchestrator.variants.recipe import Recipe
from tests.unit.variants import nets

BASIC = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.BASIC, style=OptimizationStyle.FIXED)


def an_ort(folder: Path) -> bytes:
    """A true `.ort` file's bytes."""
    for name in ("files", "scratch"):
        (folder / name).mkdir(parents=True)
    source = inspect_model(nets.save(nets.conv_relu(), folder / "source.onnx"))
    build(source, BASIC, (), folder / "files", folder / "scratch")
    return (folder / "files" / "model.ort").read_bytes()


def newer(data: bytes) -> bytes:
    """The same `.ort` with format version 7: a one-character string, length first."""
    text = b"\x01\x00\x00\x006\x00"
    assert data.count(text) == 1
    return data.replace(text, text.replace(b"6", b"7"))


def missing(folder: Path) -> Path:
    return folder / "nowhere.onnx"


def a_folder(folder: Path) -> Path:
    return folder


def empty(folder: Path) -> Path:
    return _write(folder, b"")


def _write(folder: Path, data: bytes, name: str = "m.onnx") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def truncated(folder: Path) -> Path:
    return _write(folder, nets.conv_relu().SerializeToString()[:-60])


def cut_before_its_opset(folder: Path) -> Path:
    model = nets.conv_relu()
    del model.opset_import[:]
    return _write(folder, model.SerializeToString())


def text(folder: Path) -> Path:
    return _write(folder, b"this is no model\n" * 40)


def a_picture(folder: Path) -> Path:
    return _write(folder, b"\x89PNG\r\n\x1a\n" + bytes(range(256)))


def truncated_ort(folder: Path) -> Path:
    return _write(folder, an_ort(folder / "made")[:-40], "m.ort")


def ort_of_a_newer_runtime(folder: Path) -> Path:
    return _write(folder, newer(an_ort(folder / "made")), "m.ort")


def external_absolute(folder: Path) -> Path:
    (folder / "outside.bin").write_bytes(bytes(72))
    return nets.external(folder / "in", str(folder / "outside.bin"))


def external_above(folder: Path) -> Path:
    (folder / "outside.bin").write_bytes(bytes(72))
    return nets.external(folder / "in", "../outside.bin")


def external_windows(folder: Path) -> Path:
    return nets.external(folder / "in", "..\\outside.bin")


def external_link(folder: Path) -> Path:
    (folder / "outside.bin").write_bytes(bytes(72))
    model = nets.external(folder / "in")
    (folder / "in" / "weights.bin").unlink()
    (folder / "in" / "weights.bin").symlink_to("../outside.bin")
    return model


def external_missing(folder: Path) -> Path:
    model = nets.external(folder / "in")
    (folder / "in" / "weights.bin").unlink()
    return model


def external_cut(folder: Path) -> Path:
    model = nets.external(folder / "in")
    (folder / "in" / "weights.bin").write_bytes(bytes(71))
    return model


def opset_of_the_future(folder: Path) -> Path:
    return nets.save(nets.model_of_opset(999), folder / "m.onnx")


def no_shape(folder: Path) -> Path:
    model = nets.conv_relu()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return nets.save(model, folder / "m.onnx")


def a_sequence(folder: Path) -> Path:
    port = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    node = helper.make_node("ConcatFromSequence", ["x"], ["y"], axis=0)
    return nets.save(nets.model_of([node], [port], [nets.value("y", (None,))]), folder / "m.onnx")


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (missing, "no such file"),
        (a_folder, "is a folder"),
        (empty, "file is empty"),
        (truncated, "not an ONNX model, or cut off"),
        (cut_before_its_opset, "imports no opset"),
        (text, "not an ONNX model"),
        (a_picture, "not an ONNX model"),
        (truncated_ort, r"not a readable \.ort"),
        (ort_of_a_newer_runtime, "ORT format 7 was made for a newer runtime"),
        (external_absolute, "leaves the model's folder"),
        (external_above, "leaves the model's folder"),
        (external_windows, "leaves the model's folder"),
        (external_link, "leaves the model's folder"),
        (external_missing, "weights.bin: no such file"),
        (external_cut, "has 71 bytes, 72 are needed"),
        (opset_of_the_future, "opset 999"),
        (no_shape, "input x does not say how many dimensions"),
        (a_sequence, "x is no tensor"),
        (a_pipe, "no regular file"),
    ],
    ids=lambda item: item.__name__.replace("_", "-") if callable(item) else "",
)
def test_model(make: Callable[[Path], Path], said: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(UsageError, match=said) as caught:
        load_model(path)
    assert all(problem.where.startswith(str(path)) and problem.mend for problem in caught.value.problems)


def test_dynamic_shape_is_refused_with_the_list(tmp_path: Path) -> None:
    path = nets.save(nets.conv_relu(("batch", 1, None, 8), out=("batch", 2, None, 6)), tmp_path / "m.onnx")
    with pytest.raises(UsageError) as caught:
        load_model(path, dims={})
    assert [problem.mend for problem in caught.value.problems] == ["give --dim batch=N", "give --dim x.2=N"]


def test_dynamic_ort_can_not_be_fixed(tmp_path: Path) -> None:
    for name in ("files", "scratch"):
        (tmp_path / name).mkdir()
    source = nets.save(nets.conv_relu(("batch", 1, 8, 8), out=("batch", 2, 6, 6)), tmp_path / "m.onnx")
    build(inspect_model(source), BASIC, (), tmp_path / "files", tmp_path / "scratch")
    for dims in ({}, {"batch": 1}):
        with pytest.raises(UsageError, match=r"shapes of an \.ort can't be fixed|start from the \.onnx"):
            load_model(tmp_path / "files" / "model.ort", dims=dims)


def test_ort_that_this_binary_can_not_load(tmp_path: Path) -> None:
    path = _write(tmp_path, an_ort(tmp_path / "made"), "m.ort")
    assert load_model(path, reader=OrtVersion(1, 16)).ort_format == 6
    with pytest.raises(UsageError, match=r"newer runtime \(1\.16 or later\); this is ORT 1\.15\.1"):
        load_model(path, reader=OrtVersion(1, 15, 1))


@pytest.mark.parametrize(
    "name",
    ["a b.onnx", "q\"uo'te.onnx", "semi;colon.onnx", "$(touch x).onnx", "new\nline.onnx", "ünï-模型.onnx", "..x.onnx"],
)
def test_odd_names_are_fine_and_cleaned(name: str, tmp_path: Path) -> None:
    model = nets.conv_relu()
    model.graph.input[0].name = model.graph.node[0].input[0] = "in;put\n$(x)"
    found = load_model(nets.save(model, tmp_path / name))
    assert not set(found.name) & set(" \"';$()\n/")
    assert not found.name.startswith(".")
    with pytest.raises(UsageError) as caught:
        load_model(tmp_path / f"not {name}")
    assert "\n" not in caught.value.problems[0].line()


def test_bytes_damaged_anywhere_never_escape_as_anything_but_a_refusal(tmp_path: Path) -> None:
    """Every tenth byte of both formats, flipped: loaded or refused, nothing else."""
    for name, data in (("m.onnx", nets.conv_relu().SerializeToString()), ("m.ort", an_ort(tmp_path / "made"))):
        for at in range(0, len(data), 10):
            damaged = bytearray(data)
            damaged[at] ^= 0xFF
            path = _write(tmp_path, bytes(damaged), name)
            try:
                load_model(path)
            except UsageError:
                continue

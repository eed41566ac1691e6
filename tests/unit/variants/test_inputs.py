"""Inputs: real files of the right types and ranges, the same each time, checked when they come from a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from orchestrator.errors import StoreError, UsageError
from orchestrator.variants.feeds import Feed, Role
from orchestrator.variants.inputs import inputs_for, kept_inputs
from orchestrator.variants.inspect import inspect_model, load_model
from orchestrator.variants.invented import invent, why_not_invented
from orchestrator.variants.recipe import InputSet
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tensor_file import tensor_file
from tests.unit.variants import nets


def values(inputs: InputSet) -> dict[str, np.ndarray[Any, Any]]:
    tensors = [onnx.load_tensor(str(inputs.directory / name)) for name in inputs.files]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


def test_generated_inputs_run_and_are_the_same_every_time(models: Path, tmp_path: Path) -> None:
    for path in models.glob("*.onnx"):
        model = load_model(path)
        first = inputs_for(model, tmp_path / "a")
        assert inputs_for(model, tmp_path / "b").digest == first.digest
        assert inputs_for(model, tmp_path / "a", seed=1).digest != first.digest
        assert (first.files, first.source) == (("input_0.pb",), "seed 0")
        assert [path.name for path in first.directory.iterdir()] == ["input_0.pb"]
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        assert np.isfinite(session.run(None, values(first))[0]).all()


def test_cached_inputs_are_found_without_onnx_or_numpy(models: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from orchestrator.variants.inputs import inputs_for\n"
        "from orchestrator.variants.inspect import load_model\n"
        "from orchestrator.variants.shelf import Shelf\n"
        "shelf = Shelf(Path(sys.argv[1])); model = load_model(Path(sys.argv[2]), shelf=shelf)\n"
        "print(inputs_for(model, Path(sys.argv[3]), shelf=shelf).digest)\n"
        "print(sorted({'onnx', 'onnxruntime', 'numpy', 'google.protobuf'} & set(sys.modules)))\n"
    )
    shelf = Shelf(tmp_path / "shelf")
    first = inputs_for(load_model(models / "mnist.onnx", shelf=shelf), tmp_path / "inputs", shelf=shelf)
    command = [sys.executable, "-c", script, str(shelf.root), str(models / "mnist.onnx"), str(tmp_path / "inputs")]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert out.splitlines() == [first.digest, "[]"]


def test_indices_stay_in_their_table_and_masks_are_ones_then_zeros(tmp_path: Path) -> None:
    path = nets.save(nets.embedding(), tmp_path / "net.onnx")
    assert inspect_model(path).feeds == (Feed("input_ids", Role.INDEX, 50), Feed("attention_mask", Role.MASK))
    inputs = inputs_for(load_model(path), tmp_path / "inputs", dims={"batch": 200})
    got = values(inputs)
    assert got["input_ids"].shape == (200, 6)
    assert (got["input_ids"].min(), got["input_ids"].max()) == (0, 49)
    mask = got["attention_mask"]
    assert set(np.unique(mask)) == {0, 1}
    assert (np.diff(mask, axis=1) <= 0).all()
    assert (mask.sum(axis=1) >= 3).all()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert session.run(None, got)[0].shape == (200, 6, 4)


@pytest.mark.parametrize(
    ("role", "element_type", "low", "high"),
    [
        (Role.VALUE, "uint8", 0, 255), (Role.VALUE, "int8", -128, 127), (Role.VALUE, "int32", 0, 9),
        (Role.VALUE, "bool", 0, 1), (Role.POSITIVE, "float64", 0, 1), (Role.MASK, "bool", 0, 1),
        (Role.INDEX, "int64", 0, 0), (Role.MASK, "float32", 0, 1),
    ],
)  # fmt: skip
def test_ranges(role: Role, element_type: str, low: int, high: int) -> None:
    raw = invent(Feed("x", role), element_type, (4000,), 7)
    assert isinstance(raw, bytes)
    got = np.frombuffer(raw, {"bool": "?"}.get(element_type, element_type))
    assert got.shape == (4000,)
    assert (float(np.floor(got.min())), float(np.ceil(got.max()))) == (low, high)


def test_floats_are_normal_in_every_width() -> None:
    for element_type, code in (("float32", "<f4"), ("float16", "<f2"), ("bfloat16", "<u2")):
        raw = invent(Feed("x", Role.VALUE), element_type, (5000,), 0)
        got = np.frombuffer(bytes(raw), code)  # type: ignore[arg-type]
        if element_type == "bfloat16":
            got = (got.astype("<u4") << 16).view("<f4")
        assert abs(float(got.astype(float).mean())) < 0.1
        assert abs(float(got.astype(float).std()) - 1) < 0.1


def test_two_inputs_of_one_model_differ_and_scalars_work() -> None:
    assert invent(Feed("a", Role.VALUE), "float32", (9,), 0) != invent(Feed("b", Role.VALUE), "float32", (9,), 0)
    for role in (Role.VALUE, Role.MASK, Role.INDEX):
        assert len(invent(Feed("a", role), "int64", (), 0)) == 8


def test_what_decides_shapes_is_not_guessed(tmp_path: Path) -> None:
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    ports = [nets.value("x", (4,)), nets.value("shape", (2,), TensorProto.INT64)]
    path = nets.save(nets.model_of([node], ports, [nets.value("y", (2, 2))]), tmp_path / "net.onnx")
    with pytest.raises(UsageError, match=r"input shape: decides shapes .*--inputs DIR"):
        inputs_for(load_model(path), tmp_path / "inputs")
    assert why_not_invented(Feed("x", Role.VALUE), "float8e5m2", (1,)) is not None
    assert why_not_invented(Feed("x", Role.VALUE), "float32", (1 << 20, 1 << 20)) is not None


@pytest.mark.parametrize("element_type", [TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING])
def test_files_are_what_onnx_would_write(element_type: int) -> None:
    plain = [b"a", b""] if element_type == TensorProto.STRING else [1, 0]
    reference = helper.make_tensor("näme 1", element_type, [2, 1], plain)
    name = onnx.TensorProto.DataType.Name(element_type).lower().replace("float", "float32")
    array = numpy_helper.to_array(reference)
    ours = tensor_file("näme 1", name, (2, 1), plain if name == "string" else array.tobytes())  # type: ignore[arg-type]
    read = onnx.TensorProto.FromString(ours)
    assert (read.name, read.data_type, list(read.dims)) == ("näme 1", element_type, [2, 1])
    assert (numpy_helper.to_array(read) == array).all()


def folder_of(path: Path, *tensors: Any) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for at, tensor in enumerate(tensors):
        (path / f"input_{at}.pb").write_bytes(tensor.SerializeToString())
    return path


IDS = np.arange(6, dtype=np.int64).reshape(1, 6)
MASK = np.ones((1, 6), np.int64)


def test_inputs_from_a_folder_are_put_in_the_model_s_order(tmp_path: Path) -> None:
    model = load_model(nets.save(nets.embedding(), tmp_path / "net.onnx"))
    typed = helper.make_tensor("attention_mask", TensorProto.INT64, (1, 6), MASK.flatten().tolist())
    given = folder_of(tmp_path / "given" / "test_data_set_0", typed, numpy_helper.from_array(IDS, "input_ids"))
    inputs = inputs_for(model, tmp_path / "inputs", dims={"batch": 1}, directory=given.parent)
    assert list(values(inputs)) == ["input_ids", "attention_mask"]
    assert (values(inputs)["input_ids"] == IDS).all()
    unnamed = folder_of(tmp_path / "unnamed", numpy_helper.from_array(IDS), numpy_helper.from_array(MASK))
    again = inputs_for(model, tmp_path / "inputs", dims={"batch": 1}, directory=unnamed)
    assert again.digest == inputs.digest
    assert kept_inputs(tmp_path / "inputs", inputs.digest).files == ("input_0.pb", "input_1.pb")


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ([], "input_0.pb is missing"),
        ([numpy_helper.from_array(IDS, "input_ids")], "1 inputs, the model takes 2"),
        ([numpy_helper.from_array(IDS, "input_ids"), numpy_helper.from_array(MASK, "mask")], "no input mask"),
        ([numpy_helper.from_array(IDS, "input_ids")] * 2, "there twice"),
        ([numpy_helper.from_array(IDS, "input_ids"), numpy_helper.from_array(MASK[:, :5], "attention_mask")], "shape"),
        (
            [
                numpy_helper.from_array(IDS, "input_ids"),
                numpy_helper.from_array(MASK.astype(np.int32), "attention_mask"),
            ],
            "type int32, the model takes int64",
        ),
        (
            [
                numpy_helper.from_array(IDS, "input_ids"),
                TensorProto(name="attention_mask", data_type=7, dims=[1, 6], raw_data=b"123"),
            ],
            "elements can't be read",
        ),
    ],
    ids=["none", "too-few", "name", "twice", "shape", "type", "short"],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path: Path, tensors: list[Any], said: str) -> None:
    model = load_model(nets.save(nets.embedding(), tmp_path / "net.onnx"))
    given = folder_of(tmp_path / "given", *tensors)
    with pytest.raises(UsageError, match=said):
        inputs_for(model, tmp_path / "inputs", dims={"batch": 1}, directory=given)


def test_a_file_that_is_no_tensor_and_a_folder_that_is_none(tmp_path: Path) -> None:
    model = load_model(nets.save(nets.conv_relu(), tmp_path / "net.onnx"))
    with pytest.raises(UsageError, match="no such folder"):
        inputs_for(model, tmp_path / "inputs", directory=tmp_path / "nowhere")
    given = folder_of(tmp_path / "given")
    (given / "input_0.pb").write_bytes(b"\xff not a tensor")
    with pytest.raises(UsageError, match="not a serialized TensorProto"):
        inputs_for(model, tmp_path / "inputs", directory=given)


def test_a_damaged_set_is_made_anew(models: Path, tmp_path: Path) -> None:
    model = load_model(models / "mnist.onnx")
    first = inputs_for(model, tmp_path)
    (first.directory / "input_0.pb").write_bytes(b"")
    with pytest.raises(StoreError, match="run the plan anew"):
        kept_inputs(tmp_path, first.digest)
    assert inputs_for(model, tmp_path) == first
    assert len(values(first)["Input3"].flatten()) == 784

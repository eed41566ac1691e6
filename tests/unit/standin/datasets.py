"""Models beside data sets, right and wrong ones, for comparing the stand-in with the true program."""

from __future__ import annotations

from pathlib import Path


def write_cases(directory: Path) -> None:
    """One folder a case, each with `m.onnx` (c = a + b, floats [2, 3]) and data sets that differ in one thing."""
    import numpy as np
    from onnx import TensorProto, numpy_helper

    ones = np.ones((2, 3), dtype="float32")

    def proto(name: str, array: object = ones) -> TensorProto:
        return numpy_helper.from_array(np.asarray(array), name)

    def changed(name: str, **fields: object) -> TensorProto:
        tensor = proto(name)
        if "floats" in fields:
            tensor.ClearField("raw_data")
            tensor.float_data.extend(fields["floats"])
        if "raw_data" in fields:
            tensor.raw_data = fields["raw_data"]
        if "data_type" in fields:
            tensor.data_type = fields["data_type"]
        if "first_dim" in fields:
            tensor.dims[0] = fields["first_dim"]
        return tensor

    external = proto("a")
    external.ClearField("raw_data")
    external.data_location = TensorProto.EXTERNAL
    entry = external.external_data.add()
    entry.key, entry.value = "location", "x.bin"

    good = {"ds/input_0.pb": proto("a"), "ds/input_1.pb": proto("b")}
    cases: dict[str, dict[str, TensorProto]] = {
        "by_name": good,
        "by_position": {"ds/input_0.pb": proto(""), "ds/input_1.pb": proto("")},
        "swapped": {"ds/input_0.pb": proto("b"), "ds/input_1.pb": proto("a")},
        "one_missing": {"ds/input_0.pb": proto("a")},
        "gap": {"ds/input_0.pb": proto("a"), "ds/input_2.pb": proto("b")},
        "no_underscore": {"ds/input0.pb": proto("a"), "ds/input1.pb": proto("b")},
        "one_with_number_3": {"ds/input_3.pb": proto("a")},
        "no_number": {"ds/input_x.pb": proto("a"), "ds/input_y.pb": proto("b")},
        "one_too_many": {**good, "ds/input_2.pb": proto("z")},
        "wrong_name": {"ds/input_0.pb": proto("q"), "ds/input_1.pb": proto("b")},
        "one_name_twice": {"ds/input_0.pb": proto("a"), "ds/input_1.pb": proto("a")},
        "wrong_type": {**good, "ds/input_0.pb": proto("a", ones.astype("int32"))},
        "wrong_shape": {**good, "ds/input_0.pb": proto("a", np.ones((4, 3), dtype="float32"))},
        "two_sets": {**good, "more/input_0.pb": proto("a"), "more/input_1.pb": proto("b")},
        "hidden_folder": {".ds/input_0.pb": proto("a"), ".ds/input_1.pb": proto("b")},
        "short_raw": {**good, "ds/input_0.pb": changed("a", raw_data=b"\0" * 20)},
        "short_floats": {**good, "ds/input_0.pb": changed("a", floats=[1.0, 2.0, 3.0])},
        "floats": {**good, "ds/input_0.pb": changed("a", floats=[1.0] * 6)},
        "unknown_type": {**good, "ds/input_0.pb": changed("a", data_type=99)},
        "negative_dim": {**good, "ds/input_0.pb": changed("a", first_dim=-2)},
        "external": {**good, "ds/input_0.pb": external},
        "empty_folder": {},
        "garbage": good,
        "zero_bytes": good,
        "config": good,
        "test_": {},
        "test_name": {},
    }
    for name, files in cases.items():
        _write(directory / name, files)
    (directory / "empty_folder" / "ds").mkdir()
    (directory / "garbage" / "ds" / "input_0.pb").write_bytes(b"\xff" * 40)
    (directory / "zero_bytes" / "ds" / "input_0.pb").write_bytes(b"")
    (directory / "config" / "config.txt").write_text("per_sample_tolerance:abc\n")
    _write_kinds(directory)


def _write(folder: Path, files: dict[str, object]) -> None:
    from onnx import TensorProto, helper

    folder.mkdir()
    two_by_three = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "abc"]
    _save(folder / "m.onnx", two_by_three[:2], helper.make_node("Add", ["a", "b"], ["c"], name="add"), two_by_three[2:])
    for path, tensor in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(tensor.SerializeToString())  # type: ignore[attr-defined]


def _write_kinds(directory: Path) -> None:
    """Models of every element type and kind of input and output, and files that are no model."""
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info
    names = "FLOAT FLOAT16 BFLOAT16 DOUBLE INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL STRING COMPLEX64"
    for name in names.split():
        element = getattr(TensorProto, name)
        (directory / f"type_{name}").mkdir()
        identity = helper.make_node("Identity", ["x"], ["y"], name="same")
        _save(
            directory / f"type_{name}" / "m.onnx", [info("x", element, ["n", 3])], identity, [info("y", element, None)]
        )
    kinds = directory / "kinds"
    kinds.mkdir()
    floats = info("x", TensorProto.FLOAT, [2])
    sequence = helper.make_tensor_sequence_value_info
    to_sequence = helper.make_node("SequenceConstruct", ["x", "x"], ["y"], name="node")
    _save(kinds / "sequence_out.onnx", [floats], to_sequence, [sequence("y", TensorProto.FLOAT, None)])
    length = helper.make_node("SequenceLength", ["x"], ["y"], name="node")
    _save(
        kinds / "sequence_in.onnx", [sequence("x", TensorProto.FLOAT, None)], length, [info("y", TensorProto.INT64, [])]
    )
    negative = helper.make_node("Neg", ["x"], ["y"], name="node")
    _save(kinds / "scalar.onnx", [info("x", TensorProto.FLOAT, [])], negative, [info("y", TensorProto.FLOAT, [])])
    _save(kinds / "no_shape.onnx", [info("x", TensorProto.FLOAT, None)], negative, [info("y", TensorProto.FLOAT, None)])
    _save(
        kinds / "unknown.onnx",
        [floats],
        helper.make_node("NoSuchOp", ["x"], ["y"]),
        [info("y", TensorProto.FLOAT, [2])],
    )
    (kinds / "empty.onnx").write_bytes(b"")
    (kinds / "empty.ort").write_bytes(b"")
    (kinds / "noise.onnx").write_bytes(bytes(range(200)))
    (kinds / "folder.onnx").mkdir()
    (kinds / "folder.ort").mkdir()


def _save(path: Path, inputs: list[object], node: object, outputs: list[object]) -> None:
    import onnx
    from onnx import helper

    graph = helper.make_graph([node], "g", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)

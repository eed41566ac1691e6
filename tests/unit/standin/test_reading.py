"""Reading of inputs and of the command line, piece by piece."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.virtual.perf_test.standin import inputs
from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.getopt_line import parse
from android_runner.virtual.perf_test.standin.mid import DIALECT as MID
from android_runner.virtual.perf_test.standin.model_file import Malformed, fields
from android_runner.virtual.perf_test.standin.options import Options, Usage, c_long
from android_runner.virtual.perf_test.standin.output import number
from android_runner.virtual.perf_test.standin.tensorproto import read_tensor

TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def parsed(*words: str) -> Options:
    return parse("./perf", list(words), MID)


@pytest.mark.parametrize("kind", [*TYPES, "bool"])
@pytest.mark.parametrize("raw", [True, False])
def test_tensor_of_every_type(kind: str, raw: bool, tmp_path: Path) -> None:
    import numpy as np
    from onnx import helper, numpy_helper

    values = np.array([[0, 1, 2], [3, 100, 127]]).astype(kind)
    if raw:
        proto = numpy_helper.from_array(values, "x")
    else:
        proto = helper.make_tensor("x", helper.np_dtype_to_tensor_dtype(values.dtype), (2, 3), values.flatten())
        assert not proto.raw_data
    (tmp_path / "input_0.pb").write_bytes(proto.SerializeToString())
    read = read_tensor(str(tmp_path / "input_0.pb"), MID)
    assert (read.name, read.dims, read.element) == ("x", [2, 3], proto.data_type)
    assert read.data == values.tobytes()


def test_negative_numbers_in_typed_fields(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    for element, size in ((TensorProto.INT8, 1), (TensorProto.INT32, 4), (TensorProto.INT64, 8)):
        path = tmp_path / "input_0.pb"
        path.write_bytes(helper.make_tensor("x", element, (3,), [-1, -128, 5]).SerializeToString())
        data = read_tensor(str(path), MID).data
        values = [int.from_bytes(data[at : at + size], "little", signed=True) for at in range(0, 3 * size, size)]
        assert values == [-1, -128, 5]


def test_strings(tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    path = tmp_path / "input_0.pb"
    path.write_bytes(helper.make_tensor("x", TensorProto.STRING, (2,), [b"ab", b""]).SerializeToString())
    assert read_tensor(str(path), MID).strings == [b"ab", b""]
    path.write_bytes(helper.make_tensor("x", TensorProto.STRING, (2,), [b"ab", b""]).SerializeToString() + b"\x32\x01c")
    with pytest.raises(PerfTestError, match="does not match"):
        read_tensor(str(path), MID)


@given(st.binary(max_size=60))
def test_fields_of_any_bytes_end(data: bytes) -> None:
    try:
        found = fields(data)
    except Malformed:
        return
    assert all(0 <= start <= len(data) for _, _, start, _ in found)


@pytest.mark.parametrize(
    ("seed", "floats", "small", "large"),
    [
        (1, ["0x1.483e000000000p-15", "0x1.50bc9c0000000p-1"], [0, 16, 96, 58], [0, 33, 193, 117]),
        (7, ["0x1.1f3a000000000p-12", "0x1.26a5080000000p+2"], [0, 117, 37, 26], [0, 235, 74, 53]),
    ],
)
def test_seeded_numbers_are_those_of_libstdcxx(
    seed: int, floats: list[str], small: list[int], large: list[int]
) -> None:
    """Expected values printed by a C++ program with libstdc++ 12's `default_random_engine`."""
    drawn = (ctypes.c_float * 2)()
    inputs.fill_floats(ctypes.addressof(drawn), 2, seed)
    assert [value.hex() for value in drawn] == floats
    for largest, expected in ((127, small), (255, large)):
        numbers = (ctypes.c_ubyte * 4)()
        inputs.fill_bytes(ctypes.addressof(numbers), 4, seed, largest)
        assert list(numbers) == expected


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("m/a.onnx", "m"),
        ("a.onnx", "."),
        ("./a.onnx", "."),
        ("/x/y/a.onnx", "y"),
        ("x//a.onnx", "x"),
        ("test_/a.ort", ""),
    ],
)
def test_model_name(path: str, name: str) -> None:
    assert inputs.model_name(path) == name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.2345678e-05, "1.23457e-05"),
        (0.0001, "0.0001"),
        (1e-4 / 2, "5e-05"),
        (18992.72, "18992.7"),
        (1234567.0, "1.23457e+06"),
        (0.0, "0"),
    ],
)
def test_numbers_have_six_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), (" -3x", -3), ("+7", 7), ("=4", None), ("", None), ("99999999999999999999", 2**63 - 1)],
)
def test_c_long(text: str, value: int | None) -> None:
    assert c_long(text) == value


def test_options_are_found_wherever_they_stand() -> None:
    options = parsed("m.onnx", "-IPr", "5", "-x2", "-e", "cpu", "-f", "N:1", "-f", "H:2", "-C", "a|b c|d|e", "out.csv")
    assert (options.model, options.result_file) == ("m.onnx", "out.csv")
    assert options.flags == {"I", "P"}
    assert (options.repetitions, options.by_times, options.intra_threads) == (5, True, 2)
    assert options.dims_by_name == {"N": 1, "H": 2}
    assert options.config == {"a": "b", "c": "d|e"}


def test_the_later_of_r_and_t_decides() -> None:
    assert parsed("-t", "3", "-r", "4", "m").by_times
    assert not parsed("-r", "4", "-t", "3", "m").by_times
    assert parsed("-r", "4", "-t", "3", "-m", "times", "m").by_times


def test_posixly_correct_stops_at_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    with pytest.raises(Usage):
        parsed("m.onnx", "-I", "-r", "5")
    assert parsed("-I", "m.onnx", "-r").result_file == "-r"


def test_an_earlier_refusal_hides_a_later_complaint() -> None:
    with pytest.raises(Usage) as refused:
        parsed("-r", "0", "-Q", "m.onnx")
    assert refused.value.complaint == ""


@given(st.lists(st.text(alphabet="-IrxoCfm=: |a1", max_size=5), max_size=6))
def test_any_command_line_is_read_or_refused(words: list[str]) -> None:
    try:
        options = parsed(*words)
    except Usage:
        return
    assert options.model in words

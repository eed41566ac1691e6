"""Shapes that a trace tells, of true traces of three eras and of damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from android_runner.trace_shapes import ShapesTold, shapes_of

CORPUS = Path(__file__).parents[1] / "corpus" / "trace"


def line(name: str, **args: object) -> bytes:
    event = {"cat": "Node", "pid": 1, "tid": 1, "dur": 1, "ts": 1, "ph": "X", "name": f"{name}_kernel_time"}
    return json.dumps({**event, "args": args}).encode() + b",\n"


@pytest.mark.parametrize("version", ["1.20.1", "1.23.2", "1.31.1"])
def test_true_traces(version: str) -> None:
    data = (CORPUS / f"plain-{version}.json").read_bytes()
    events = [one for one in json.loads(data) if one["name"].endswith("_kernel_time")]
    names = {one["name"].removesuffix("_kernel_time") for one in events}
    found = shapes_of([data[:1000], data[1000:]], names)
    assert found.keys() == names
    for name in names:
        own = [one["args"] for one in events if one["name"] == f"{name}_kernel_time"]
        assert len(found[name]) == len(own)
        for told, args in zip(found[name], own, strict=True):
            assert told.outputs == tuple(tuple(*one.values()) for one in args["output_type_shape"])
            assert told.inputs == tuple(tuple(*one.values()) for one in args["input_type_shape"])
            assert told.output_bytes == int(args["output_size"])
    assert shapes_of([data], []) == {}
    assert shapes_of([data], ["nobody"]) == {}


def test_an_old_trace_tells_bytes_only() -> None:
    assert shapes_of([line("a", output_size="904")], ["a"]) == {"a": (ShapesTold(None, None, 904),)}


@pytest.mark.parametrize(
    "shapes",
    [
        [{"uint8": [-1]}],
        [{"uint8": [1.5]}],
        [{"uint8": "7"}],
        [{}],
        [7],
        "x",
        [{"a": [1], "b": [2]}],
        [{"a": [1]}] * 99,
    ],
)
def test_what_is_no_shape_is_left_out(shapes: object) -> None:
    good = line("a", output_type_shape=[{"uint8": [0]}], output_size="0")
    assert shapes_of([line("a", output_type_shape=shapes), good], ["a"]) == {"a": (ShapesTold(None, ((0,),), 0),)}


def test_damaged_lines_and_other_names_are_left_out() -> None:
    cut = line("a", output_size="3")[:-20]
    data = [b"[\n", cut, b"\n", line("ab", output_size="1"), line("b", output_size="1"), b'"a_kernel_time"\n', b"]"]
    assert shapes_of(data, ["a"]) == {}
    assert shapes_of([line("a", output_size="9" * 30)], ["a"]) == {"a": (ShapesTold(None, None, None),)}

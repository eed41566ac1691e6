"""What shapes some nodes of a trace took and gave, and of how many bytes: read from ORT's profile JSON line by line.

`input_type_shape` and `output_type_shape` are there since 1.11, lists of one-key objects (`[{"float":[1,10]}]`);
`output_size`, in bytes, always was. Numbers stand as text (`core/framework/sequential_executor.cc`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import orjson

from android_runner.trace_events import MAX_EVENTS, TraceEvents, bounded_lines

MAX_SHAPES = 64
MAX_DIMS = 64
_KERNEL = "_kernel_time"

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapesTold:
    """One execution of a node. Shapes are None where the trace has none; `output_bytes` None where it is not told."""

    inputs: tuple[Shape, ...] | None
    outputs: tuple[Shape, ...] | None
    output_bytes: int | None


def shapes_of(chunks: Iterable[bytes], nodes: Collection[str]) -> dict[str, tuple[ShapesTold, ...]]:
    """Every execution of the named nodes, the warm-up's first. Names hold nothing that JSON escapes.

    What is not understood is left out, and a node that never ran is not there.
    """
    wanted = re.compile("|".join(f'"{re.escape(name)}{_KERNEL}"' for name in nodes).encode() or rb"(?!)")
    found: dict[str, list[ShapesTold]] = {}
    for at, line in enumerate(bounded_lines(chunks, TraceEvents())):
        if at > MAX_EVENTS:
            break
        if wanted.search(line) is not None and (told := _told(line)) is not None and told[0] in nodes:
            found.setdefault(told[0], []).append(told[1])
    return {name: tuple(executions) for name, executions in found.items()}


def _told(line: bytes) -> tuple[str, ShapesTold] | None:
    """The event's name and what it says; None for what is none."""
    try:
        event = orjson.loads(line.strip().removesuffix(b","))
        args = event["args"]
        size = args.get("output_size")
        return str(event["name"]).removesuffix(_KERNEL), ShapesTold(
            inputs=_shapes(args.get("input_type_shape")),
            outputs=_shapes(args.get("output_type_shape")),
            output_bytes=int(size) if isinstance(size, str) and size.isdecimal() and len(size) < 16 else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _shapes(told: object) -> tuple[Shape, ...] | None:
    """Raises ValueError and TypeError for what is no list of shapes."""
    if told is None:
        return None
    if not isinstance(told, list) or len(told) > MAX_SHAPES:
        raise ValueError("no list of shapes")
    return tuple(_shape(one) for one in told)


def _shape(one: object) -> Shape:
    if not isinstance(one, dict) or len(one) != 1:
        raise ValueError("no shape")
    (dims,) = one.values()
    if not isinstance(dims, list) or len(dims) > MAX_DIMS or not all(type(dim) is int and dim >= 0 for dim in dims):
        raise ValueError("no shape")
    return tuple(dims)

"""Steps on initializers: `weights-inside`, `flush-denormals`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.variants.steps.apply import Bench, NothingToDo

_OVERRIDABLE_SINCE_IR = 4
_FLOAT, _DOUBLE = 1, 11


def move_inside(model: Any, _step: str, _bench: Bench) -> Any:
    """Take initializers out of the graph inputs: from IR 4 on those may be overridden, so nothing folds or fuses them
    and NNAPI takes no convolution. Below they are constants already."""
    if model.ir_version < _OVERRIDABLE_SINCE_IR:
        raise NothingToDo(f"IR version {model.ir_version}: initializers among the inputs are constants there")
    if not drop_from_inputs(model.graph):
        raise NothingToDo("no initializer is among the graph inputs")
    return model


def drop_from_inputs(graph: Any) -> int:
    """Take initializers out of a graph's inputs; how many there were."""
    held = {tensor.name for tensor in graph.initializer}
    held |= {sparse.values.name for sparse in graph.sparse_initializer}
    kept = [value for value in graph.input if value.name not in held]
    dropped = len(graph.input) - len(kept)
    if dropped:
        del graph.input[:]
        graph.input.extend(kept)
    return dropped


def flush_denormals(model: Any, _step: str, _bench: Bench) -> Any:
    """Set weights below the smallest normal number (1.2e-38 for float32) to zero, as `set_denormal_as_zero` would on
    x86: arithmetic on them may be many times slower. float16 is computed as float32, so it stays."""
    from onnx import numpy_helper  # noqa: PLC0415

    flushed = 0
    for tensor in float_tensors(model.graph):
        values = numpy_helper.to_array(tensor)
        small = denormal_mask(values)
        count = int(small.sum())
        if count:
            flushed += count
            values = values.copy()
            values[small] = 0
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    if not flushed:
        raise NothingToDo("no weight is denormal")
    return model


def denormal_mask(values: Any) -> Any:
    """Which elements of a floating-point array are denormal."""
    import numpy as np  # noqa: PLC0415

    return (values != 0) & (np.abs(values) < np.finfo(values.dtype).tiny)


def float_tensors(graph: Any) -> Iterator[Any]:
    """The float32 and float64 tensors of a graph and its sub-graphs: initializers and attributes."""
    for tensor in graph.initializer:
        if tensor.data_type in (_FLOAT, _DOUBLE):
            yield tensor
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t") and attribute.t.data_type in (_FLOAT, _DOUBLE):
                yield attribute.t
            for inner in (attribute.g, *attribute.graphs):
                yield from float_tensors(inner)

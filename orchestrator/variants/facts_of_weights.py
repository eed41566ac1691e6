"""Read a model's weights: which of them are subnormal, and which nearly. External data is read a piece at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.variants.checks.facts import PRONE_BELOW, WeightFacts, WeightLayer

_DTYPES = {1: "<f4", 11: "<f8"}
_EXTERNAL, _TENSOR = 1, 4
_LIMITS = {1: (2.0**-126, PRONE_BELOW), 11: (2.0**-1022, 2.0**-970)}
"""The smallest normal number, and that over the type's epsilon."""
_PIECE = 1 << 17
"""Elements at a time: as many as stay in a cache."""
_MAX_READERS = 4


def weight_facts(model: Any, folder: Path) -> WeightFacts:
    """The float32 and float64 weights of a ModelProto, sub-graphs included; `folder` is where its external data lies.
    Raises OSError, ValueError where data is cut off."""
    readers = _readers(model.graph)
    layers, total = [], 0
    for tensor in _weights(model.graph):
        layer = _layer(tensor, folder, readers)
        total += layer.elements
        if layer.denormals or layer.prone:
            layers.append(layer)
    return WeightFacts(elements=total, layers=tuple(layers))


def _weights(graph: Any) -> Iterator[Any]:
    """Dense float tensors: initializers, values of Constant nodes; those of sub-graphs too."""
    yield from (tensor for tensor in graph.initializer if tensor.data_type in _DTYPES)
    for node in graph.node:
        for item in node.attribute:
            if item.type == _TENSOR and node.op_type == "Constant" and item.t.data_type in _DTYPES:
                named = type(item.t)()
                named.CopyFrom(item.t)
                named.name = node.output[0]
                yield named
            for inner in (item.g, *item.graphs):
                yield from _weights(inner)


def _readers(graph: Any) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            if len(found[name]) < _MAX_READERS:
                found[name].append(node.name or node.op_type)
    return found


def _layer(tensor: Any, folder: Path, readers: Mapping[str, list[str]]) -> WeightLayer:
    values = _elements(tensor, folder)
    limits = _LIMITS[tensor.data_type]
    denormals = small = 0
    for start in range(0, values.size, _PIECE):
        found = [_below(values[start : start + _PIECE], limit) for limit in limits]
        denormals, small = denormals + found[0], small + found[1]
    return WeightLayer(
        tensor=tensor.name,
        readers=tuple(readers.get(tensor.name, ())),
        elements=values.size,
        denormals=denormals,
        prone=small - denormals,
    )


def _below(values: Any, limit: float) -> int:
    """How many are nearer to zero than `limit`, zeros not counted: as whole numbers, since the bits of floats without
    their sign stand in the order of what they are. A zero becomes the largest number by taking one away."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second

    whole = np.dtype(f"<u{values.dtype.itemsize}")
    bits = np.left_shift(np.ascontiguousarray(values).view(whole), 1)
    bits -= whole.type(1)
    return int(np.count_nonzero(bits < (np.array([limit], values.dtype).view(whole)[0] << 1) - 1))


def _elements(tensor: Any, folder: Path) -> Any:
    """The elements as a flat array; those outside as a map of their file."""
    import numpy as np  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    if tensor.data_location != _EXTERNAL:
        return numpy_helper.to_array(tensor).reshape(-1)
    entries = {entry.key: entry.value for entry in tensor.external_data}
    count = int(np.prod(tensor.dims, dtype=np.int64))
    if not count:
        return np.empty(0, _DTYPES[tensor.data_type])
    place = folder / entries["location"]
    return np.memmap(place, _DTYPES[tensor.data_type], "r", int(entries.get("offset") or 0), (count,))

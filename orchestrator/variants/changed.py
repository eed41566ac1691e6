"""A source model saved as ONNX with its dimensions fixed and its recipe's steps done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from android_runner.ort import ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.dims import Dims
from orchestrator.variants.graph import count_operators, graph_digest
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.read_onnx import fix_dims, load_whole, opsets_of, outside_tensors, parse, read_onnx
from orchestrator.variants.rules import MAX_BYTES
from orchestrator.variants.steps.apply import LARGE, Bench, apply_steps

_WEIGHTS = "weights.bin"
_SMALL_BYTES = 1024
"""Tensors below this stay in the model: shapes and axes have to be read from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What was saved: the graph's digest, its operators, and the names of all files, the model's first."""

    graph_digest: str
    operators: tuple[tuple[str, int], ...]
    files: tuple[str, ...]


Bring = Callable[[Path, Path], object]
"""How a file of external data gets to its place: `shutil.copyfile`, `os.link`."""


def save_with_dims(source: Inspection, dims: Dims, names: Mapping[str, str], target: Path, bring: Bring) -> Changed:
    """Save the source with `dims` in place and its external data beside it under `names`. Raises OSError."""
    proto = parse(source.model.path.read_bytes())
    fix_dims(proto, dims)
    for tensor in outside_tensors(proto):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = names[entry.value]
    target.write_bytes(proto.SerializeToString(deterministic=True))
    bring_external(source, names, target.parent, bring)
    return _told(proto, target, tuple(names.values()))


def bring_external(source: Inspection, names: Mapping[str, str], folder: Path, bring: Bring) -> None:
    """Put the source's external data into `folder` under `names`. Raises OSError."""
    home = source.model.path.resolve().parent
    for location, name in names.items():
        try:
            bring((home / location).resolve(), folder / name)
        except OSError:
            if bring is shutil.copyfile:
                raise
            shutil.copyfile(home / location, folder / name)  # another file system, or one without links


def save_with_steps(source: Inspection, dims: Dims, steps: tuple[str, ...], target: Path, bench: Bench) -> Changed:
    """Save the source with `dims` in place and `steps` done, weights inside unless they were outside before or make
    more than 2 GB. Raises VariantError, OSError."""
    import onnx  # noqa: PLC0415

    hindered = [step for step in steps if step not in LARGE]
    if source.model.size_bytes > MAX_BYTES and hindered:
        raise VariantError(f"{hindered[0]}: the model has over 2 GB, and this step needs it in one protobuf")
    proto = load_whole(source.model.path)
    fix_dims(proto, dims)
    proto = apply_steps(proto, steps, bench)
    if source.external or _weight_bytes(proto) > MAX_BYTES - 2**20:
        onnx.save_model(proto, str(target), save_as_external_data=True, location=_WEIGHTS, size_threshold=_SMALL_BYTES)
    else:
        target.write_bytes(proto.SerializeToString(deterministic=True))
    beside = (_WEIGHTS,) if (target.parent / _WEIGHTS).exists() else ()
    return _told(parse(target.read_bytes()), target, beside)


def _weight_bytes(proto: Any) -> int:
    return sum(len(tensor.raw_data) for tensor in proto.graph.initializer)


def _told(proto: Any, target: Path, beside: tuple[str, ...]) -> Changed:
    graph = read_onnx(proto, target.parent)
    return Changed(
        graph_digest=graph_digest(graph, ModelFormat.ONNX, opsets_of(proto)),
        operators=count_operators(graph),
        files=(target.name, *beside),
    )

"""The preparing process: `python -m android_runner.virtual.nnapi.prepare FOLDER PARENT`, PARENT being who asks.

FOLDER has `request.json`; it gets `model.onnx` or `model.ort`, the graph in which claimed groups run apart, and
`description.json`: `model` (empty where nothing is claimed and the original serves), `refusal` (why this can't be made
here), `unloadable` (onnxruntime's words where it makes no session of the model, as it will say again), `failure` (what
session creation fails with on the phone), `partitions`, `rest` (nodes on the CPU), `before` and `after` (log lines). An
exit status other than 0 is a defect; its words are on stderr.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onnx import TensorProto

from android_runner.nnapi.casts import places_without_casts, without_inserted_casts
from android_runner.nnapi.claim import claim
from android_runner.nnapi.from_onnx import graph_of, node_positions
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.levels import LEVEL_1, chosen_devices
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.shapes import Types
from android_runner.ort import NnapiFlag
from android_runner.virtual.nnapi import source, telling
from android_runner.virtual.nnapi.partitioned import Fused, build_partitioned, constants_of, tensor_bytes
from android_runner.virtual.nnapi.request import Request, read_request
from android_runner.virtual.nnapi.saving import save

DESCRIPTION = "description.json"
_PR_SET_PDEATHSIG = 1
_TRACE_TYPES = {
    TensorProto.FLOAT: "float", TensorProto.UINT8: "uint8", TensorProto.INT8: "int8", TensorProto.INT32: "int32",
    TensorProto.INT64: "int64", TensorProto.BOOL: "bool", TensorProto.FLOAT16: "float16", TensorProto.DOUBLE: "double",
}  # fmt: skip
_TOO_LARGE = "the model has more than 2 GB, which a virtual phone's NNAPI can't take apart"


@dataclass(frozen=True, kw_only=True)
class Description:
    """`description.json`; see the module."""

    model: str = ""
    refusal: str = ""
    unloadable: str = ""
    failure: str = ""
    partitions: tuple[Mapping[str, object], ...] = ()
    rest: int = 0
    before: tuple[telling.Line, ...] = ()
    after: tuple[telling.Line, ...] = ()


def prepare(request: Request, folder: Path) -> Description:
    """Load, claim, take apart, save; what comes of it."""
    try:
        model = source.graph_before_partitioning(Path(request.model), request.settings, folder)
        types = source.tensor_types(model, request.settings)
    except source.TooLarge:
        return Description(refusal=_TOO_LARGE)
    except source.Unloadable as error:
        return Description(unloadable=str(error))
    target = request.target
    graph, positions = _as_asked(model, types, Path(request.model))
    placement = claim(graph, target)
    devices = chosen_devices(target)
    story = telling.tell(graph, target, placement, devices)
    failure = telling.cannot_run(graph, placement, devices)
    rest = len(graph.nodes) - placement.claimed_count
    if failure or not placement.partitions:
        return Description(failure=failure, rest=rest, before=story.before, after=story.after)
    names = node_names(request.model_hash, placement)
    half = NnapiFlag.FP16 in target.flags and placement.feature_level > LEVEL_1
    groups = [
        [at for one in partition.nodes if (at := positions[one]) is not None] for partition in placement.partitions
    ]
    given = [name for _, name in names]
    made, fused = build_partitioned(model, types, groups, given, half=half, wrong=request.is_wrong)
    saved = save(made, Path(request.model), request.settings, folder)
    constants = constants_of(model)
    return Description(
        model=saved.name,
        partitions=tuple(
            _partition(operator, part, types, constants) for (operator, _), part in zip(names, fused, strict=True)
        ),
        rest=rest,
        before=story.before,
        after=story.after,
    )


def _as_asked(model: Any, types: Types, path: Path) -> tuple[Graph, tuple[int | None, ...]]:
    """The graph that NNAPI is asked about, and each of its nodes' index in the model's, where it is there.

    An `.onnx` in half precision gets Casts for the CPU afterwards; an `.ort` has them in the file.
    """
    graph, positions = graph_of(model, types), node_positions(model)
    if path.suffix != ".onnx":
        return graph, positions
    own = (None if at is None else positions[at] for at in places_without_casts(graph))
    return without_inserted_casts(graph), tuple(own)


def node_names(model_hash: str, placement: Placement) -> list[tuple[str, str]]:
    """Each partition's operator and node name, as `nnapi_execution_provider.cc` and `graph_partitioner.cc` form them.

    The hash is not onnxruntime's (which is of the path the model was loaded from).
    """
    operators = [f"Nnapi_{model_hash}_{at}" for at in range(len(placement.partitions))]
    return [(operator, f"NnapiExecutionProvider_{operator}_{at}") for at, operator in enumerate(operators)]


def _partition(operator: str, part: Fused, types: Types, constants: Mapping[str, Any]) -> dict[str, object]:
    """What the trace says of a partition: as for any node, all its inputs, weights among them."""
    shapes, activation_bytes, parameter_bytes = [], 0, 0
    for name in part.border.inputs:
        if name in constants:
            kind, dims = constants[name].data_type, tuple(constants[name].dims)
            parameter_bytes += tensor_bytes(kind, dims)
        else:
            kind, known = types[name]
            dims = known or ()
            activation_bytes += tensor_bytes(kind, dims)
        shapes.append({_TRACE_TYPES.get(kind, "unknown"): dims})
    return {
        "node": part.node_name,
        "operator": operator,
        "input_type_shape": json.dumps(shapes, separators=(",", ":")),
        "activation_size": activation_bytes,
        "parameter_size": parameter_bytes,
    }


def _die_with_parent(parent: int) -> None:
    """A trial that is killed takes its preparation with it (Linux; elsewhere the process group has to do)."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Entry point of the process."""
    _die_with_parent(int(sys.argv[2]))
    folder = Path(sys.argv[1])
    description = prepare(read_request(folder), folder)
    (folder / DESCRIPTION).write_text(json.dumps(asdict(description)), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Pure: what ONNX Runtime with the NNAPI execution provider says in its log, in the words of release 1.21.

Lines are `(severity letter, logger id, code location, text)`; the letter `w` is a warning that a verbose log has not.
Texts and locations are from
`core/providers/nnapi/nnapi_builtin/nnapi_execution_provider.cc`, `nnapi_api_helper.cc`, `builders/model_builder.cc` and
`core/framework/session_state.cc`. Reasons for refused nodes come from our model of the rules, and so does their
location. The layout pass is not imitated, so the summary comes once and counts the model's own nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from android_runner.assignment import DEVICE_TYPES
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.levels import MIN_LEVEL, runtime_level
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import ExecutionProvider

Line = tuple[str, str, str, str]
_TYPE_NUMBERS = {kind: number for number, kind in DEVICE_TYPES.items()}
_DEFAULT, _SESSION = "Default", ""
_PROVIDER = "nnapi_execution_provider.cc"
_RULES = "virtual_nnapi GetCapability"
_PLACEMENTS = "session_state.cc:{} VerifyEachNodeIsAssignedToAnEp"


@dataclass(frozen=True, slots=True)
class Story:
    """What is said while the session is made, and what after it stands."""

    before: tuple[Line, ...]
    after: tuple[Line, ...]


def devices_text(devices: Sequence[NnapiDevice]) -> str:
    """`GetDevicesDescription`: `[Name: [x], Type [4]],  ,` for each device."""
    return "".join(f"[Name: [{device.name}], Type [{_TYPE_NUMBERS[device.kind]}]],  ," for device in devices)


def cannot_run(graph: Graph, placement: Placement, devices: Sequence[NnapiDevice]) -> str:
    """The provider's message where no chosen device can run some claimed operator; empty where all can run.

    Without any device the provider doesn't look (`ModelBuilder::Compile`).
    """
    if not devices:
        return ""
    operators = {graph.nodes[at].op_type for partition in placement.partitions for at in partition.nodes}
    lacking = frozenset.intersection(*(device.lacks for device in devices))
    if not operators & lacking:
        return ""
    return f"The model cannot run using the current set of target devices, {devices_text(devices)}"


def tell(graph: Graph, target: NnapiTarget, placement: Placement, devices: Sequence[NnapiDevice]) -> Story:
    """Everything, whatever its severity; the logger that reads it leaves out what is below its own."""
    before = [
        ("V", _DEFAULT, f"{_PROVIDER}:37 GetPartitioningStopOps", "Using default partitioning stop ops list."),
        (
            "V", _DEFAULT, f"{_PROVIDER}:76 NnapiExecutionProvider",
            f"Found devices [{devices_text(devices)}] in NNAPI",
        ),
        *_capability(graph, target, placement),
    ]  # fmt: skip
    return Story(tuple(before), tuple(_placements(graph, placement)))


def _capability(graph: Graph, target: NnapiTarget, placement: Placement) -> Iterator[Line]:
    level, runtime = placement.feature_level, runtime_level(target.api_level)
    if level < runtime:
        yield (
            "I", _DEFAULT, "nnapi_api_helper.cc:50 GetDeviceFeatureLevelInternal",
            f"Changing NNAPI Feature Level {runtime} to supported by target devices: {level}",
        )  # fmt: skip
    here = f"{_PROVIDER}:{{}} GetCapability"
    yield "V", _SESSION, here.format(106), f"Effective NNAPI feature level: {level}"
    if level < MIN_LEVEL:
        yield (
            "W", _SESSION, here.format(114),
            f"All ops will fallback to CPU EP, because system NNAPI feature level [{level}] is lower than minimal "
            f"supported NNAPI API feature level [{MIN_LEVEL}] of this build for NNAPI",
        )  # fmt: skip
        return
    refused = {refusal.node: refusal.reason for refusal in placement.refused}
    for at, node in enumerate(graph.nodes):
        if at in refused:
            yield "V", _DEFAULT, _RULES, refused[at]
        unit = f"type: [{node.op_type}] index: [{at}] name: [{node.name}]"
        yield (
            "V", _SESSION, here.format(155),
            f"Node supported: [{int(at not in refused)}] Operator {unit} as part of the NodeUnit {unit}",
        )  # fmt: skip
    for refusal in placement.dropped:
        yield "V", _DEFAULT, _RULES, refusal.reason
    count = len(placement.partitions)
    yield (
        "W" if count > 1 else "I", _SESSION, here.format(229 if count > 1 else 231),
        f"NnapiExecutionProvider::GetCapability, number of partitions supported by NNAPI: {count} "
        f"number of nodes in the graph: {len(graph.nodes)} number of nodes supported by NNAPI: "
        f"{placement.claimed_count}",
    )  # fmt: skip


def _placements(graph: Graph, placement: Placement) -> Iterator[Line]:
    """Which provider has how many nodes once each partition is one; onnxruntime's own lines would count `If`s."""
    rest = len(graph.nodes) - placement.claimed_count
    counts = {ExecutionProvider.NNAPI.ort_name: len(placement.partitions), ExecutionProvider.CPU.ort_name: rest}
    placed = {provider: count for provider, count in counts.items() if count}
    yield "V", _SESSION, _PLACEMENTS.format(1243), "Node placements"
    for provider, count in placed.items():
        if len(placed) == 1:
            text = f" All nodes placed on [{provider}]. Number of nodes: {count}"
            yield "V", _SESSION, _PLACEMENTS.format(1246), text
        else:
            text = f" Node(s) placed on [{provider}]. Number of nodes: {count}"
            yield "V", _SESSION, _PLACEMENTS.format(1249), text
    if len(placed) > 1:
        yield (
            "W", _SESSION, _PLACEMENTS.format(1263),
            "Some nodes were not assigned to the preferred execution providers which may or may not have an negative "
            "impact on performance. e.g. ORT explicitly assigns shape related ops to CPU to improve perf.",
        )  # fmt: skip
        yield (
            "w", _SESSION, _PLACEMENTS.format(1265),
            "Rerunning with verbose output on a non-minimal build will show node assignments.",
        )  # fmt: skip

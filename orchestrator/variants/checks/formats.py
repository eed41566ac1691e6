"""Pure: findings about the file: initializers among inputs, fused operators, versions, size, external data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from android_runner.ort import ModelFormat, OrtVersion, readable_ort_formats
from orchestrator.variants.checks.causes import RUNTIME_DOMAINS
from orchestrator.variants.checks.facts import ModelFacts
from orchestrator.variants.checks.finding import Finding, Severity, bounded, build_command, counted
from orchestrator.variants.rules import first_reader, written_ort_format

_OPSETS = (
    ((1, 25), 26), ((1, 24), 25), ((1, 23), 23), ((1, 21), 22), ((1, 18), 21), ((1, 17), 20), ((1, 15), 19),
    ((1, 14), 18), ((1, 12), 17), ((1, 11), 16), ((1, 9), 15), ((1, 8), 14),
)  # fmt: skip
"""The newest opset by release. From 1.10 to 1.31 as a session of each release said it when it was given one opset more
("Current official support for domain ai.onnx is till opset N"): the packages 1.10.0, 1.11.0, 1.12.1, 1.13.1 and 1.14.0
of npm's onnxruntime-node, and PyPI's wheels 1.15.1 … 1.27.0, 1.30.0 and 1.31.1. onnxruntime's published compatibility
table says 15 for 1.11 and 1.12, which load 16 and 17; 1.8 and 1.9 are taken from it."""
_LISTED_BELOW = OrtVersion(1, 32)
LARGEST_BYTES = 2**31 - 1


def newest_opset(version: OrtVersion) -> int | None:
    """The newest opset that a release of onnxruntime implements; None where it is not listed here."""
    if version >= _LISTED_BELOW:
        return None
    return next((opset for (major, minor), opset in _OPSETS if version >= OrtVersion(major, minor)), None)


def format_findings(facts: ModelFacts, target: OrtVersion | None) -> Iterator[Finding]:
    """Everything that follows from the file alone; `target` is the version of the binaries in use, where known."""
    yield from _inputs(facts)
    yield from _fused(facts)
    yield from _size(facts)
    yield from _external(facts)
    if target is not None:
        yield from _versions(facts, target)


def _inputs(facts: ModelFacts) -> Iterator[Finding]:
    if not facts.overridable:
        return
    count, places = bounded(facts.overridable)
    yield Finding(
        id="initializers-in-inputs",
        severity=Severity.BLOCKS,
        reason=(
            f"{counted(count, 'initializer')} among the graph inputs; at IR {facts.ir_version} (4 and above) a "
            "caller may override them, so nothing is folded or fused with them, and NNAPI refuses "
            "convolutions and more that need constants (onnxruntime's checker does not see it)"
        ),
        count=count,
        places=places,
        remedy="take them out of the inputs",
        command=build_command(facts.source, "basic", ("weights-inside",), facts.dims),
        steps=("weights-inside",),
    )


def _fused(facts: ModelFacts) -> Iterator[Finding]:
    fused = [label for label in facts.operators_before if label.startswith(RUNTIME_DOMAINS)]
    if not fused or facts.graph is None:
        return
    nodes = [node for node in facts.graph.nodes if node.domain.startswith(RUNTIME_DOMAINS)]
    count, places = bounded(node.name or node.label for node in nodes)
    kinds = ", ".join(dict.fromkeys(label.rpartition(":")[2] for label in fused))
    yield Finding(
        id="fused-operators",
        severity=Severity.COSTS,
        reason=f"it holds operators of onnxruntime's own ({kinds}), which NNAPI does not take",
        count=count or len(fused),
        places=places or tuple(fused[:8]),
        remedy="where a saved optimization made them, start from the .onnx before it",
        command=build_command("ORIGINAL.onnx", "basic", (), facts.dims),
        threads=(9285, 9054),
    )


def _size(facts: ModelFacts) -> Iterator[Finding]:
    if facts.size_bytes <= LARGEST_BYTES:
        return
    yield Finding(
        id="over-2gb",
        severity=Severity.BLOCKS,
        reason=(
            f"{facts.size_bytes / 2**30:.1f} GB: neither protobuf nor ORT format holds over 2 GB, and NNAPI's claim "
            "is not told of such models"
        ),
        remedy="it can only be measured as .onnx with external data; smaller weights (int8) bring it below",
        command=build_command(facts.source, "onnx", (), facts.dims),
    )


def _external(facts: ModelFacts) -> Iterator[Finding]:
    if not facts.external:
        return
    count, places = bounded(facts.external_tensors)
    yield Finding(
        id="external-data",
        severity=Severity.COSTS,
        reason=(
            f"{counted(count, 'tensor')} in {counted(len(facts.external), 'file')} of their own: as .onnx NNAPI "
            "leaves every node that takes one"
        ),
        count=count,
        places=places,
        remedy="" if facts.size_bytes > LARGEST_BYTES else "ORT format holds the weights itself",
        command="" if facts.size_bytes > LARGEST_BYTES else build_command(facts.source, "basic", (), facts.dims),
        steps=(),
    )


def _versions(facts: ModelFacts, target: OrtVersion) -> Iterator[Finding]:
    threads = (7553, 8044, 20670, 18271)
    if facts.format is ModelFormat.ORT:
        found = facts.ort_format or 0
        if found not in readable_ort_formats(target):
            yield Finding(
                id="ort-format",
                severity=Severity.BLOCKS,
                reason=(
                    f"ORT format {found}, of onnxruntime {first_reader(found)} and later; binaries of {target} read "
                    f"{_listed(readable_ort_formats(target))}"
                ),
                remedy=f"convert the .onnx with onnxruntime {target.major}.{target.minor}, or take a newer binary",
                threads=threads,
            )
        return
    newest = newest_opset(target)
    if newest is not None and facts.opset > newest:
        yield Finding(
            id="opset-runtime",
            severity=Severity.BLOCKS,
            reason=f"opset {facts.opset}, but onnxruntime {target} implements {newest} and older: it refuses the model",
            remedy=f"convert to opset {newest}",
            command=build_command(facts.source, "onnx", (f"opset={newest}",), facts.dims),
            steps=(f"opset={newest}",),
        )
    written = written_ort_format(OrtVersion.parse(facts.converter))
    if written not in readable_ort_formats(target):
        yield Finding(
            id="ort-format-converter",
            severity=Severity.COSTS,
            reason=(
                f"onnxruntime {facts.converter} here writes ORT format {written}, binaries of {target} read "
                f"{_listed(readable_ort_formats(target))}: of its variants only `onnx` can be used"
            ),
            remedy=f"register a Python that has onnxruntime {target.major}.{target.minor}, which then converts",
            command="orch model converters add PYTHON",
            threads=threads,
        )


def _listed(formats: Sequence[int]) -> str:
    return " and ".join(map(str, formats))

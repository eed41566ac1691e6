"""Pure: facts in, report out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from android_runner.nnapi.graph import Graph
from android_runner.nnapi.placement import Placement
from android_runner.ort import OrtVersion
from orchestrator.variants.checks.facts import CheckerAnswer, ModelFacts
from orchestrator.variants.checks.finding import Finding, Severity, counted, with_options
from orchestrator.variants.checks.formats import format_findings
from orchestrator.variants.checks.nnapi import lost_to, nnapi_findings
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.structure import structure_findings
from orchestrator.variants.checks.usability import HIGHEST, Usability, placements_of, usability
from orchestrator.variants.checks.verdict import CONSEQUENCES, verdict
from orchestrator.variants.checks.weights import type_findings, weight_findings

_ORDER = {Severity.BLOCKS: 0, Severity.COSTS: 1, Severity.NOTE: 2}
_BLIND = {
    "initializers-in-inputs": "initializers that can be overridden",
    "opset-layout": "the layout transformer's opsets",
    "opset-nnapi": "versions of operators",
    "int8-activations": "types: int8 activations pass",
    "fp16-tensors": "types: half precision passes",
    "external-data": "weights outside the file",
    "nnapi-rank": "ranks",
    "nnapi-attribute": "attributes",
    "nnapi-constant-input": "inputs that must be constants",
    "nnapi-quantization": "which operators are taken quantized",
    "nnapi-type": "types",
    "nnapi-shape": "shapes that don't fit",
    "nnapi-stop-op": "operators that end what NNAPI gets",
    "nnapi-lone-node": "lone copies",
    "subgraphs": "that graphs within nodes stay on the CPU",
}
"""What onnxruntime's checker does not look at, by finding."""


def check(facts: ModelFacts, target: OrtVersion | None = None) -> CheckReport:
    """Every finding, the worst first, and the verdict. `target` is the version of the binaries in use."""
    asked = _asked(facts.graph)
    fixed = _asked(facts.fixed_graph)
    settled_graph, settled = (facts.fixed_graph, fixed) if fixed else (facts.graph, asked)
    findings = list(format_findings(facts, target))
    half: tuple[str, ...] = ()
    open_nodes: tuple[str, ...] = ()
    if facts.graph is not None and asked is not None:
        open_nodes = lost_to(facts, facts.graph, asked[HIGHEST], "dynamic-shapes")
    if settled_graph is not None and settled is not None:
        half = lost_to(facts, settled_graph, settled[HIGHEST], "fp16-tensors")
        findings += nnapi_findings(facts, settled_graph, settled)
    findings += type_findings(facts, half)
    findings += structure_findings(facts, open_nodes)
    findings += weight_findings(facts)
    as_is = usability(facts.graph, asked) if facts.graph is not None and asked is not None else None
    with_dims = usability(facts.fixed_graph, fixed) if facts.fixed_graph is not None and fixed is not None else None
    usable = with_dims or as_is
    mended = None
    if facts.mended is not None and facts.mended.graph is not None:
        mended = usability(facts.mended.graph, placements_of(facts.mended.graph))
    findings += _disagreement(facts.checker, usable, findings, has_fixed=with_dims is not None)
    findings = sorted(findings, key=lambda one: (_ORDER[one.severity], one.id in CONSEQUENCES))
    return CheckReport(
        model=facts.name,
        path=facts.path,
        format=facts.format.value,
        ir_version=facts.ir_version,
        opset=facts.opset,
        ort_format=facts.ort_format,
        size_bytes=facts.size_bytes,
        nodes=facts.nodes,
        converter=facts.converter,
        free_dims=tuple(key for key, _ in facts.free_dims),
        fixed_dims=facts.fixed_dims,
        guessed=facts.guessed,
        as_is=as_is,
        fixed=with_dims,
        mended=mended,
        nnapi_problem=facts.graph_problem,
        checker=facts.checker,
        measured=facts.measured,
        findings=tuple(findings),
        verdict=verdict(facts, usable, findings, mended),
    )


def with_libraries(report: CheckReport, libraries: Sequence[str]) -> CheckReport:
    """The report with the libraries of custom operators, as a person named them, in every command."""
    words = [word for library in libraries for word in ("--custom-ops", library)]
    return replace(
        report,
        findings=tuple(replace(one, command=with_options(one.command, *words)) for one in report.findings),
        verdict=replace(report.verdict, command=with_options(report.verdict.command, *words)),
    )


def _asked(graph: Graph | None) -> Mapping[int, Placement] | None:
    return None if graph is None else placements_of(graph)


def _disagreement(
    answers: Sequence[CheckerAnswer], usable: Usability | None, findings: Sequence[Finding], *, has_fixed: bool
) -> Iterator[Finding]:
    """Where onnxruntime's checker says another thing of NNAPI than the rules do, or nothing."""
    theirs = [one for one in answers if one.provider == "NNAPI"]
    if not theirs or usable is None:
        return
    row = usable.highest
    best = theirs[-1] if has_fixed else theirs[0]
    if theirs[0].problem:
        said = f"does not answer ({theirs[0].problem})"
        why = "it needs onnx's shape inference, which stops at operators that are not ONNX's"
    elif (best.partitions, best.nodes_taken, best.nodes) == (row.partitions, row.nodes_taken, row.nodes):
        return
    else:
        said = f"says {best.answer} ({counted(best.partitions, 'piece')}, {best.nodes_taken} of {best.nodes} nodes)"
        blind = [_BLIND[one.id] for one in findings if one.id in _BLIND]
        unseen = "; ".join(blind) or "all that the provider does"
        why = f"it looks at operators and fixed shapes only, not at {unseen}"
    yield Finding(
        id="ort-checker-differs",
        severity=Severity.NOTE,
        reason=(
            f"onnxruntime's usability checker {said}; by the provider's rules it is {usable.answer} "
            f"({counted(row.partitions, 'piece')}, {row.nodes_taken} of {row.nodes} nodes at API {row.api_level}): "
            f"{why}"
        ),
        threads=(19590,),
    )

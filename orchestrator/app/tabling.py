"""`orch model table`: every recipe on every model, each variant beside its source, as one page."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

from android_runner.nnapi.graph import Graph
from android_runner.nnapi.notation import graph_from_text
from orchestrator.app.checking import check_all
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.differing import DEFAULT_API, require_api_level
from orchestrator.app.modelling import Made, build_all
from orchestrator.app.wish import RunOptions
from orchestrator.errors import UsageError, VariantError
from orchestrator.home import Home
from orchestrator.report.model_table import Lab, LabModel, LabRow
from orchestrator.variants.align import Change, align
from orchestrator.variants.checks.report import CheckReport
from orchestrator.variants.checks.usability import LevelRow, level_row
from orchestrator.variants.claim_shelf import GraphWanted, claim_graphs, graphs_of
from orchestrator.variants.converter import converter_version, onnx_version
from orchestrator.variants.recipe import Model, Variant
from orchestrator.variants.recipe_words import BASE_NAMES, NNAPI_AWARE
from orchestrator.variants.shelf import Shelf

LAB_RECIPES = (
    *BASE_NAMES, NNAPI_AWARE, "basic+weights-inside", "onnx+opset=12", "onnx+opset=15", "onnx+opset=13+qdq-u8u8",
    "onnx+opset=13+qdq-u8s8", "onnx+fp16", "all+flush-denormals", "onnx+no-tf-transposes", "onnx+transformer-fusions",
    "onnx+nnapi-rewrites",
)  # fmt: skip
"""Every level and style, and each step; where a step needs a newer opset, that comes before it."""


def table(asked: RunOptions, recipes: Sequence[str], home: Home, api_level: int = DEFAULT_API) -> Lab:
    """Build the recipes (default: `LAB_RECIPES`) of the models, compare each variant with its source, check the
    models. Of `asked` only what is about making variants counts. Raises UsageError."""
    require_api_level(api_level)
    built = build_all(asked, recipes or LAB_RECIPES, home, check=True)
    reports = _checked(asked)
    libraries = [path for path, _ in custom_ops(asked.custom_ops).host]
    models = []
    for name in dict.fromkeys(one.model for one in built):
        mine = [one for one in built if one.model == name]
        rows = _rows(mine, Shelf(home.shelf), api_level, libraries)
        models.append(_model(name, mine, reports.get(name), rows))
    return Lab(
        models=tuple(models),
        onnxruntime=converter_version(),
        onnx=onnx_version(),
        machine=platform.machine(),
        api_level=api_level,
    )


def _checked(asked: RunOptions) -> dict[str, CheckReport]:
    """By model's name; nothing where none can be checked."""
    try:
        checks = check_all(asked.things, asked.dim, "", measured=False, libraries=asked.custom_ops)
    except UsageError:
        return {}
    return {report.model: report for report in checks.reports}


def _model(name: str, mine: Sequence[Made], report: CheckReport | None, rows: tuple[LabRow, ...]) -> LabModel:
    source = next((one.variant.model for one in mine if one.variant is not None), None)
    return LabModel(
        model=name,
        opset=0 if source is None else source.opset,
        ir_version=0 if source is None else source.ir_version,
        nodes=0 if source is None else source.node_count,
        size_bytes=0 if source is None else source.size_bytes,
        check="" if report is None else report.verdict.word,
        findings=() if report is None else tuple(dict.fromkeys(one.id for one in report.findings)),
        rows=rows,
        not_made=tuple((one.recipe, one.reason) for one in mine if one.variant is None),
    )


def _rows(mine: Sequence[Made], shelf: Shelf, api_level: int, libraries: Sequence[str]) -> tuple[LabRow, ...]:
    """A row a graph and format, under the first name that has it."""
    firsts: dict[tuple[str, str], tuple[Made, Variant]] = {}
    for one in mine:
        if one.variant is not None:
            firsts.setdefault((one.variant.graph_digest, one.variant.recipe.format.value), (one, one.variant))
    if not firsts:
        return ()
    variants = [variant for _, variant in firsts.values()]
    levels = _levels(variants, shelf, api_level, libraries)
    fused = _fused(variants[0].model, variants, libraries)
    return tuple(
        _row(made, mine, variant, fused[variant.variant_id], levels.get(variant.variant_id))
        for made, variant in firsts.values()
    )


def _row(made: Made, mine: Sequence[Made], variant: Variant, fused: int | None, level: LevelRow | None) -> LabRow:
    return LabRow(
        variant=made.as_row(mine),
        build_s=variant.build_s,
        fused=fused,
        own=sum(count for name, count in variant.operators_after if ":" in name),
        taken=None if level is None else level.nodes_taken,
        asked=None if level is None else level.nodes,
        partitions=None if level is None else level.partitions,
        work_share=None if level is None else level.multiply_adds_share,
    )


def _levels(
    variants: Sequence[Variant], shelf: Shelf, api_level: int, libraries: Sequence[str]
) -> Mapping[str, LevelRow]:
    """What NNAPI takes, by variant id; without the variants that nothing can be said of."""
    found = claim_graphs(variants, shelf, libraries)
    return {
        variant_id: level_row(graph_from_text(text.encode()), api_level)
        for variant_id, text in found.items()
        if not isinstance(text, VariantError)
    }


def _fused(source: Model, variants: Sequence[Variant], libraries: Sequence[str]) -> dict[str, int | None]:
    """By variant id how many of its nodes stand for more nodes of the source than they are, as `orch model diff` says;
    None where a file can't be looked into."""
    wanted = [GraphWanted(source.path, source.format, as_written=True)]
    wanted += [GraphWanted(one.path, one.recipe.format, as_written=True) for one in variants]
    before, *after = graphs_of(wanted, libraries)
    return {one.variant_id: _fused_nodes(before, graph) for one, graph in zip(variants, after, strict=True)}


def _fused_nodes(before: Graph | VariantError, after: Graph | VariantError) -> int | None:
    if isinstance(before, VariantError) or isinstance(after, VariantError):
        return None
    steps = (step for step in align(before, after) if step.change is Change.FUSED)
    return sum(len(step.after) for step in steps if len(step.before) > len(step.after))

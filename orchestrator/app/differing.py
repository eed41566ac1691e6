"""`orch model diff`: two models, or two variants of one, operator by operator and node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from android_runner.nnapi.claim import claim
from android_runner.nnapi.graph import Graph, Node
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.target import NnapiTarget
from android_runner.ort import ModelFormat
from orchestrator.app.converting import without_library
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.modelling import build_all
from orchestrator.app.wish import RunOptions
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.home import Home
from orchestrator.report.diff_text import DiffSide, ModelDiff, NnapiPart, StepRow
from orchestrator.variants.align import Step, align
from orchestrator.variants.claim_shelf import GraphWanted, graphs_of
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe_words import API_LEVELS, parse_recipe
from orchestrator.variants.shelf import Shelf

DEFAULT_API = 30


@dataclass(frozen=True, slots=True)
class _File:
    title: str
    path: Path
    format: ModelFormat


def diff(first: str, second: str, asked: RunOptions, home: Home, api_level: int = DEFAULT_API) -> ModelDiff:
    """What became of `first` in `second`: each a model's file, or MODEL:RECIPE, which is built. Of `asked` only what is
    about making variants counts. Raises UsageError.
    """
    require_api_level(api_level)
    files = [_file(text, asked, home) for text in (first, second)]
    wanted = [GraphWanted(one.path, one.format, written) for one in files for written in (True, False)]
    found = graphs_of(wanted, [path for path, _ in custom_ops(asked.custom_ops).host])
    problems = [Problem(one.title, str(graph)) for one, graph in zip(files, found[::2], strict=True) if _is_lost(graph)]
    if problems:
        raise UsageError(*problems)
    before, after = (graph for graph in found[::2] if isinstance(graph, Graph))
    target = NnapiTarget(api_level=api_level, flags=frozenset())
    parts = [_nnapi(graph, target) for graph in found[1::2]]
    taken = [_taken(graph, target) for graph in found[1::2]]
    return ModelDiff(
        before=_side(files[0], before, parts[0]),
        after=_side(files[1], after, parts[1]),
        api_level=api_level,
        steps=tuple(_row(step, taken[0], taken[1]) for step in align(before, after)),
    )


def require_api_level(api_level: int) -> None:
    """Raise UsageError for an API level that NNAPI never was at."""
    if api_level not in API_LEVELS:
        bounds = f"{API_LEVELS[0]} to {API_LEVELS[-1]}"
        raise UsageError(Problem("--api", f"{api_level}: NNAPI begins with {API_LEVELS[0]}", f"give {bounds}"))


def _is_lost(graph: Graph | VariantError) -> bool:
    return isinstance(graph, VariantError)


def _file(text: str, asked: RunOptions, home: Home) -> _File:
    path = Path(text)
    name, colon, recipe = text.rpartition(":")
    if path.exists() or not colon or not Path(name).exists():
        shelf = Shelf(home.shelf)
        model = load_model(path, shelf=shelf)
        if problems := without_library([model], asked.custom_ops, shelf):
            raise UsageError(*problems)
        return _File(path.name, path, model.format)
    parse_recipe(recipe, text)
    (made,) = build_all(replace(asked, things=(name,)), [recipe], home)
    if made.variant is None:
        raise UsageError(Problem(text, made.reason))
    return _File(f"{Path(name).name}:{made.recipe}", made.variant.path, made.variant.recipe.format)


def _side(file: _File, graph: Graph, nnapi: NnapiPart) -> DiffSide:
    return DiffSide(
        title=file.title,
        format=file.format.value,
        opset=graph.opset,
        operators=tuple(sorted(Counter(node.label for node in graph.nodes).items())),
        domains=tuple(sorted(Counter(node.domain or "ai.onnx" for node in graph.nodes).items())),
        nnapi=nnapi,
    )


def _placement(graph: Graph | VariantError, target: NnapiTarget) -> tuple[Graph, Placement] | None:
    return None if isinstance(graph, VariantError) else (graph, claim(graph, target))


def _nnapi(graph: Graph | VariantError, target: NnapiTarget) -> NnapiPart:
    placed = _placement(graph, target)
    if placed is None:
        return NnapiPart(nodes=0, claimed=0, partitions=(), reason=str(graph))
    nodes, placement = placed[0].nodes, placed[1]
    return NnapiPart(
        nodes=len(nodes),
        claimed=placement.claimed_count,
        partitions=tuple(tuple(nodes[at].label for at in one.nodes) for one in placement.partitions),
        reason=placement.problem,
    )


_Taken = dict[tuple[str, str], tuple[int, bool]]
"""By the name of a tensor, or of a node, a node that NNAPI is asked about and whether it takes it."""


def _taken(graph: Graph | VariantError, target: NnapiTarget) -> _Taken:
    placed = _placement(graph, target)
    if placed is None:
        return {}
    nodes, placement = placed[0].nodes, placed[1]
    claimed = {at for one in placement.partitions for at in one.nodes}
    found: _Taken = {}
    for at, node in enumerate(nodes):
        marks = [("node", node.name), *(("tensor", name) for name in node.outputs)]
        found |= {mark: (at, at in claimed) for mark in marks if mark[1]}
    return found


def _row(step: Step, before: _Taken, after: _Taken) -> StepRow:
    return StepRow(
        change=step.change.value,
        before=tuple((node.label, node.name) for node in step.before),
        after=tuple((node.label, node.name) for node in step.after),
        nnapi_before=_count(step.before, before),
        nnapi_after=_count(step.after, after),
        notes=tuple(_notes(step)),
    )


def _count(nodes: Sequence[Node], taken: _Taken) -> tuple[int, int]:
    """How many of them NNAPI takes, and of how many it is asked: a phone may have fused some before it asks."""
    marks = [mark for node in nodes for mark in (("node", node.name), *(("tensor", name) for name in node.outputs))]
    said = {taken[mark] for mark in marks if mark in taken}
    return sum(is_taken for _, is_taken in said), len(said)


def _notes(step: Step) -> list[str]:
    """What else is to be said of a node that is still there: version, attributes, tensors' names."""
    if len(step.before) != 1 or len(step.after) != 1 or step.before[0].label != step.after[0].label:
        return []
    old, new = step.before[0], step.after[0]
    notes = []
    if old.since_version != new.since_version:
        notes.append(f"version {old.since_version} → {new.since_version}")
    names = sorted({*old.attributes, *new.attributes})
    changed: list[Any] = [name for name in names if old.attributes.get(name) != new.attributes.get(name)]
    notes += [f"{name} {old.attributes.get(name, '–')} → {new.attributes.get(name, '–')}" for name in changed]
    if len(old.inputs) != len(new.inputs):
        notes.append(f"{len(old.inputs)} → {len(new.inputs)} inputs")
    if old.outputs != new.outputs:
        notes.append(f"{', '.join(filter(None, old.outputs))} → {', '.join(filter(None, new.outputs))}")
    return notes

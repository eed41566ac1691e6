"""Read a model for `orch model check`: the file, its graph as NNAPI gets it, weights, what onnxruntime says."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from android_runner.nnapi.casts import PREFIX
from android_runner.nnapi.graph import Graph
from android_runner.ort import ModelFormat
from orchestrator.errors import Problem, UsageError, VariantError, is_no_room
from orchestrator.variants import facts_of_structure as structure
from orchestrator.variants.checks.facts import Dims, Mended, MissingKernel, ModelFacts, WeightFacts
from orchestrator.variants.claim_graph import MAX_BYTES, as_asked, graph_of_plain, plain_model
from orchestrator.variants.converter import converter_version, runtime_errors, runtime_words
from orchestrator.variants.custom_ops import missing_library
from orchestrator.variants.dims import free_dims
from orchestrator.variants.facts_of_kernels import missing_kernels, named_kernel
from orchestrator.variants.facts_of_weights import weight_facts
from orchestrator.variants.inspect import Inspection, inspect_model
from orchestrator.variants.naming import shown
from orchestrator.variants.ort_checker import checker_answers
from orchestrator.variants.read_onnx import bring_inside, external_tensors, fix_dims, load_whole, outside_tensors, parse
from orchestrator.variants.steps.apply import Bench, apply_steps
from orchestrator.variants.steps.rewrite import rewritable

_GUESSES = ((32, 224), (3, 224), (1, 1), (64, 64), (128, 32))
"""Numbers for open dimensions that nobody gave: of an input's second axis, and of those behind it."""


@dataclass(frozen=True, slots=True)
class _Plain:
    """What onnxruntime made of a file at level basic, and the claim rules' view of it."""

    model: Any
    graph: Graph
    rewritable: frozenset[str]


def facts_of(path: Path, dims: Mapping[str, int], custom_ops: tuple[str, ...] = ()) -> ModelFacts:
    """Everything about the model at `path` but what must be measured. `dims` are numbers for open dimensions,
    `custom_ops` libraries, for this host, of operators that it may have.

    Raises UsageError where the file is no model, or one that onnxruntime refuses for more than a missing kernel.
    """
    source = inspect_model(path)
    if (stranger := missing_library(source, custom_ops)) is not None:
        raise UsageError(stranger)
    folder = path.resolve().parent
    proto = parse(path.read_bytes()) if source.model.format is ModelFormat.ONNX else None
    facts = _from_file(source, proto)
    plain, kernels, problem = _plain_of(path, source, proto, custom_ops)
    if plain is None:
        whole = proto if proto is not None else None
        weights = weight_facts(whole, folder) if whole is not None else WeightFacts()
        return replace(facts, graph_problem=problem, missing_kernels=kernels, weights=weights)
    facts = _with_plain(facts, plain, proto if proto is not None else plain.model, folder)
    return _with_dims(facts, source, path, (dims, custom_ops))


def _from_file(source: Inspection, proto: Any) -> ModelFacts:
    model = source.model
    facts = ModelFacts(
        name=model.name,
        path=os.fspath(model.path),
        format=model.format,
        converter=converter_version(),
        ir_version=model.ir_version,
        opset=model.opset,
        size_bytes=model.size_bytes,
        nodes=model.node_count,
        ort_format=model.ort_format,
        external=source.external,
        operators_before=tuple(name for name, _ in source.operators),
        free_dims=tuple(free_dims(model).items()),
    )
    if proto is None:
        return facts
    return replace(
        facts,
        external_tensors=tuple(one.tensor for one in external_tensors(proto)),
        overridable=structure.overridable(proto),
        float16=structure.half_tensors(proto),
        subgraphs=structure.subgraphs_of(proto),
        moves_before=structure.layout_moves(proto)[0],
    )


def _plain_of(
    path: Path, source: Inspection, proto: Any, custom_ops: tuple[str, ...]
) -> tuple[_Plain | None, tuple[MissingKernel, ...], str]:
    """The graph after level basic, or which kernels are missing, or why there is neither."""
    if source.model.size_bytes >= MAX_BYTES:
        return None, (), "over 2 GB"
    try:
        return _plain(path, source.model.format, custom_ops), (), ""
    except VariantError as error:
        return None, (), str(error)
    except runtime_errors() as error:
        if is_no_room(error):
            raise
        words = runtime_words(error)
        kernels = named_kernel(words)
        if proto is not None and kernels:
            kernels = missing_kernels(proto, custom_ops) or kernels
        if kernels:
            return None, kernels, f"onnxruntime {converter_version()}: {words}"
        problem = Problem(shown(path), f"onnxruntime {converter_version()}: {words}", "export the model again")
        raise UsageError(problem) from error


def _plain(path: Path, format_: ModelFormat, custom_ops: tuple[str, ...]) -> _Plain:
    """Raises as `plain_model` and `graph_of_plain`."""
    folder = path.resolve().parent
    model = plain_model(path, format_, custom_ops)
    graph = graph_of_plain(model, folder, custom_ops)
    return _Plain(model, as_asked(graph, format_), _rewritable(model, graph, folder, custom_ops))


def _rewritable(model: Any, graph: Graph, folder: Path, custom_ops: tuple[str, ...]) -> frozenset[str]:
    """What the step `nnapi-rewrites` would write anew; nothing where it would fail."""
    with tempfile.TemporaryDirectory(prefix="orch-rewrites-") as scratch:
        refusals: tuple[type[Exception], ...] = (VariantError, *runtime_errors())
        try:
            if next(iter(outside_tensors(model)), None) is not None:
                whole = type(model)()
                whole.CopyFrom(model)
                bring_inside(whole, folder)
                model = whole
            return rewritable(model, graph, Bench(scratch=Path(scratch), custom_ops=custom_ops))
        except refusals:
            return frozenset()


def _with_plain(facts: ModelFacts, plain: _Plain, whole: Any, folder: Path) -> ModelFacts:
    """`whole` is the file's own ModelProto, or for ORT format the one made of it."""
    moves, border = structure.layout_moves(plain.model)
    weights = weight_facts(whole, folder)
    if whole is not plain.model:
        folded = weight_facts(plain.model, folder)
        weights = replace(weights, folded_denormals=folded.denormals)
    else:
        facts = replace(
            facts,
            float16=structure.half_tensors(whole),
            subgraphs=structure.subgraphs_of(whole),
            moves_before=moves,
        )
    return replace(
        facts,
        graph=plain.graph,
        rewritable=plain.rewritable,
        weights=weights,
        casts_added=sum(node.name.startswith(PREFIX) for node in plain.model.graph.node),
        float16=tuple(name for name in facts.float16 if not name.startswith(PREFIX)),
        moves_after=moves,
        moves_at_border=border,
        checker=checker_answers(plain.model, folder),
    )


def _with_dims(
    facts: ModelFacts, source: Inspection, path: Path, how: tuple[Mapping[str, int], tuple[str, ...]]
) -> ModelFacts:
    """The same with every open dimension fixed: by the numbers given (`how`, beside libraries of custom operators),
    else by the first that onnxruntime takes."""
    given, custom_ops = how
    keys = [key for key, _ in facts.free_dims]
    if not keys or source.model.format is ModelFormat.ORT:
        return facts
    problem = ""
    refusals: tuple[type[Exception], ...] = (VariantError, *runtime_errors())
    for dims in _tries(facts.free_dims, given):
        try:
            fixed = _fixed(path, dims, facts.external, custom_ops)
        except refusals as error:
            problem = problem or runtime_words(error)
            continue
        return replace(
            facts,
            fixed_graph=fixed.graph,
            fixed_dims=dims,
            guessed=not set(keys) <= set(given),
            rewritable=facts.rewritable | fixed.rewritable,
        )
    chosen = tuple(sorted((key, given[key]) for key in keys if key in given))
    return replace(facts, fixed_dims=chosen if len(chosen) == len(keys) else (), fixed_problem=problem)


def _tries(places: Sequence[tuple[str, Sequence[str]]], given: Mapping[str, int]) -> Iterator[Dims]:
    """Numbers for every open dimension: those given, else guesses, the likeliest first."""
    guesses = _GUESSES if not {key for key, _ in places} <= set(given) else _GUESSES[:1]
    for texts, images in guesses:
        yield tuple(sorted((key, given.get(key) or _guess(where, texts, images)) for key, where in places))


def _guess(places: Sequence[str], texts: int, images: int) -> int:
    """One for a batch, `texts` for a second axis, `images` for those behind it."""
    axis = min(int(place.rpartition(" ")[2]) for place in places)
    return 1 if axis == 0 else texts if axis == 1 else images


def _fixed(path: Path, dims: Dims, locations: Sequence[str], custom_ops: tuple[str, ...]) -> _Plain:
    with tempfile.TemporaryDirectory(prefix="orch-check-") as scratch:
        target = save_changed(path, Path(scratch), locations, lambda proto: fix_dims(proto, dims))
        return _plain(target, ModelFormat.ONNX, custom_ops)


def mend(path: Path, steps: tuple[str, ...], dims: Dims, custom_ops: tuple[str, ...] = ()) -> Mended:
    """What is left of a model's troubles after a recipe's steps, the dimensions fixed: its graph after level basic."""
    with tempfile.TemporaryDirectory(prefix="orch-mend-") as scratch:
        refusals: tuple[type[Exception], ...] = (VariantError, *runtime_errors())
        try:
            proto = load_whole(path)
            fix_dims(proto, dims)
            changed = apply_steps(proto, steps, Bench(scratch=Path(scratch), custom_ops=custom_ops))
            target = Path(scratch) / "mended.onnx"
            target.write_bytes(changed.SerializeToString())
            model = plain_model(target, ModelFormat.ONNX, custom_ops)
            graph = graph_of_plain(model, Path(scratch), custom_ops)
            return Mended(steps=steps, graph=as_asked(graph, ModelFormat.ONNX))
        except refusals as error:
            return Mended(steps=steps, problem=runtime_words(error))


def save_changed(path: Path, folder: Path, locations: Sequence[str], change: Callable[[Any], object]) -> Path:
    """The ONNX model at `path` after `change` to its ModelProto, in `folder`, its external data beside it. Raises
    OSError."""
    proto = parse(path.read_bytes())
    change(proto)
    target = folder / "model.onnx"
    target.write_bytes(proto.SerializeToString())
    for location in locations:
        place = folder / location
        place.parent.mkdir(parents=True, exist_ok=True)
        original = (path.resolve().parent / location).resolve()
        try:
            os.link(original, place)
        except OSError:
            shutil.copyfile(original, place)
    return target

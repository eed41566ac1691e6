"""Makes a check variant: what is expected, computed here from the source, and the variant's own graph with tails.

The body is the variant's graph as it is: an `.onnx` is parsed and saved again; an `.ort` goes through a session without
optimizations into ONNX and back, one with saved optimizations with the settings that saved them. Afterwards it is held
against the variant's, tails left out: another graph is no check of this case.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from android_runner.nnapi.shapes import name_graphs
from android_runner.ort import ModelFormat, OptimizationStyle
from orchestrator.errors import VariantError
from orchestrator.variants.converter import Converter, converter_version, runtime, runtime_errors, runtime_words
from orchestrator.variants.graph import Graph, count_operators, graph_digest
from orchestrator.variants.naming import shown
from orchestrator.variants.read_onnx import parse, read_onnx
from orchestrator.variants.read_ort import read_ort
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.saving import Saving, save
from orchestrator.variants.sessions import saving_of
from orchestrator.variants.tolerance import Precision, asked_precision, looser, precision_of
from orchestrator.variants.verify_tail import OLDEST_OPSET, append_tails, free_prefix
from orchestrator.variants.verify_variant import CheckedOutput, CheckFacts

MAX_BYTES = 2**31 - 2**20
"""What a protobuf message may have, and some room for the tails' own nodes."""
_PLAIN = {"session.disable_prepacking": "1"}
_RANDOM = ("Random", "Multinomial", "Bernoulli")
_COUNTED = frozenset("biuf")
"""numpy's kinds of elements whose differences mean something: bool, integers, floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJob:
    """What a check variant is made of: the source as it was given, its inputs' files, and a variant's file."""

    source: Path
    inputs: tuple[Path, ...]
    variant: Path
    recipe: Recipe
    converter: Converter


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltCheck:
    """What a build left in its folder: `main` and `files` as in `build.Built`; `facts` without an id."""

    main: str
    files: tuple[tuple[str, int], ...]
    sha256: str
    facts: CheckFacts


def build_check(job: CheckJob, folder: Path, scratch: Path) -> BuiltCheck:
    """Make the files in `folder`; both folders exist and are empty. Raises VariantError with the reason, OSError."""
    try:
        return _build(job, folder, scratch)
    except runtime_errors() as error:
        raise VariantError(f"onnxruntime {converter_version()}: {runtime_words(error)}") from error


def _build(job: CheckJob, folder: Path, scratch: Path) -> BuiltCheck:
    expected = expected_outputs(job.source, job.inputs, job.converter)
    model, body = _body(job, scratch)
    opset = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=0)
    if opset < OLDEST_OPSET:
        raise VariantError(f"opset {opset}: what compares needs {OLDEST_OPSET}")
    if any(node.operator.startswith(_RANDOM) for node in body.nodes):
        raise VariantError("it draws random numbers: nothing is expected of it")
    outputs = tuple(_described(item.name, expected) for item in model.graph.output)
    if all(one.why_not for one in outputs):
        raise VariantError("; ".join(f"output {shown(one.name)} {one.why_not}" for one in outputs))
    prefix = free_prefix(model)
    append_tails(model, prefix, outputs, expected)
    if model.ByteSize() > MAX_BYTES:
        raise VariantError("over 2 GB with what is expected of it")
    target, made = _saved(job, model, folder, scratch)
    if _mark(replace(without_tails(made, prefix), outputs=body.outputs)) != _mark(body):
        raise VariantError("with a tail on its outputs onnxruntime saves another graph")
    names = sorted(path.name for path in folder.iterdir())
    with target.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return BuiltCheck(
        main=target.name,
        files=tuple((name, (folder / name).stat().st_size) for name in names),
        sha256=sha256,
        facts=CheckFacts(prefix=prefix, outputs=outputs, precision=_precision(body, job.recipe)),
    )


def _precision(body: Graph, recipe: Recipe) -> Precision:
    operators = [name for name, _ in count_operators(body)]
    found = precision_of(operators, {constant.element_type for constant in body.initializers.values()})
    return looser(found, asked_precision(recipe))


def expected_outputs(source: Path, inputs: Iterable[Path], converter: Converter) -> dict[str, Any]:
    """What onnxruntime computes here of a model as it is, without optimizations. Raises onnxruntime's errors."""
    ort = runtime()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    for library, _ in converter.custom_ops:
        options.register_custom_ops_library(library)
    session = ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, _feeds(inputs)), strict=True))


def _feeds(files: Iterable[Path]) -> dict[str, Any]:
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    tensors = [onnx.TensorProto.FromString(path.read_bytes()) for path in files]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}


def _described(name: str, expected: Mapping[str, Any]) -> CheckedOutput:
    import numpy as np  # noqa: PLC0415

    value = expected.get(name)
    if value is None:
        return CheckedOutput(name=name, element_type="", why_not="is no output of the source")
    if not isinstance(value, np.ndarray):
        return CheckedOutput(name=name, element_type="", why_not="is no tensor")
    kind = str(value.dtype)
    if value.dtype.kind not in _COUNTED:
        return CheckedOutput(name=name, element_type=kind, why_not="holds no numbers that could be compared")
    if not value.size:
        return CheckedOutput(name=name, element_type=kind, why_not="has no elements")
    peak = float(np.max(np.abs(value.astype(np.float64))))
    if not np.isfinite(peak):
        return CheckedOutput(name=name, element_type=kind, why_not="is not finite in the source already")
    return CheckedOutput(name=name, element_type=kind, peak=peak)


def _body(job: CheckJob, scratch: Path) -> tuple[Any, Graph]:
    """The variant's graph to put tails on, and to hold the result against."""
    if job.recipe.format is ModelFormat.ONNX:
        model = parse(job.variant.read_bytes())
        return model, read_onnx(model, job.variant.parent)
    if job.variant.stat().st_size > MAX_BYTES:
        raise VariantError("over 2 GB: it can't be taken apart")
    plain = scratch / "plain.onnx"
    entries = {**_PLAIN, "session.save_model_format": "ONNX"}
    own = replace(job.converter, python="")  # this onnxruntime reads what any other has saved
    save(Saving(source=job.variant, target=plain, level="ORT_DISABLE_ALL", entries=entries), own)
    model = parse(plain.read_bytes())
    name_graphs(model.graph)
    return model, _read_ort(job.variant)


def _saved(job: CheckJob, model: Any, folder: Path, scratch: Path) -> tuple[Path, Graph]:
    if job.recipe.format is ModelFormat.ONNX:
        target = folder / "model.onnx"
        target.write_bytes(model.SerializeToString(deterministic=True))
        _bring([path for path in job.variant.parent.iterdir() if path != job.variant], folder)
        return target, read_onnx(parse(target.read_bytes()), folder)
    target = folder / "model.ort"
    changed = scratch / "tailed.onnx"
    changed.write_bytes(model.SerializeToString(deterministic=True))
    save(_saving(job.recipe, changed, target, records=bool(_read_ort(job.variant).records)), job.converter)
    return target, _read_ort(target)


def _saving(recipe: Recipe, source: Path, target: Path, *, records: bool) -> Saving:
    """How a body is saved as ORT format: with the recipe's own settings where that records optimizations, for they are
    lost in ONNX; else without any, which it has behind it."""
    if recipe.style is OptimizationStyle.RUNTIME and records:
        return saving_of(source, recipe, target)
    if records:
        raise VariantError("an .ort that somebody else saved optimizations in: they can't be kept")
    entries = {**_PLAIN, "session.save_model_format": "ORT"}
    return Saving(source=source, target=target, level="ORT_DISABLE_ALL", entries=entries)


def _read_ort(path: Path) -> Graph:
    with path.open("rb") as stream:
        return read_ort(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)).graph


def _bring(files: Sequence[Path], folder: Path) -> None:
    """External data beside the model: linked where that can be, as nothing on the shelf is ever written into."""
    for path in files:
        try:
            os.link(path, folder / path.name)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                (folder / path.name).unlink()
            shutil.copyfile(path, folder / path.name)


def without_tails(graph: Graph, prefix: str) -> Graph:
    """The graph without nodes that give values whose names begin with `prefix`, and what only they need.

    An output that made room for its tail is missing.
    """
    kept = [at for at, node in enumerate(graph.nodes) if not any(name.startswith(prefix) for name in node.outputs)]
    place = {old: new for new, old in enumerate(kept)}
    gone = {name for at, node in enumerate(graph.nodes) if at not in place for name in node.inputs}
    used = {name for at in kept for name in graph.nodes[at].inputs}
    return replace(
        graph,
        nodes=tuple(graph.nodes[at] for at in kept),
        outputs=tuple(port for port in graph.outputs if not port.name.startswith(prefix)),
        initializers={
            name: value
            for name, value in graph.initializers.items()
            if not name.startswith(prefix) and (name in used or name not in gone)
        },
        records=tuple(
            replace(one, nodes=tuple(None if at is None else place.get(at) for at in one.nodes))
            for one in graph.records
        ),
    )


def _mark(graph: Graph) -> str:
    return graph_digest(graph, "body", {})

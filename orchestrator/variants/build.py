"""Recipe × model → file, by onnxruntime's own sessions, in this process.

The settings are those of onnxruntime's own converter (`onnxruntime/tools/convert_onnx_models_to_ort.py`) without
`--target_platform`: CPU only, `session.qdqisint8allowed` 0, and from `layout` on the NchwcTransformer off, whose
result would run on the converting machine's kind of CPU only.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.errors import VariantError
from orchestrator.variants.converter import Converter, converter_version, installed, runtime_errors, runtime_words
from orchestrator.variants.dims import Dims
from orchestrator.variants.graph import count_operators, graph_digest
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.read_onnx import fix_dims, opsets_of, outside_tensors, parse, read_onnx
from orchestrator.variants.read_ort import read_ort
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.rules import too_large
from orchestrator.variants.saving import Saving, save

_LEVELS = {
    OptimizationLevel.DISABLE: "ORT_DISABLE_ALL",
    OptimizationLevel.BASIC: "ORT_ENABLE_BASIC",
    OptimizationLevel.EXTENDED: "ORT_ENABLE_EXTENDED",
    OptimizationLevel.LAYOUT: "ORT_ENABLE_LAYOUT",
    OptimizationLevel.ALL: "ORT_ENABLE_ALL",
}
_HOST_ONLY = {OptimizationLevel.LAYOUT: ("NchwcTransformer",), OptimizationLevel.ALL: ("NchwcTransformer",)}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build left in its folder: `main` is the model's file name, `files` all names below the folder (external
    data included) with their sizes in bytes."""

    main: str
    files: tuple[tuple[str, int], ...]
    sha256: str
    graph_digest: str
    operators_after: tuple[tuple[str, int], ...]
    ort_format: int | None


def build(
    source: Inspection, recipe: Recipe, dims: Dims, folder: Path, scratch: Path, converter: Converter | None = None
) -> Built:
    """Make the variant's files in `folder`; both folders exist and are empty, `scratch` is the caller's to throw away.

    ORT format is made by `converter`, the installed onnxruntime unless another is given.
    Raises VariantError where the recipe does not fit the source or onnxruntime refuses; files may be left then.
    """
    if not recipe.converts and recipe.format is not source.model.format:
        raise VariantError(f"{recipe.name}: {source.model.name} is in {source.model.format.value} format")
    if recipe.converts and source.model.format is ModelFormat.ORT:
        raise VariantError(f"{recipe.name}: the source is an .ort, which is kept as it is; start from the .onnx")
    if (reason := too_large(source.model, recipe)) is not None:
        raise VariantError(f"{recipe.name}: {reason}")
    try:
        if not recipe.converts:
            return _copy(source, dims, folder)
        return _convert(source, recipe, dims, folder, (scratch, converter or installed()))
    except VariantError as error:
        raise VariantError(f"{recipe.name}: {error}") from error
    except runtime_errors() as error:
        raise VariantError(f"{recipe.name}: onnxruntime {converter_version()}: {runtime_words(error)}") from error


def _convert(source: Inspection, recipe: Recipe, dims: Dims, folder: Path, tools: tuple[Path, Converter]) -> Built:
    scratch, converter = tools
    path = source.model.path
    if dims:
        path = scratch / "model.onnx"
        _save_changed(source, dims, path, os.link)
    target = folder / "model.ort"
    save(saving_of(path, recipe, target), converter)
    with target.open("rb") as stream:
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)  # a copy would be touched page by page
    file = read_ort(data)
    return Built(
        main=target.name,
        files=((target.name, len(data)),),
        sha256=hashlib.sha256(data).hexdigest(),
        graph_digest=graph_digest(file.graph, ModelFormat.ORT, file.opsets),
        operators_after=count_operators(file.graph),
        ort_format=file.ort_format,
    )


def saving_of(source: Path, recipe: Recipe, target: Path) -> Saving:
    """The session that makes `recipe`'s ORT format: the settings of onnxruntime's own converter."""
    level = recipe.level or OptimizationLevel.ALL
    entries = {
        "session.disable_prepacking": "1",  # for running, and nothing is run here
        "session.save_model_format": "ORT",
        "session.qdqisint8allowed": "1" if recipe.platform is TargetPlatform.ARM else "0",
    }
    if recipe.style is OptimizationStyle.RUNTIME:
        entries["optimization.minimal_build_optimizations"] = "apply" if recipe.applied else "save"
    nchwc = recipe.platform is TargetPlatform.AMD64
    disabled = () if nchwc else _HOST_ONLY.get(level, ())
    return Saving(source=source, target=target, level=_LEVELS[level], entries=entries, disabled=disabled)


def _copy(source: Inspection, dims: Dims, folder: Path) -> Built:
    """The source byte for byte where that will do: else with its dimensions fixed, or its external data flattened."""
    target = folder / f"model.{source.model.format.value}"
    names = flat_names(source.external)
    digest = source.graph_digest
    if dims or any(name != location for location, name in names.items()):
        digest = _save_changed(source, dims, target, shutil.copyfile)
    else:
        shutil.copyfile(source.model.path, target)
        _bring_external(source, folder, shutil.copyfile)
    with target.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return Built(
        main=target.name,
        files=tuple((name, (folder / name).stat().st_size) for name in (target.name, *names.values())),
        sha256=sha256,
        graph_digest=digest,
        operators_after=source.operators,
        ort_format=source.model.ort_format,
    )


def flat_names(locations: Sequence[str]) -> dict[str, str]:
    """A file name beside the model for each location of external data.

    Sub-folders are out, as perf_test takes every folder beside a model for a data set; so are odd characters, which
    would have to survive the way to a phone.
    """
    names: dict[str, str] = {}
    for at, location in enumerate(locations):
        plain = _PLAIN_NAME.fullmatch(location) and not location.startswith(("model.", "external_"))
        names[location] = location if plain else f"external_{at}.bin"
    return names


def _save_changed(source: Inspection, dims: Dims, target: Path, bring: Callable[[Path, Path], object]) -> str:
    """Save the source as ONNX with `dims` in place and its external data beside it; the changed graph's digest."""
    proto = parse(source.model.path.read_bytes())
    fix_dims(proto, dims)
    names = flat_names(source.external)
    for tensor in outside_tensors(proto):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = names[entry.value]
    target.write_bytes(proto.SerializeToString(deterministic=True))
    _bring_external(source, target.parent, bring)
    return graph_digest(read_onnx(proto, target.parent), ModelFormat.ONNX, opsets_of(proto))


def _bring_external(source: Inspection, folder: Path, bring: Callable[[Path, Path], object]) -> None:
    home = source.model.path.resolve().parent
    for location, name in flat_names(source.external).items():
        try:
            bring((home / location).resolve(), folder / name)
        except OSError:
            if bring is shutil.copyfile:
                raise
            shutil.copyfile(home / location, folder / name)  # another file system, or one without links

"""Recipe × model → file, in this process. What onnxruntime is asked for is in `sessions`."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from android_runner.ort import ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.aware import save_aware
from orchestrator.variants.changed import Changed, bring_external, save_with_dims, save_with_steps
from orchestrator.variants.converter import Converter, converter_version, installed, runtime_errors, runtime_words
from orchestrator.variants.custom_ops import missing_library
from orchestrator.variants.dims import Dims
from orchestrator.variants.graph import count_operators, graph_digest
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.naming import shown
from orchestrator.variants.read_ort import read_ort
from orchestrator.variants.recipe import Recipe
from orchestrator.variants.rules import too_large
from orchestrator.variants.saving import save
from orchestrator.variants.sessions import require_loadable, saving_of
from orchestrator.variants.steps.apply import Bench

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
    source: Inspection,
    recipe: Recipe,
    dims: Dims,
    folder: Path,
    scratch: Path,
    converter: Converter | None = None,
    samples: tuple[Path, ...] = (),
) -> Built:
    """Make the variant's files in `folder`; both folders exist and are empty, `scratch` is the caller's to throw away.

    ORT format is made by `converter`, the installed onnxruntime unless another is given; `samples` are folders with
    `input_<k>.pb`, for steps that calibrate.
    Raises VariantError where the recipe does not fit the source or onnxruntime refuses; files may be left then.
    """
    if not recipe.converts and recipe.format is not source.model.format:
        raise VariantError(f"{recipe.name}: {source.model.name} is in {source.model.format.value} format")
    if not recipe.copies and source.model.format is ModelFormat.ORT:
        raise VariantError(f"{recipe.name}: the source is an .ort, which is kept as it is; start from the .onnx")
    maker = converter or installed()
    if (reason := too_large(source.model, recipe)) is not None:
        raise VariantError(f"{recipe.name}: {reason}")
    bench = Bench(scratch=scratch, samples=samples, custom_ops=tuple(path for path, _ in maker.custom_ops))
    try:
        if not recipe.converts:
            return _onnx(source, recipe, dims, folder, bench)
        problem = missing_library(source, maker.custom_ops)
        if problem is not None:
            raise VariantError(f"{problem.what} ({problem.mend})")
        return _convert(source, recipe, dims, folder, (bench, maker))
    except VariantError as error:
        raise VariantError(f"{recipe.name}: {error}") from error
    except OSError as error:
        where = shown(str(error.filename2 or error.filename or source.model.path))
        raise VariantError(f"{recipe.name}: {where}: {error.strerror or error}") from error
    except runtime_errors() as error:
        raise VariantError(f"{recipe.name}: onnxruntime {converter_version()}: {runtime_words(error)}") from error


def _convert(source: Inspection, recipe: Recipe, dims: Dims, folder: Path, tools: tuple[Bench, Converter]) -> Built:
    bench, converter = tools
    path = source.model.path
    if recipe.steps:
        path = bench.scratch / "model.onnx"
        save_with_steps(source, dims, recipe.steps, path, bench)
    elif dims:
        path = bench.scratch / "model.onnx"
        save_with_dims(source, dims, flat_names(source.external), path, os.link)
    target = folder / "model.ort"
    if recipe.nnapi_api is None:
        save(saving_of(path, recipe, target), converter)
    else:
        save_aware(path, recipe, target, bench.scratch, converter)
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


def _onnx(source: Inspection, recipe: Recipe, dims: Dims, folder: Path, bench: Bench) -> Built:
    """The source byte for byte where that will do: else with its dimensions fixed, its external data flattened, its
    steps done."""
    target = folder / f"model.{source.model.format.value}"
    names = flat_names(source.external)
    if recipe.steps:
        made = save_with_steps(source, dims, recipe.steps, target, bench)
        require_loadable(target, bench.custom_ops)
    elif dims or any(name != location for location, name in names.items()):
        made = save_with_dims(source, dims, names, target, shutil.copyfile)
    else:
        shutil.copyfile(source.model.path, target)
        bring_external(source, names, folder, shutil.copyfile)
        files = (target.name, *names.values())
        made = Changed(graph_digest=source.graph_digest, operators=source.operators, files=files)
    with target.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return Built(
        main=target.name,
        files=tuple((name, (folder / name).stat().st_size) for name in made.files),
        sha256=sha256,
        graph_digest=made.graph_digest,
        operators_after=made.operators,
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

"""`orch model ship`: what an app team puts into its app and its build of onnxruntime."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from android_runner.ort import REPLAY_KEY, ModelFormat, OptimizationLevel, OptimizationStyle
from orchestrator import __version__
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.modelling import Made, build_all
from orchestrator.app.reduced import counted, why_lacking
from orchestrator.app.wish import RunOptions
from orchestrator.digest import digest_of_file
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.home import Home
from orchestrator.variants.converters import chosen, registered
from orchestrator.variants.kernels import config_text, kernel_recipes, read_build_config
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.rules import first_reader
from orchestrator.variants.shelf import Shelf, build_variants

MANIFEST = "manifest.json"
FORM = 1
"""Counts up when the manifest's fields change their meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipOrder:
    """What is to be shipped, as it was typed: of `asked` what is about models, converter and build configuration."""

    asked: RunOptions
    recipes: Sequence[str]
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """What lies in the folder: the manifest's data, and each file's name (the manifest and configuration last)."""

    folder: Path
    manifest: dict[str, Any]
    files: tuple[str, ...]


def ship(order: ShipOrder, home: Home) -> Shipped:
    """Build, and put variants, configuration and manifest into a folder: all of it or nothing.

    Raises UsageError for a variant that can't be built or that the build's configuration has not the kernels for.
    """
    made = build_all(order.asked, order.recipes, home)
    lost = [Problem(f"{one.model}: {one.recipe}", one.reason) for one in made if one.variant is None]
    if lost:
        raise UsageError(*lost)
    variants = list({one.variant.variant_id: one.variant for one in made if one.variant is not None}.values())
    names = _names(variants)
    kernels = _kernels(variants, Shelf(home.shelf), order, home)
    _refuse_lacking(kernels, order)
    config_name = _config_name(variants)
    text = ""
    if kernels:
        try:
            text = config_text([one for owner, group in kernels.items() for one in counted(group, names[owner])])
        except VariantError as error:
            raise UsageError(Problem("ship", str(error), "give the model to the project as a sample")) from error
    manifest = {
        "form": FORM,
        "orch": __version__,
        "models": [_entry(one, names[one.variant_id], made) for one in variants],
        "required_operators": config_name if text else None,
        "notes": list(_notes(variants)),
    }
    return _put(order.folder, variants, names, {**({config_name: text} if text else {}), MANIFEST: manifest})


def _names(variants: Sequence[Variant]) -> dict[str, str]:
    """Each variant's file in the folder. Raises UsageError where two would have one."""
    names: dict[str, str] = {}
    for one in variants:
        name = shipped_name(one.model.name, one.recipe)
        names[one.variant_id] = f"{one.model.name}/{name}" if one.external else name
    twice = {name for name in names.values() if list(names.values()).count(name) > 1}
    if twice:
        raise UsageError(
            *(Problem("ship", f"two variants would be named {name}", "ship them into two folders") for name in twice)
        )
    return names


def suffix_of(recipe: Recipe) -> str:
    """`.basic.with_runtime_opt`: how onnxruntime's converter tells level and style, empty for `all`; then what it
    has no word for."""
    words = []
    if recipe.nnapi_api is not None:
        words.append(recipe.base)
    elif recipe.level is not None and recipe.level is not OptimizationLevel.ALL:
        words.append(recipe.level.value)
    if recipe.style is OptimizationStyle.RUNTIME:
        words.append("with_runtime_opt")
    words += [*recipe.steps, *([recipe.platform.value] if recipe.platform is not None else [])]
    return "".join(f".{word}" for word in words)


def shipped_name(model: str, recipe: Recipe) -> str:
    """`mnist.basic.ort`, `mnist.with_runtime_opt.ort`, `mnist.onnx`: as onnxruntime's own converter names them."""
    return f"{model}{suffix_of(recipe)}.{recipe.format.value}"


def _config_name(variants: Sequence[Variant]) -> str:
    """As the converter names it: for one model after it, for several after level and style only."""
    suffixes = {suffix_of(one.recipe) for one in variants}
    name = f"required_operators_and_types{suffixes.pop() if len(suffixes) == 1 else ''}.config"
    models = {one.model.name for one in variants}
    return f"{models.pop()}.{name}" if len(models) == 1 else name


def _kernels(variants: Sequence[Variant], shelf: Shelf, order: ShipOrder, home: Home) -> dict[str, list[Variant]]:
    """By variant id the ORT format files that tell which kernels it needs.

    None for `.onnx`: a build with fewer operators is for ORT format. Raises UsageError.
    """
    ort = [one for one in variants if one.recipe.format is ModelFormat.ORT]
    operators = custom_ops(order.asked.custom_ops).host
    maker = replace(chosen(registered(home.converters), None, order.asked.converter), custom_ops=operators)
    asked = [(one, (one.model, recipe, one.dims)) for one in ort for recipe in kernel_recipes(one.recipe)]
    built = build_variants([request for _, request in asked], shelf, converter=maker)
    lost = [one for one in built if isinstance(one, VariantError)]
    if lost:
        raise UsageError(*(Problem("ship", f"which kernels it needs can't be told: {one}") for one in lost))
    found: dict[str, list[Variant]] = {one.variant_id: [] for one in ort}
    for (owner, _), result in zip(asked, built, strict=True):
        if isinstance(result, Variant):
            found[owner.variant_id].append(result)
    return found


def _refuse_lacking(kernels: dict[str, list[Variant]], order: ShipOrder) -> None:
    if not order.asked.build_config:
        return
    config = read_build_config(Path(order.asked.build_config))
    problems = []
    for group in kernels.values():
        reason = why_lacking(config, group)
        if reason is not None:
            where = f"{group[0].model.name}: {group[0].recipe.name}"
            mend = "build onnxruntime with the configuration that ship writes without --build-config"
            problems.append(Problem(where, reason, mend))
    if problems:
        raise UsageError(*problems)


def _entry(one: Variant, name: str, made: Sequence[Made]) -> dict[str, Any]:
    folder = Path(name).parent
    files = [{"file": name, "size_bytes": one.path.stat().st_size, "sha256": one.sha256}]
    for beside, sha256 in one.external:
        size = (one.path.parent / beside).stat().st_size
        digest = sha256 or digest_of_file(one.path.parent / beside)
        files.append({"file": str(folder / beside), "size_bytes": size, "sha256": digest})
    return {
        "model": one.model.name,
        "source": {"file": one.model.path.name, "digest": one.model.digest},
        "recipe": one.recipe.name,
        "dims": dict(one.dims),
        "files": files,
        "size_bytes": one.size_bytes,
        "format": one.recipe.format.value,
        "ort_format": one.ort_format,
        "loaded_by": None if one.ort_format is None else f"onnxruntime {first_reader(one.ort_format)} and later",
        "converter": f"onnxruntime {one.converter_version}" if one.converter_version else None,
        "variant": one.variant_id,
        "graph_digest": one.graph_digest,
        "operators": dict(one.operators_after),
        "same_graph_as": [
            other.recipe
            for other in made
            if other.variant is not None
            and other.variant.variant_id != one.variant_id
            and (other.variant.graph_digest, other.model) == (one.graph_digest, one.model.name)
        ],
    }


def _notes(variants: Sequence[Variant]) -> Iterator[str]:
    if any(one.recipe.style is OptimizationStyle.RUNTIME for one in variants):
        yield f"runtime style: from onnxruntime 1.30 on set {REPLAY_KEY} to 1, or nothing that was saved is applied"
    if any(one.recipe.format is ModelFormat.ONNX for one in variants):
        yield "a minimal build loads no .onnx: the required operators are those of the .ort files alone"
    if any(one.recipe.platform is not None for one in variants):
        yield "made for one kind of CPU: " + ", ".join(
            f"{one.model.name} {one.recipe.name}" for one in variants if one.recipe.platform is not None
        )


def _put(
    folder: Path, variants: Sequence[Variant], names: dict[str, str], written: dict[str, str | dict[str, Any]]
) -> Shipped:
    """Make everything in a folder beside the others, then move it in: a full disk leaves what lay there before.

    Raises UsageError.
    """
    files: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".ship-", dir=folder) as part:
            for one in variants:
                files += _copied(one, Path(part), names[one.variant_id])
            for name, content in written.items():
                text = content if isinstance(content, str) else json.dumps(content, indent=1) + "\n"
                (Path(part) / name).write_text(text, encoding="utf-8")
                files.append(name)
            for name in files:
                (folder / name).parent.mkdir(exist_ok=True)
                os.replace(Path(part) / name, folder / name)
    except OSError as error:
        what = f"can't be written: {error.strerror or error}"
        raise UsageError(Problem(str(folder), what, "give a folder with room after -o")) from error
    manifest = written[MANIFEST]
    assert isinstance(manifest, dict)
    return Shipped(folder=folder, manifest=manifest, files=tuple(files))


def _copied(one: Variant, part: Path, name: str) -> list[str]:
    """Copy a variant and its external data, and check the bytes. Raises OSError, also for bytes that are others."""
    target = part / name
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(one.path, target)
    if digest_of_file(target) != one.sha256:
        raise OSError(f"{one.path.name} on the shelf is not what was built: remove the shelf")
    beside = [Path(name).parent / other for other, _ in one.external]
    for other in beside:
        shutil.copyfile(one.path.parent / other.name, part / other)
    return [name, *map(str, beside)]

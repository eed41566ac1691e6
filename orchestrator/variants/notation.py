"""Pure: this package's nouns as plain JSON data, and back. Reading raises KeyError, TypeError or ValueError where the
data is not what was written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.digest import canonical
from orchestrator.variants.converter import Converter
from orchestrator.variants.dims import Dims
from orchestrator.variants.feeds import Feed, Role
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.recipe import Calibration, Model, Recipe, Tensor, Variant

Plain = dict[str, Any]


def recipe_to_plain(recipe: Recipe) -> Plain:
    """A recipe by its words; those that it does not have are left out, as identities are made of this."""
    plain: Plain = {"format": recipe.format.value, "level": canonical(recipe.level), "style": canonical(recipe.style)}
    if recipe.platform is not None:
        plain["platform"] = recipe.platform.value
    if recipe.applied:
        plain["applied"] = True
    if recipe.steps:
        plain["steps"] = list(recipe.steps)
    if recipe.nnapi_api is not None:
        plain["nnapi_api"] = recipe.nnapi_api
    if recipe.calibration is not None:
        plain["calibration"] = canonical(recipe.calibration)
    return plain


def recipe_from_plain(data: Mapping[str, Any]) -> Recipe:
    """The inverse of `recipe_to_plain`."""
    level, style, platform, calibration = data["level"], data["style"], data.get("platform"), data.get("calibration")
    return Recipe(
        format=ModelFormat(data["format"]),
        level=None if level is None else OptimizationLevel(level),
        style=None if style is None else OptimizationStyle(style),
        platform=None if platform is None else TargetPlatform(platform),
        applied=bool(data.get("applied", False)),
        steps=tuple(str(step) for step in data.get("steps", ())),
        nnapi_api=data.get("nnapi_api"),
        calibration=None
        if calibration is None
        else Calibration(digests=tuple(calibration["digests"]), random=bool(calibration["random"])),
    )


def converter_to_plain(converter: Converter) -> Plain:
    """A converter for a worker."""
    return {name: canonical(getattr(converter, name)) for name in converter.__slots__}


def converter_from_plain(data: Mapping[str, Any]) -> Converter:
    """The inverse of `converter_to_plain`."""
    libraries = tuple((str(path), str(sha256)) for path, sha256 in data["custom_ops"])
    return Converter(version=str(data["version"]), python=str(data["python"]), custom_ops=libraries)


def inspection_to_plain(found: Inspection) -> Plain:
    """What was learned of a model, without its path and name: the same bytes may lie under several."""
    model = {
        key: canonical(getattr(found.model, key))
        for key in (
            "format", "digest", "ir_version", "opset", "inputs", "outputs", "node_count", "size_bytes", "ort_format"
        )
    }  # fmt: skip
    return {
        "model": model,
        "operators": canonical(found.operators),
        "graph_digest": found.graph_digest,
        "feeds": canonical(found.feeds),
        "external": list(found.external),
    }


def inspection_from_plain(data: Mapping[str, Any], path: Path, name: str) -> Inspection:
    """The inverse of `inspection_to_plain`, for the model as it lies at `path`."""
    model = data["model"]
    return Inspection(
        model=Model(
            name=name,
            path=path,
            format=ModelFormat(model["format"]),
            digest=str(model["digest"]),
            ir_version=int(model["ir_version"]),
            opset=int(model["opset"]),
            inputs=_tensors(model["inputs"]),
            outputs=_tensors(model["outputs"]),
            node_count=int(model["node_count"]),
            size_bytes=int(model["size_bytes"]),
            ort_format=model["ort_format"],
        ),
        operators=counts_from_plain(data["operators"]),
        graph_digest=str(data["graph_digest"]),
        feeds=tuple(Feed(item["name"], Role(item["role"]), item["limit"]) for item in data["feeds"]),
        external=tuple(data["external"]),
    )


def _tensors(items: list[Mapping[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(name=item["name"], element_type=item["element_type"], shape=tuple(item["shape"])) for item in items
    )


def counts_from_plain(items: list[list[Any]]) -> tuple[tuple[str, int], ...]:
    """Pairs of a name and a number."""
    return tuple((str(name), int(number)) for name, number in items)


def variant_from_plain(data: Mapping[str, Any], folder: Path, model: Model) -> Variant:
    """A shelf entry (`shelf.Shelf.put` writes it) as a variant of `model`; its files lie in `folder`."""
    return Variant(
        variant_id=str(data["variant_id"]),
        model=model,
        recipe=recipe_from_plain(data["recipe"]),
        dims=counts_from_plain(data["dims"]),
        converter_version=str(data["converter_version"]),
        path=folder / data["main"],
        size_bytes=sum(int(size) for _, size in data["files"]),
        sha256=str(data["sha256"]),
        graph_digest=str(data["graph_digest"]),
        operators_before=counts_from_plain(data["operators_before"]),
        operators_after=counts_from_plain(data["operators_after"]),
        ort_format=data["ort_format"],
        build_s=float(data["build_ms"]) / 1000,
        external=tuple((str(name), str(sha256)) for name, sha256 in data.get("external") or _beside(data)),
    )


def _beside(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """External data of an entry that was written before its digests were kept: whoever needs them hashes the files."""
    return [(name, "") for name, _ in data["files"] if name != data["main"]]


def dims_to_plain(dims: Dims) -> list[list[Any]]:
    """Dimensions as a list of pairs."""
    return [[name, number] for name, number in dims]

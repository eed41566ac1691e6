"""Check variants, kept on a shelf of their own in `<shelf>/checks`, under the digest of what was asked.

Workers make them, as they make variants; what is kept is found without onnx or onnxruntime being imported.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from orchestrator.digest import digest_of
from orchestrator.errors import StoreError, VariantError
from orchestrator.variants import notation
from orchestrator.variants.converter import Converter, converter_version, installed
from orchestrator.variants.crew import do_jobs
from orchestrator.variants.recipe import InputSet, Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tolerance import Precision
from orchestrator.variants.verify_build import CheckJob, build_check
from orchestrator.variants.verify_variant import CheckedOutput, CheckFacts, CheckVariant

RULES = 1
"""Counts up when the same variant gets another tail."""
_BAD_ENTRY = (OSError, ValueError, KeyError, TypeError)

Asked = tuple[Variant, InputSet]
"""A variant, and the inputs of its model in the run."""


def check_variants(
    asked: Sequence[Asked], shelf: Shelf, converters: Sequence[Converter] = ()
) -> dict[str, CheckVariant | VariantError]:
    """By variant id its check variant, or why there is none.

    ORT format is saved by the one of `converters` that has the variant's version, else by the installed onnxruntime.
    Their custom operators are known to what computes what is expected, too.
    """
    own = _shelf_of(shelf)
    ids = {variant.variant_id: check_id_of(variant, inputs) for variant, inputs in asked}
    makers = {one.version: one for one in reversed(converters)}
    jobs = {
        ids[variant.variant_id]: _job(variant, inputs, shelf, makers)
        for variant, inputs in asked
        if _find(own, ids[variant.variant_id]) is None
    }
    if jobs:
        own.sweep()
    with contextlib.closing(do_jobs(jobs, os.cpu_count() or 1)) as outcomes:
        problems = {check_id: error for check_id, error in outcomes if error is not None}
    lost = "not on the shelf although it was just built"
    return {
        variant_id: _find(own, check_id) or VariantError(problems.get(check_id, lost))
        for variant_id, check_id in ids.items()
    }


def kept_check(shelf: Shelf, check_id: str) -> CheckVariant:
    """A check variant by its id. Raises StoreError where it is gone or damaged."""
    found = _find(_shelf_of(shelf), check_id)
    if found is None:
        raise StoreError(f"check variant {check_id[:12]} is not on the shelf in {shelf.root}: run the plan anew")
    return found


def check_id_of(variant: Variant, inputs: InputSet) -> str:
    """The digest of what is asked; what is expected is computed by the installed onnxruntime."""
    return digest_of([RULES, variant.variant_id, variant.model.digest, inputs.digest, converter_version()])


def do_verify(job: Mapping[str, Any]) -> None:
    """A worker's job: make one check variant, unless it got onto the shelf meanwhile. Raises VariantError, OSError."""
    shelf = Shelf(Path(job["shelf"]))
    own, check_id = _shelf_of(shelf), str(job["verify"])
    source = shelf.inspect(Path(job["source"]))
    if source.model.digest != job["digest"]:
        raise VariantError(f"{source.model.name} has changed since it was read")
    asked = CheckJob(
        source=Path(job["source"]),
        inputs=tuple(map(Path, job["inputs"])),
        variant=Path(job["variant"]),
        recipe=notation.recipe_from_plain(job["recipe"]),
        converter=notation.converter_from_plain(job["converter"]),
    )
    with own.building(check_id) as work:
        if _find(own, check_id) is not None:
            return
        for name in ("files", "scratch"):
            (work / name).mkdir()
        built = build_check(asked, work / "files", work / "scratch")
        facts = replace(built.facts, check_id=check_id)
        entry = {
            "variant_id": check_id,
            "main": built.main,
            "files": [list(one) for one in built.files],
            "sha256": built.sha256,
            "facts": asdict(facts),
        }
        own.put(work, entry)


def _shelf_of(shelf: Shelf) -> Shelf:
    return Shelf(shelf.root / "checks")


def _job(variant: Variant, inputs: InputSet, shelf: Shelf, makers: Mapping[str, Converter]) -> dict[str, Any]:
    own = installed()
    converter = makers.get(variant.converter_version) or makers.get(own.version) or own
    return {
        "verify": check_id_of(variant, inputs),
        "shelf": os.fspath(shelf.root.absolute()),
        "source": os.fspath(variant.model.path.absolute()),
        "digest": variant.model.digest,
        "inputs": [os.fspath((inputs.directory / name).absolute()) for name in inputs.files],
        "variant": os.fspath(variant.path.absolute()),
        "recipe": notation.recipe_to_plain(variant.recipe),
        "converter": notation.converter_to_plain(converter),
    }


def _find(own: Shelf, check_id: str) -> CheckVariant | None:
    folder = own.root / "variants" / check_id
    try:
        data = json.loads((folder / "variant.json").read_bytes())
        files = {str(name): int(size) for name, size in data["files"]}
        if any((folder / "files" / name).stat().st_size != size for name, size in files.items()):
            return None
        outputs = tuple(CheckedOutput(**one) for one in data["facts"]["outputs"])
        return CheckVariant(
            facts=CheckFacts(
                **{**data["facts"], "outputs": outputs, "precision": Precision(data["facts"]["precision"])}
            ),
            path=folder / "files" / str(data["main"]),
            sha256=str(data["sha256"]),
            size_bytes=sum(files.values()),
            external=tuple((name, "") for name in files if name != data["main"]),
        )
    except _BAD_ENTRY:
        return None

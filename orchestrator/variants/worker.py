"""A process that builds, describes and compares variants: one JSON job a line on stdin, one JSON answer on stdout.

It says `{}` once when it takes jobs.

A process of its own because onnxruntime may crash or be killed over one model, which must cost that variant only; it
serves many jobs, since its imports take longer than most builds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from orchestrator.digest import canonical, digest_of_file
from orchestrator.errors import FarmError, VariantError
from orchestrator.variants import notation
from orchestrator.variants.build import build
from orchestrator.variants.claim_shelf import do_claim_graph
from orchestrator.variants.converter import converter_version, runtime
from orchestrator.variants.shelf import Shelf, variant_id_of


def main() -> None:
    """Serve jobs until stdin ends. What onnxruntime prints goes to stderr, answers alone to stdout."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import onnx  # noqa: F401, PLC0415 - every job needs both; here they load while the first is being decided

    runtime()
    answers.write("{}\n")  # ready
    answers.flush()
    serve(sys.stdin, answers)


def serve(jobs: TextIO, answers: TextIO) -> None:
    """Answer each job line with `{"error": null}` or `{"error": "why"}`."""
    for line in jobs:
        try:
            job = json.loads(line)
            _kind(job)(job)
            error = None
        except (FarmError, OSError) as problem:
            error = str(problem) or type(problem).__name__
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()


def _kind(job: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """What does a job: describe a variant's graph, compare, check or verify, or build a variant."""
    if "check" in job:
        from orchestrator.variants.check_job import do_check  # noqa: PLC0415 - its imports would slow every build

        return do_check
    if "compare" in job:
        from orchestrator.variants.numerics_shelf import do_compare  # noqa: PLC0415 - as above

        return do_compare
    if "verify" in job:
        from orchestrator.variants.verify_shelf import do_verify  # noqa: PLC0415 - few runs ask for it

        return do_verify
    return do_claim_graph if "claim_graph" in job else do


def do(job: Mapping[str, Any]) -> None:
    """Build one variant and put it on the shelf, unless it got there meanwhile.

    Raises VariantError, UsageError where the source can't be used any more, OSError where the shelf can't be written.
    """
    shelf = Shelf(Path(job["shelf"]))
    recipe = notation.recipe_from_plain(job["recipe"])
    dims = notation.counts_from_plain(job["dims"])
    source = shelf.inspect(Path(job["path"]))
    if source.model.digest != job["digest"]:
        raise VariantError(f"{source.model.name} has changed since it was read")
    converter = notation.converter_from_plain(job["converter"])
    on_our_own = recipe.steps or (recipe.converts and not converter.python)
    if on_our_own and runtime().__version__ != converter_version():
        raise VariantError(
            f"onnxruntime says {runtime().__version__}, its package {converter_version()}: install again"
        )
    variant_id = variant_id_of(source.model, recipe, dims, converter)
    with shelf.building(variant_id) as work:
        if shelf.find(source.model, recipe, dims, converter) is not None:
            return
        for name in ("files", "scratch"):
            (work / name).mkdir()
        samples = tuple(map(Path, job.get("samples", ())))
        started_s = time.monotonic()
        built = build(source, recipe, dims, work / "files", work / "scratch", converter, samples)
        entry = {
            "variant_id": variant_id,
            "model_digest": source.model.digest,
            "model_name": source.model.name,
            "model_path": str(source.model.path),
            "recipe": notation.recipe_to_plain(recipe),
            "dims": notation.dims_to_plain(dims),
            "converter_version": "" if recipe.copies else converter.version,
            "operators_before": canonical(source.operators),
            "build_ms": round((time.monotonic() - started_s) * 1000),
            "external": [
                [name, digest_of_file(work / "files" / name)] for name, _ in built.files if name != built.main
            ],
            **{key: canonical(getattr(built, key)) for key in built.__slots__},
        }
        shelf.put(work, entry)


if __name__ == "__main__":
    main()

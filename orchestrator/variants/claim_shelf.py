"""The graphs of variants as NNAPI's claim rules see them, kept on the shelf.

They lie in `<shelf>/graphs`, named after format and the file's digest: twins have equal graphs, but a trace is matched
by the names of nodes, which may differ. The workers that build variants make them, when somebody asks.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from android_runner.nnapi.graph import Graph
from android_runner.nnapi.notation import graph_from_text, graph_to_text
from android_runner.ort import ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.claim_graph import claim_graph, written_graph
from orchestrator.variants.crew import do_jobs
from orchestrator.variants.recipe import Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.whole_files import write_whole

RULES = 3
"""Counts up when the same file is described in another way."""


def claim_graphs(
    variants: Sequence[Variant], shelf: Shelf, custom_ops: Sequence[str] = ()
) -> dict[str, str | VariantError]:
    """By variant id the graph as `android_runner.nnapi.notation` writes it, or why there is none.

    `custom_ops` are libraries, for this host, of operators that the variants may have.
    """
    places = {variant.variant_id: _place(variant, shelf) for variant in variants}
    jobs = {
        str(places[variant.variant_id]): {
            "claim_graph": os.fspath(places[variant.variant_id].absolute()),
            "path": os.fspath(variant.path.absolute()),
            "format": variant.recipe.format.value,
            "custom_ops": list(custom_ops),
        }
        for variant in variants
        if not places[variant.variant_id].is_file()
    }
    problems: dict[str, str] = {}
    with contextlib.closing(do_jobs(jobs, os.cpu_count() or 1)) as outcomes:
        problems = {place: error for place, error in outcomes if error is not None}
    found: dict[str, str | VariantError] = {}
    for variant_id, place in places.items():
        try:
            found[variant_id] = place.read_text(encoding="utf-8")
        except OSError as error:
            found[variant_id] = VariantError(problems.get(str(place), str(error)))
    return found


@dataclass(frozen=True, slots=True)
class GraphWanted:
    """A model file to be described: as its runtime asks NNAPI about it, or `as_written`."""

    path: Path
    format: ModelFormat
    as_written: bool


def graphs_of(wanted: Sequence[GraphWanted], custom_ops: Sequence[str] = ()) -> list[Graph | VariantError]:
    """The graph of each file under its own names, in order; nothing is kept, as twins differ in names.

    `custom_ops` as for `claim_graphs`.
    """
    with tempfile.TemporaryDirectory(prefix="orch-graphs-") as folder:
        places = {one: Path(folder) / f"{at}.json" for at, one in enumerate(dict.fromkeys(wanted))}
        jobs = {
            str(place): {
                "claim_graph": str(place),
                "path": os.fspath(one.path.absolute()),
                "format": one.format.value,
                "as_written": one.as_written,
                "custom_ops": list(custom_ops),
            }
            for one, place in places.items()
        }
        with contextlib.closing(do_jobs(jobs, os.cpu_count() or 1)) as outcomes:
            problems = dict(outcomes)
        return [_graph_at(places[one], problems.get(str(places[one]))) for one in wanted]


def _graph_at(place: Path, problem: str | None) -> Graph | VariantError:
    try:
        return VariantError(problem) if problem else graph_from_text(place.read_bytes())
    except (OSError, ValueError) as error:
        return VariantError(str(error))


def do_claim_graph(job: Mapping[str, Any]) -> None:
    """A worker's job: describe one variant's file. Raises VariantError, OSError."""
    describe = written_graph if job.get("as_written") else claim_graph
    graph = describe(Path(job["path"]), ModelFormat(job["format"]), job["custom_ops"])
    write_whole(Path(job["claim_graph"]), graph_to_text(graph))


def _place(variant: Variant, shelf: Shelf) -> Path:
    return shelf.root / "graphs" / f"{variant.recipe.format.value}-{variant.sha256}-{RULES}.json"

"""How far variants are from their sources, kept on the shelf.

The figures lie in `<shelf>/numerics`, named after source, format, graph digest, inputs and onnxruntime's version, so
that twins share one. Workers compute them, a source once for all of its variants.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from android_runner.ort import ModelFormat
from orchestrator.digest import digest_of
from orchestrator.errors import FarmError, VariantError
from orchestrator.variants.converter import converter_version
from orchestrator.variants.crew import do_jobs
from orchestrator.variants.numerics import Runnable, compared, outputs_of
from orchestrator.variants.recipe import InputSet, Variant
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tolerance import Numerics, OutputError, Precision, asked_precision
from orchestrator.variants.whole_files import write_json

RULES = 1
"""Counts up when the same files are compared in another way."""

Pair = tuple[Variant, InputSet]
"""A variant, and the inputs of its model."""


@dataclass(frozen=True, slots=True)
class _How:
    shelf: Shelf
    processes: int
    idle: bool
    custom_ops: tuple[str, ...]


def known_numerics(pairs: Sequence[Pair], shelf: Shelf) -> dict[str, Numerics]:
    """By variant id what is known already, nothing computed: onnxruntime is not imported."""
    found = ((variant.variant_id, _known(variant, inputs, shelf)) for variant, inputs in pairs)
    return {variant_id: numerics for variant_id, numerics in found if numerics is not None}


def numerics_of(
    pairs: Sequence[Pair], shelf: Shelf, *, processes: int = 1, idle: bool = False, custom_ops: Sequence[str] = ()
) -> Generator[tuple[str, Numerics], None, None]:
    """Each variant's id with its figures, as they come: those on the shelf first, the rest by workers.

    What can't be compared says why in `Numerics.unknown`; such an answer is not kept. A worker that dies over several
    variants is followed by one for each. `custom_ops` are libraries, for this host, of operators that models may have.
    Closing the iterator ends the workers.
    """
    known = known_numerics(pairs, shelf)
    yield from known.items()
    missing: dict[Path, list[Pair]] = {}
    for variant, inputs in pairs:
        if variant.variant_id not in known:
            missing.setdefault(_place(variant, inputs, shelf), []).append((variant, inputs))
    groups: dict[tuple[str, str], list[Path]] = {}
    for place, twins in missing.items():
        variant, inputs = twins[0]
        groups.setdefault((variant.model.digest, inputs.digest), []).append(place)
    together = [places for places in groups.values() if len(places) > 1]
    alone = [places for places in groups.values() if len(places) == 1]
    for place in missing:
        _forget(place)
    how = _How(shelf, processes, idle, tuple(custom_ops))
    died: list[list[Path]] = []
    for places, error in _compared([*together, *alone], missing, how):
        lost = [place for place in places if error is not None and len(places) > 1 and _read(place) is None]
        died += [[place] for place in lost]
        yield from _told([place for place in places if place not in lost], missing, error)
    for places, error in _compared(died, missing, how):
        yield from _told(places, missing, error)


def _known(variant: Variant, inputs: InputSet, shelf: Shelf) -> Numerics | None:
    if variant.sha256 == variant.model.digest:
        return Numerics(inputs=inputs.digest, runtime=converter_version(), untouched=True)
    found = _read(_place(variant, inputs, shelf))
    return None if found is None or found.unknown else found


def _forget(place: Path) -> None:
    """Clear an answer away that says nothing, so that a dead worker does not seem to give it again."""
    found = _read(place)
    if found is not None and found.unknown:
        place.unlink(missing_ok=True)


def _told(
    places: Sequence[Path], missing: Mapping[Path, Sequence[Pair]], error: str | None
) -> Iterator[tuple[str, Numerics]]:
    """What lies at the places, for every twin; where nothing does, `error` is the answer."""
    for place in places:
        found = _read(place)
        for variant, inputs in missing[place]:
            yield variant.variant_id, found or _unknown(inputs.digest, error or "nothing was computed")


def _unknown(inputs: str, why: str) -> Numerics:
    return Numerics(inputs=inputs, runtime=converter_version(), unknown=why)


def _compared(
    groups: Sequence[Sequence[Path]],
    missing: Mapping[Path, Sequence[Pair]],
    how: _How,
) -> Iterator[tuple[Sequence[Path], str | None]]:
    """Have each group compared by one worker, the largest models last: their answers are waited for longest."""
    by_id = {str(places[0]): places for places in groups}
    order = sorted(by_id, key=lambda job: missing[by_id[job][0]][0][0].model.size_bytes)
    jobs = {job: _job([(place, missing[place][0]) for place in by_id[job]], how) for job in order}
    with contextlib.closing(do_jobs(jobs, how.processes, idle=how.idle)) as outcomes:
        for job, error in outcomes:
            yield by_id[job], error


def _job(members: Sequence[tuple[Path, Pair]], how: _How) -> dict[str, Any]:
    model, inputs = members[0][1][0].model, members[0][1][1]
    return {
        "compare": [
            {
                "place": str(place.absolute()),
                "path": str(variant.path.absolute()),
                "format": variant.recipe.format.value,
                "operators": [name for name, _ in variant.operators_after],
                "precision": asked_precision(variant.recipe).value,
            }
            for place, (variant, _) in members
        ],
        "shelf": str(how.shelf.root.absolute()),
        "custom_ops": list(how.custom_ops),
        "source": str(model.path.absolute()),
        "digest": model.digest,
        "inputs": inputs.digest,
        "files": [str((inputs.directory / name).absolute()) for name in inputs.files],
    }


def do_compare(job: Mapping[str, Any]) -> None:
    """A worker's job: compare variants with their source and write down what came of each. Raises OSError."""
    files = [Path(one) for one in job["files"]]
    custom_ops = tuple(job["custom_ops"])
    try:
        found = Shelf(Path(job["shelf"])).inspect(Path(job["source"]))
        if found.model.digest != job["digest"]:
            raise VariantError(f"{found.model.name} has changed since it was read")
        operators = tuple(name for name, _ in found.operators)
        source = Runnable(found.model.path, found.model.format, operators, custom_ops=custom_ops)
        wanted = outputs_of(source, files)
    except (FarmError, OSError) as error:
        for one in job["compare"]:
            _write(Path(one["place"]), _unknown(job["inputs"], str(error)))
        return
    for one in job["compare"]:
        variant = Runnable(
            Path(one["path"]),
            ModelFormat(one["format"]),
            tuple(one["operators"]),
            Precision(one["precision"]),
            custom_ops,
        )
        try:
            numerics = compared(source, wanted, variant, files, job["inputs"])
        except (VariantError, ValueError) as error:
            numerics = _unknown(job["inputs"], str(error))
        _write(Path(one["place"]), numerics)


def _place(variant: Variant, inputs: InputSet, shelf: Shelf) -> Path:
    asked = [
        RULES, variant.model.digest, variant.recipe.format.value, variant.graph_digest, inputs.digest,
        asked_precision(variant.recipe).value, converter_version(),
    ]  # fmt: skip
    return shelf.root / "numerics" / f"{digest_of(asked)}.json"


def _write(place: Path, numerics: Numerics) -> None:
    write_json(place, asdict(numerics))


def _read(place: Path) -> Numerics | None:
    try:
        data = json.loads(place.read_bytes())
        outputs = tuple(OutputError(**one) for one in data["outputs"])
        return Numerics(**{**data, "precision": Precision(data["precision"]), "outputs": outputs})
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""Built variants, kept under the digest of what was asked.

    <shelf>/variants/<variant_id>/variant.json     what was asked, graph digest, sha256, operators, sizes
    <shelf>/variants/<variant_id>/files/model.ort  (or model.onnx and its external data)
    <shelf>/models/<digest>.json                   what is known of a model with these bytes
    <shelf>/graphs/<format>-<sha256>-<n>.json       nodes and shapes, for NNAPI's claim rules (`claim_shelf`)
    <shelf>/numerics/<digest>.json                 how far variants are from their sources (`numerics_shelf`)
    <shelf>/seen/<digest of a path>.json           which bytes lay there, by size, times and inode
    <shelf>/locks/<variant_id>.lock                flock: one process builds, the others wait
    <shelf>/tmp/                                   builds under way; left-overs go when the same is built again

An entry is there whole or not at all: it is made in `tmp`, synced, and renamed. What is cached is found without onnx
or onnxruntime being imported.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from android_runner.ort import OrtVersion, TargetPlatform
from orchestrator.digest import digest_of
from orchestrator.errors import StoreError, UsageError, VariantError
from orchestrator.variants import notation
from orchestrator.variants.converter import Converter, converter_version, installed, onnx_version
from orchestrator.variants.crew import Ahead, Job, do_jobs
from orchestrator.variants.dims import Dims, resolve_dims
from orchestrator.variants.host_cpu import host_cpu
from orchestrator.variants.inspect import Inspection, inspect_model
from orchestrator.variants.naming import clean_name
from orchestrator.variants.recipe import Model, Recipe, Variant
from orchestrator.variants.rules import require_readable
from orchestrator.variants.whole_files import sync, write_json

Request = tuple[Model, Recipe, Dims]
Result = Variant | VariantError

RULES = 1
"""Counts up when the same recipe is built in another way."""
STEP_RULES = 4
"""Counts up when a step, or what NNAPI is left, changes."""
_SETTLED_NS = 50_000_000
"""A file that changed less than this before it was read may change again within one tick of its clock."""
_BAD_ENTRY = (OSError, ValueError, KeyError, TypeError)


def variant_id_of(model: Model, recipe: Recipe, dims: Dims, converter: Converter | None = None) -> str:
    """The digest of what is asked. The converter counts where it has a part in it: not for a copy.

    With steps, so do the installed onnx and onnxruntime, which do them; so does this host's CPU for `amd64`: what is
    saved then is laid out for it.
    """
    mark = "" if recipe.copies else (converter or installed()).mark
    asked: list[object] = [RULES, model.digest, notation.recipe_to_plain(recipe), dims, mark]
    if recipe.steps or recipe.nnapi_api is not None:
        asked += [STEP_RULES, converter_version(), onnx_version()]
    if recipe.platform is TargetPlatform.AMD64:
        asked.append(host_cpu())
    return digest_of(asked)


class Shelf:
    """The folder of built variants. Any number of processes may use it at once."""

    def __init__(self, root: Path, inputs: Path | None = None) -> None:
        """`inputs` is where input sets are kept, which quantizations calibrate on; as in a home, beside the shelf."""
        self.root = root
        self.inputs = inputs or root.parent / "inputs"

    def inspect(self, path: Path, reader: OrtVersion | None = None) -> Inspection:
        """`inspect.inspect_model`, remembered by the file's path, size, times and inode. Raises UsageError, OSError."""
        seen = self._seen(path)
        found = self._remembered(seen, path)
        if found is None:
            started_ns = time.time_ns()
            found = inspect_model(path, reader)
            stamps = _stamps(path, found.external)
            write_json(self.root / "models" / f"{found.model.digest}.json", notation.inspection_to_plain(found))
            if all(max(stamp[3:]) + _SETTLED_NS < started_ns for stamp in stamps):
                write_json(seen, {"digest": found.model.digest, "stamps": stamps})
        elif reader is not None:
            require_readable(found.model, reader)
        return found

    def remembers(self, path: Path) -> bool:
        """Whether `inspect` need not read the file."""
        return self._remembered(self._seen(path), path) is not None

    def _seen(self, path: Path) -> Path:
        name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()
        return self.root / "seen" / f"{name}.json"

    def _remembered(self, seen: Path, path: Path) -> Inspection | None:
        try:
            record = json.loads(seen.read_bytes())
            data = json.loads((self.root / "models" / f"{record['digest']}.json").read_bytes())
            if _stamps(path, data["external"]) != record["stamps"]:
                return None
            return notation.inspection_from_plain(data, path, clean_name(path.stem))
        except _BAD_ENTRY:
            return None

    def known(self, model: Model) -> Inspection | None:
        """What is kept of a model that was loaded through this shelf; None if nothing is."""
        try:
            data = json.loads((self.root / "models" / f"{model.digest}.json").read_bytes())
            return notation.inspection_from_plain(data, model.path, model.name)
        except _BAD_ENTRY:
            return None

    def find(self, model: Model, recipe: Recipe, dims: Dims, converter: Converter | None = None) -> Variant | None:
        """The variant if it is built, whole, and all its files have the size they were written with."""
        try:
            return self._read(variant_id_of(model, recipe, dims, converter), model)
        except _BAD_ENTRY:
            return None

    def get(self, variant_id: str) -> Variant:
        """A variant by its id, of the model as it lay when it was built. Raises StoreError if it is gone or damaged."""
        try:
            return self._read(variant_id, None)
        except _BAD_ENTRY as error:
            raise StoreError(
                f"variant {variant_id[:12]} is not on the shelf in {self.root}: run the plan anew"
            ) from error

    def _read(self, variant_id: str, model: Model | None) -> Variant:
        folder = self.root / "variants" / variant_id
        data = json.loads((folder / "variant.json").read_bytes())
        if any((folder / "files" / name).stat().st_size != size for name, size in data["files"]):
            raise ValueError("a file is not whole")
        with contextlib.suppress(PermissionError):
            os.utime(folder)  # it is of use: who cleans up looks at this
        if model is None:
            known = json.loads((self.root / "models" / f"{data['model_digest']}.json").read_bytes())
            path = Path(data["model_path"])
            model = notation.inspection_from_plain(known, path, data["model_name"]).model
        return notation.variant_from_plain(data, folder / "files", model)

    @contextlib.contextmanager
    def building(self, variant_id: str) -> Iterator[Path]:
        """Hold the lock of one variant, with a fresh folder to build in that is removed afterwards.

        Waits for another process that builds the same. Raises OSError.
        """
        for name in ("locks", "tmp", "variants"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        with (self.root / "locks" / f"{variant_id}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for dead in (self.root / "tmp").glob(f"{variant_id}.*"):
                shutil.rmtree(dead, ignore_errors=True)
            work = Path(tempfile.mkdtemp(prefix=f"{variant_id}.", dir=self.root / "tmp"))
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what builds left that were cut off: their folders in `tmp` whose lock nobody holds."""
        for left in (self.root / "tmp").glob("*.*"):
            with (self.root / "locks" / f"{left.name.partition('.')[0]}.lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(left, ignore_errors=True)

    def put(self, work: Path, entry: Mapping[str, Any]) -> None:
        """Put a finished build on the shelf: `work/files` and `entry` as its `variant.json`, under the lock of
        `building`. What lies there already is replaced. Raises OSError."""
        folder = self.root / "variants" / str(entry["variant_id"])
        finished = work / "entry"
        finished.mkdir()
        (work / "files").rename(finished / "files")
        write_json(finished / "variant.json", entry)
        for name, _ in entry["files"]:
            sync(finished / "files" / name)
        sync(finished / "files")
        sync(finished)
        if folder.exists():
            folder.rename(work / "replaced")
        finished.rename(folder)
        sync(folder.parent)


def build_variants(
    requests: Sequence[Request],
    shelf: Shelf,
    *,
    on_built: Callable[[Result], None] | None = None,
    processes: int | None = None,
    converter: Converter | None = None,
    ahead: Ahead | None = None,
) -> list[Result]:
    """The variant for each request, in order, or the VariantError that says why there is none.

    ORT format is made by `converter` (default: the installed onnxruntime). What is on the shelf is taken from it; the
    rest is built by `processes` workers (default: one a core), the same request once. Of a request's dimensions those
    count that the model has. `on_built` is called in this thread as results come, cached ones first. Ending early (an
    exception, Ctrl-C) ends the workers. One worker may have been started `ahead`.
    """
    tell = on_built or (lambda _result: None)
    maker = converter or installed()
    found: dict[Request, Result] = {}
    missing: dict[str, Request] = {}
    asked = [_resolved(*request) for request in requests]
    for request in dict.fromkeys(item for item in asked if not isinstance(item, VariantError)):
        variant = shelf.find(*request, maker)
        if variant is None:
            missing.setdefault(variant_id_of(*request, maker), request)
        else:
            found[request] = variant
            tell(variant)
    jobs = _jobs(missing, shelf, maker)
    if jobs:
        shelf.sweep()
    with contextlib.closing(do_jobs(jobs, processes or os.cpu_count() or 1, ahead=ahead)) as outcomes:
        for variant_id, error in outcomes:
            request = missing[variant_id]
            lost = VariantError(error or f"{request[1].name}: not on the shelf although it was just built")
            result = (shelf.find(*request, maker) if error is None else None) or lost
            same = [
                item
                for item in asked
                if not isinstance(item, VariantError) and variant_id_of(*item, maker) == variant_id
            ]
            found |= {item: _of_model(result, item[0]) for item in same}
            tell(result)
    if any(isinstance(found[request], VariantError) for request in missing.values()):
        shelf.sweep()  # a worker that died left its folder
    return [item if isinstance(item, VariantError) else found[item] for item in asked]


def _of_model(result: Result, model: Model) -> Result:
    """The same bytes may have been asked for under two names, and were built once."""
    return result if isinstance(result, VariantError) else replace(result, model=model)


def samples_of(recipe: Recipe) -> tuple[str, ...]:
    """The input sets that a recipe calibrates on, by digest."""
    return recipe.calibration.digests if recipe.calibration is not None else ()


def _resolved(model: Model, recipe: Recipe, dims: Dims) -> Request | VariantError:
    try:
        return model, recipe, resolve_dims(model, dict(dims))
    except UsageError as error:
        return VariantError(f"{recipe.name}: {error}")


def _jobs(missing: Mapping[str, Request], shelf: Shelf, converter: Converter) -> dict[str, Job]:
    """What workers build, the largest models first, so that no core waits long for the other at the end."""
    order = sorted(missing, key=lambda item: -missing[item][0].size_bytes)
    return {
        variant_id: {
            "shelf": os.fspath(shelf.root.absolute()),
            "path": os.fspath(model.path.absolute()),
            "digest": model.digest,
            "recipe": notation.recipe_to_plain(recipe),
            "dims": notation.dims_to_plain(dims),
            "converter": notation.converter_to_plain(converter),
            "samples": [os.fspath((shelf.inputs / one).absolute()) for one in samples_of(recipe)],
        }
        for variant_id in order
        for model, recipe, dims in (missing[variant_id],)
    }


def _stamps(path: Path, external: tuple[str, ...] | list[str]) -> list[list[int]]:
    """Device, inode, size, and times of change in nanoseconds, of the model and its external data. Raises OSError."""
    home = path.resolve().parent
    found = [os.stat(item) for item in (path, *(home / name for name in external))]
    return [[stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for stat in found]

"""Built variants, kept under the digest of what was asked.

    <shelf>/variants/<variant_id>/variant.json     what was asked, graph digest, sha256, operators, sizes
    <shelf>/variants/<variant_id>/files/model.ort  (or model.onnx and its external data)
    <shelf>/models/<digest>.json                   what is known of a model with these bytes
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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from android_runner.ort import OrtVersion
from orchestrator.digest import digest_of
from orchestrator.variants import notation
from orchestrator.variants.converter import converter_version
from orchestrator.variants.dims import Dims
from orchestrator.variants.inspect import Inspection, inspect_model
from orchestrator.variants.naming import clean_name
from orchestrator.variants.recipe import Model, Recipe, Variant
from orchestrator.variants.rules import require_readable

RULES = 1
"""Counts up when the same recipe is built in another way."""
_SETTLED_NS = 50_000_000
"""A file that changed less than this before it was read may change again within one tick of its clock."""
_BAD_ENTRY = (OSError, ValueError, KeyError, TypeError)


def variant_id_of(model: Model, recipe: Recipe, dims: Dims) -> str:
    """The digest of what is asked. The converter counts where it has a part in it: not for a copy."""
    version = converter_version() if recipe.converts else ""
    return digest_of([RULES, model.digest, notation.recipe_to_plain(recipe), dims, version])


class Shelf:
    """The folder of built variants. Any number of processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def load_model(self, path: Path, reader: OrtVersion | None = None) -> Model:
        """`inspect.load_model`, remembered: an unchanged file is neither read nor parsed again. Raises UsageError."""
        return self.inspect(path, reader).model

    def inspect(self, path: Path, reader: OrtVersion | None = None) -> Inspection:
        """`inspect.inspect_model`, remembered by the file's path, size, times and inode. Raises UsageError, OSError."""
        name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()
        seen = self.root / "seen" / f"{name}.json"
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

    def find(self, model: Model, recipe: Recipe, dims: Dims) -> Variant | None:
        """The variant if it is built, whole, and all its files have the size they were written with."""
        variant_id = variant_id_of(model, recipe, dims)
        folder = self.root / "variants" / variant_id
        try:
            data = json.loads((folder / "variant.json").read_bytes())
            if any((folder / "files" / name).stat().st_size != size for name, size in data["files"]):
                return None
            return notation.variant_from_plain(data, folder / "files", model)
        except _BAD_ENTRY:
            return None

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
            _sync(finished / "files" / name)
        _sync(finished / "files")
        _sync(finished)
        if folder.exists():
            folder.rename(work / "replaced")
        finished.rename(folder)
        _sync(folder.parent)


def _stamps(path: Path, external: tuple[str, ...] | list[str]) -> list[list[int]]:
    """Device, inode, size, and times of change in nanoseconds, of the model and its external data. Raises OSError."""
    home = path.resolve().parent
    found = [os.stat(item) for item in (path, *(home / name for name in external))]
    return [[stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns] for stat in found]


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file so that readers see the old one or the new one, never a part. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(data, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

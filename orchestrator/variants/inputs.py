"""Real inputs for a model, kept as `input_<k>.pb` under the digest of what they hold.

    <inputs>/<digest>/input_<k>.pb     k-th model input, its name inside
    <inputs>/sets/<digest>.json        its files' sizes and where it came from
    <inputs>/asked/<digest>.json       what was asked for (model and seed, or a folder's files) -> the set

They come from a folder, checked, or from a seed. What is cached is found without onnx or numpy being imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.digest import canonical, digest_of
from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.variants.dims import fixed_shape, resolve_dims
from orchestrator.variants.inspect import inspect_model
from orchestrator.variants.invented import invent, why_not_invented
from orchestrator.variants.naming import shown
from orchestrator.variants.recipe import InputSet, Model
from orchestrator.variants.shelf import Shelf
from orchestrator.variants.tensor_file import tensor_file
from orchestrator.variants.whole_files import write_json

RULES = 1
"""Counts up when the same seed gives other values."""
_BAD_RECORD = (OSError, ValueError, KeyError, TypeError)
_DATA_SET = "test_data_set_0"


@dataclass(frozen=True, slots=True)
class _Wanted:
    name: str
    element_type: str
    shape: tuple[int, ...]


Elements = bytes | Sequence[bytes]


def inputs_for(
    model: Model,
    root: Path,
    *,
    dims: Mapping[str, int] | None = None,
    directory: Path | None = None,
    seed: int = 0,
    shelf: Shelf | None = None,
) -> InputSet:
    """The inputs for `model` with `dims`: those in `directory` (or its `test_data_set_0`), else values from `seed`.

    `root` is where sets are kept; `shelf` spares reading the model again. Raises UsageError where the folder's files
    don't fit the model's inputs, no values can be made up, or dimensions are left open; OSError.
    """
    fixed = resolve_dims(model, dims or {})
    wanted = [_Wanted(t.name, t.element_type, fixed_shape(t, fixed)) for t in model.inputs]
    if directory is None:
        asked = root / "asked" / f"{digest_of(['seed', RULES, model.digest, wanted, seed])}.json"
        return _kept(asked, root) or _keep(asked, root, wanted, _invented(model, wanted, seed, shelf), f"seed {seed}")
    files = _files_in(directory)
    stamps = [[path.name, *_stamp(path)] for path in files]
    place = hashlib.sha256(os.fsencode(os.path.abspath(directory))).hexdigest()
    asked = root / "asked" / f"{digest_of(['folder', RULES, wanted, place, stamps])}.json"
    return _kept(asked, root) or _keep(asked, root, wanted, _from_files(wanted, files), shown(directory))


def kept_inputs(root: Path, digest: str) -> InputSet:
    """A set by its digest. Raises StoreError where it is gone or damaged."""
    folder = root / digest
    try:
        record = json.loads((root / "sets" / f"{digest}.json").read_bytes())
        sizes = [int(size) for size in record["sizes"]]
        if any((folder / _file_name(at)).stat().st_size != size for at, size in enumerate(sizes)):
            raise ValueError("a file is not whole")
        names = tuple(_file_name(at) for at in range(len(sizes)))
        return InputSet(
            digest=digest, directory=folder, files=names, size_bytes=sum(sizes), source=str(record["source"])
        )
    except _BAD_RECORD as error:
        raise StoreError(f"inputs {digest[:12]} are not in {root}: run the plan anew") from error


def _stamp(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _kept(asked: Path, root: Path) -> InputSet | None:
    """The set that was made for this question, if all its files are there in full size."""
    try:
        return kept_inputs(root, str(json.loads(asked.read_bytes())["digest"]))
    except (*_BAD_RECORD, StoreError):
        return None


def _file_name(position: int) -> str:
    return f"input_{position}.pb"


def _keep(asked: Path, root: Path, wanted: Sequence[_Wanted], elements: Sequence[Elements], source: str) -> InputSet:
    """Write the set under its digest, whole or not at all, and remember what it answers."""
    files = [tensor_file(w.name, w.element_type, w.shape, e) for w, e in zip(wanted, elements, strict=True)]
    digest = digest_of([hashlib.sha256(data).hexdigest() for data in files])
    folder = root / digest
    sizes = [len(data) for data in files]
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new.", dir=root) as work:
        made = Path(work) / digest
        made.mkdir()
        for at, data in enumerate(files):
            with (made / _file_name(at)).open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        if not _whole(folder, sizes):
            with contextlib.suppress(FileNotFoundError):
                folder.rename(Path(work) / "damaged")
            try:
                made.rename(folder)
            except OSError:
                if not _whole(folder, sizes):  # else another process was faster with the same bytes
                    raise
    write_json(root / "sets" / f"{digest}.json", {"sizes": sizes, "source": source, "inputs": canonical(list(wanted))})
    write_json(asked, {"digest": digest})
    return kept_inputs(root, digest)


def _whole(folder: Path, sizes: Sequence[int]) -> bool:
    try:
        return all((folder / _file_name(at)).stat().st_size == size for at, size in enumerate(sizes))
    except OSError:
        return False


def _invented(model: Model, wanted: Sequence[_Wanted], seed: int, shelf: Shelf | None) -> list[Elements]:
    source = (shelf.known(model) if shelf is not None else None) or inspect_model(model.path)
    feeds = {feed.name: feed for feed in source.feeds}
    problems = []
    for item in wanted:
        reason = why_not_invented(feeds[item.name], item.element_type, item.shape)
        if reason is not None:
            where = f"{shown(model.path)}, input {shown(item.name)}"
            problems.append(Problem(where, reason, "give real inputs with --inputs DIR"))
    if problems:
        raise UsageError(*problems)
    return [invent(feeds[item.name], item.element_type, item.shape, seed) for item in wanted]


def _files_in(directory: Path) -> list[Path]:
    """`input_0.pb` and on, without a gap. Raises UsageError."""
    where = shown(directory)
    layout = "it must hold input_0.pb, input_1.pb, …, one for each model input"
    if not directory.is_dir():
        raise UsageError(Problem(where, "no such folder of inputs", layout))
    folder = directory / _DATA_SET if (directory / _DATA_SET).is_dir() else directory
    found = {path.name for path in folder.glob("input_*.pb")}
    files = [folder / _file_name(at) for at in range(len(found))]
    gaps = [path.name for path in files if path.name not in found]
    if gaps or not found:
        missing = gaps[0] if gaps else "input_0.pb"
        raise UsageError(Problem(where, f"{missing} is missing", layout))
    return files


def _from_files(wanted: Sequence[_Wanted], files: Sequence[Path]) -> list[Elements]:
    """Each model input's elements from the files, by the name inside, or by position where that is empty."""
    if len(files) != len(wanted):
        names = ", ".join(shown(item.name) for item in wanted)
        what = f"{len(files)} inputs, the model takes {len(wanted)}"
        raise UsageError(Problem(shown(files[0].parent), what, f"its inputs are: {names}"))
    problems: list[Problem] = []
    found: dict[str, Elements] = {}
    for at, path in enumerate(files):
        tensor = _parsed(path)
        name = tensor.name or wanted[at].name
        fitting = [item for item in wanted if item.name == name]
        reason = _misfit(tensor, fitting[0]) if fitting else f"the model has no input {shown(name)}"
        if reason is None and name in found:
            reason = f"input {shown(name)} is there twice"
        if reason is not None:
            mend = "inputs are: " + "; ".join(f"{shown(w.name)} {w.element_type} {list(w.shape)}" for w in wanted)
            problems.append(Problem(shown(path), reason, mend))
        else:
            found[name] = _elements(path, tensor, fitting[0])
    if problems:
        raise UsageError(*problems)
    return [found[item.name] for item in wanted]


def _parsed(path: Path) -> Any:
    import onnx  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415

    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except (DecodeError, OSError) as error:
        raise UsageError(Problem(shown(path), f"not a serialized TensorProto: {error}", "save it again")) from error
    return tensor


def _misfit(tensor: Any, wanted: _Wanted) -> str | None:
    from orchestrator.variants.graph import ELEMENT_TYPES  # noqa: PLC0415

    element_type = ELEMENT_TYPES.get(tensor.data_type, f"number {tensor.data_type}")
    if element_type != wanted.element_type:
        return f"type {element_type}, the model takes {wanted.element_type}"
    if tuple(tensor.dims) != wanted.shape:
        return f"shape {list(tensor.dims)}, the model takes {list(wanted.shape)}"
    if tensor.data_location:
        return "keeps its data in another file"
    return None


def _elements(path: Path, tensor: Any, wanted: _Wanted) -> Elements:
    """The elements as raw bytes, whichever field they came in. Raises UsageError where their number is wrong."""
    from onnx import numpy_helper  # noqa: PLC0415

    if wanted.element_type == "string":
        return [bytes(text) for text in tensor.string_data]
    try:
        return bytes(numpy_helper.to_array(tensor).tobytes())
    except (ValueError, TypeError) as error:
        raise UsageError(Problem(shown(path), f"its elements can't be read: {error}", "save it again")) from error

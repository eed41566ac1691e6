"""`orch export --bundle`, `orch import`: a run as one file, from one home into another."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator import __version__
from orchestrator.app.kept import kept_from_text
from orchestrator.app.standing import run_lock
from orchestrator.errors import Problem, StoreError, UsageError
from orchestrator.home import LEDGER_FILE, Home
from orchestrator.report.numbers import size
from orchestrator.store.attempt_evidence import EvidenceUnread
from orchestrator.store.bundle_file import BundleReader, BundleWriter
from orchestrator.store.bundle_rows import TABLES, Rows, first_difference, rebuild
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from orchestrator.store.migrations import SCHEMA_VERSION
from orchestrator.store.records import RunContents

_NAME = re.compile(r"[0-9a-z]{64}")
_OURS = frozenset({"evidence", "shelf", "inputs", "binaries", "locks", "undo", "nightly", "virtual"})
"""Folders of a home that no run may be called like."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """A run that left or came: its raw files, and what was left out of them. `known`: it was here already."""

    run_id: str
    created_at: datetime
    attempts: int
    files: int
    size_bytes: int
    left_out: tuple[str, ...] = ()
    known: bool = False


def export_bundle(home: Home, run: str, path: Path, *, lenient: bool) -> Bundled:
    """Write a run's rows and raw files to `path`, which appears whole or not at all.

    Raises UsageError when `path` is there, no run matches or it goes on; StoreError when ledger or, unless `lenient`,
    evidence can't be read, or the file can't be written.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(Problem(str(path), "is there already", "give a file that is not there yet"))
    ledger = Ledger.open(home.root)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        run_id = ledger.find_run(run)
        if (holder := run_lock(home, run_id).holder()) is not None:
            raise UsageError(Problem(run_id, f"goes on in process {holder.pid}", "wait for its end, or orch cancel"))
        frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=lenient).read_now()
        rows = ledger.bundles.of_run(run_id)
        with part.open("xb") as stream:
            with closing(BundleWriter(stream, run=run_id, schema=SCHEMA_VERSION, orch=__version__)) as writer:
                for name in TABLES:
                    writer.rows(name, rows[name])
                files, left_out = _write_files(writer, rows, frames, lenient=lenient)
                writer.finish()
            stream.flush()
            os.fsync(stream.fileno())
        part.rename(path)
        ledger.kept.keep([Number(run_id)], Use.BUNDLED, f"orch export {run_id} --bundle")
        created_at = ledger.summary(run_id).started_at
    except OSError as error:
        raise StoreError(f"{path}: can't be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink()
        ledger.close()
    return Bundled(
        run_id=run_id,
        created_at=created_at,
        attempts=len(rows["attempt"]),
        files=files,
        size_bytes=path.stat().st_size,
        left_out=tuple(left_out),
    )


def _write_files(writer: BundleWriter, rows: Rows, frames: RunFrames, *, lenient: bool) -> tuple[int, Sequence[str]]:
    """The raw files that the rows name; how many, and what was left out of them."""
    left_out: dict[str, None] = {}
    files = 0
    for digest in _named(rows):
        try:
            for _ in frames.evidence.pieces(digest):
                pass  # what is not there, or damaged, is known before an entry begins
            writer.evidence(digest, frames.evidence.pieces(digest))
            files += 1
        except StoreError as error:
            if not lenient:
                raise EvidenceUnread(f"{error}; --lenient leaves it out") from error
            left_out.setdefault(str(error))
    return files, tuple(left_out)


def _named(rows: Rows) -> list[str]:
    """Digests of raw files that a run's rows name: its attempts', and its variants' graphs."""
    named: dict[str, None] = {}
    for row in rows["attempt"]:
        named |= dict.fromkeys(sorted(_DIGEST.findall(str(row["evidence"]))))
    for row in rows["run_variant"]:
        named |= dict.fromkeys(re.findall(r'"claim_graph":"([0-9a-f]{64})"', str(row["record"])))
    return list(named)


def import_bundle(home: Home, path: Path) -> Bundled:
    """Take a run in: every name, size, digest and row is looked at before anything is kept.

    The same run again brings back raw files that were cleaned. Raises UsageError for a file that is no bundle, is
    damaged, newer, or of a run that is here with other content; StoreError when the home can't be written.
    """
    reader = BundleReader(path)
    try:
        with _workshop(home) as folder:
            _room_for(reader, folder)
            rows, contents = _checked_rows(reader, path, folder)
            ledger = Ledger.open(home.root)
            try:
                known = _known(ledger, contents.run.run_id, rows, path)
                files = _take_files(reader, _wanted(reader, rows, path), folder, EvidenceStore(home.root))
                if not known:
                    ledger.bundles.add(rows)  # all of it, or nothing
                elif not set(_named(rows)) - set(reader.head.evidence):
                    ledger.cleanings.undo(contents.run.run_id)
            finally:
                ledger.close()
    finally:
        reader.close()
    return Bundled(
        run_id=contents.run.run_id,
        created_at=contents.run.created_at,
        attempts=len(rows["attempt"]),
        files=files,
        size_bytes=sum(reader.head.evidence.values()),
        known=known,
    )


def _room_for(reader: BundleReader, folder: Path) -> None:
    """Raise UsageError when the disk has no room for all that the bundle says it holds, its rows being there twice."""
    needs, free = reader.size_bytes, shutil.disk_usage(folder).free
    if free < needs:
        raise UsageError(Problem(str(folder.parent), f"{size(needs)} are to come, {size(free)} are free", "make room"))


@contextmanager
def _workshop(home: Home) -> Iterator[Path]:
    """A folder on the home's disk that is gone afterwards."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=home.root))
    except OSError as error:
        raise StoreError(f"{home.root}: can't be written: {error.strerror or error}") from error
    try:
        yield folder
    except OSError as error:
        raise StoreError(f"{home.root}: can't be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _checked_rows(reader: BundleReader, path: Path, folder: Path) -> tuple[Rows, RunContents]:
    """The rows as today's ledger has them, read once by all that reads a ledger. Raises UsageError."""
    head = reader.head
    if head.schema > SCHEMA_VERSION or head.schema < 1:
        what = f"has schema {head.schema}; orch {__version__} knows up to {SCHEMA_VERSION}"
        raise UsageError(Problem(str(path), what, "use the orch that wrote it, or a newer one"))
    try:
        rebuild(folder / LEDGER_FILE, head.schema, head.run, {name: reader.rows(name) for name in TABLES})
        ledger = Ledger.open(folder)
        try:
            contents = ledger.contents(head.run)
            attempts = ledger.attempts(head.run)
            for read in (ledger.trials, ledger.events, ledger.open_blocks, ledger.incidents.of):
                read(head.run)
            rows = ledger.bundles.of_run(head.run)
        finally:
            ledger.close()
        _safe_names(contents, [one for attempt in attempts for one in attempt.evidence.values()])
    except StoreError as error:
        words = str(error).replace(f"{folder / LEDGER_FILE}: ", "")
        raise UsageError(Problem(str(path), words, "get it anew; nothing of it was taken")) from error
    return rows, contents


def _safe_names(contents: RunContents, evidence: Iterable[str]) -> None:
    """Raise StoreError where a name would be a path that is none of ours; `evidence`: digests of raw files."""
    run = contents.run
    if run.run_id in _OURS or run.run_id.startswith(LEDGER_FILE):
        raise StoreError(f"{run.run_id!r} can't be a run's name")
    try:
        inputs: Iterable[str] = kept_from_text(run.plan_json).inputs
    except (ValueError, KeyError, TypeError):
        inputs = ()  # a plan that nobody can go on with
    names = [
        run.binary_digest,
        *(one.variant_id for one in contents.variants),
        *(name for one in contents.cases for name in (one.variant_id, one.binary_digest, one.inputs_digest)),
        *inputs,
        *evidence,
    ]
    for name in names:
        if not _NAME.fullmatch(name):
            raise StoreError(f"{name[:80]!r} is no digest")


def _known(ledger: Ledger, run_id: str, rows: Rows, path: Path) -> bool:
    """Whether the run is here already, with the same content. Raises UsageError when with another."""
    here = ledger.bundles.of_run(run_id)
    if not here["run"]:
        if taken := ledger.bundles.taken(rows):
            what = f"{taken} is another run's here"
            raise UsageError(Problem(str(path), what, "import it into another home: --home DIR"))
        return False
    if differs := first_difference(here, rows):
        what = f"run {run_id} is here already, and is another one ({differs})"
        raise UsageError(Problem(str(path), what, "import it into another home: --home DIR"))
    return True


def _wanted(reader: BundleReader, rows: Rows, path: Path) -> list[str]:
    """The raw files of the bundle. Raises UsageError for one that no row names."""
    named = set(_named(rows))
    if strange := sorted(set(reader.head.evidence) - named):
        raise UsageError(Problem(f"{path}: evidence/{strange[0]}", "no attempt of the run has it", "get it anew"))
    return sorted(reader.head.evidence)


def _take_files(reader: BundleReader, digests: Sequence[str], folder: Path, store: EvidenceStore) -> int:
    """Keep the raw files that are not here, all of them held against their digests before the first one is kept."""
    new = [one for one in digests if not store.has(one)]
    for digest in digests:
        with (folder / digest).open("wb") as stream:
            stream.writelines(reader.evidence(digest))
        if digest not in new:
            (folder / digest).unlink()
    store.keep_many({one: folder / one for one in new})
    return len(new)

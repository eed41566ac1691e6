"""A run as one file: out of one home, into another; a file that lies is refused, and nothing of it is kept."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import orchestrator
from orchestrator.app.bundling import export_bundle, import_bundle
from orchestrator.app.clean_plan import AskedCleaning
from orchestrator.app.cleaning import clean
from orchestrator.app.standing import drive
from orchestrator.errors import StoreError, UsageError
from orchestrator.home import Home
from orchestrator.report.as_json import render_json
from orchestrator.report.summarize import summarize
from orchestrator.store.bundle_file import HEAD
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from orchestrator.store.migrations import SCHEMA_VERSION
from tests.unit.store import sample_run as sample
from tests.unit.store.sample_home import make_home

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Path]:
    """A home, and its run as a bundle."""
    home = Home(make_home(tmp_path_factory.mktemp("bundled") / "home"))
    path = home.root.parent / "run.orch"
    export_bundle(home, "@last", path, lenient=False)
    return home, path


def report_of(home: Home) -> str:
    return render_json(summarize(orchestrator.load(sample.RUN, home=home.root)))


def left_in(home: Home) -> list[str]:
    """What is in a home but its ledger and empty folders."""
    return sorted(
        str(path.relative_to(home.root))
        for path in home.root.rglob("*")
        if path.is_file() and not path.name.startswith("ledger.sqlite") and path.parent.name != "locks"
    )


def test_a_run_comes_into_another_home_as_it_was(made: tuple[Home, Path], tmp_path: Path) -> None:
    home, path = made
    ledger = Ledger.open(home.root)
    assert [(one.number, one.why) for one in ledger.kept.all()] == [(Number(sample.RUN), Use.BUNDLED)]
    ledger.close()
    other = Home(tmp_path / "other")
    other.root.mkdir()
    done = import_bundle(other, path)
    assert (done.run_id, done.attempts, done.known) == (sample.RUN, 10, False)
    assert report_of(other) == report_of(home)
    assert [one for one in left_in(other) if not one.startswith("evidence/")] == []
    again = import_bundle(other, path)
    assert (again.known, again.files) == (True, 0)
    back = tmp_path / "back.orch"
    export_bundle(other, sample.RUN, back, lenient=False)
    assert back.read_bytes() == path.read_bytes(), "the same run makes the same bytes"


def test_raw_files_that_were_cleaned_come_back(made: tuple[Home, Path], tmp_path: Path) -> None:
    home = Home(tmp_path / "other")
    home.root.mkdir()
    import_bundle(home, made[1])
    ledger = Ledger.open(home.root)
    now = datetime(2026, 8, 1, tzinfo=UTC)
    gone = clean(home, ledger, AskedCleaning(older=timedelta(0)), now=now, settled_s=-60).evidence_files
    assert gone > 5
    with pytest.raises(StoreError, match="raw files cleaned on 2026-08-01; --lenient leaves it out"):
        export_bundle(home, "@last", tmp_path / "x", lenient=False)
    assert not (tmp_path / "x").exists()
    assert import_bundle(home, made[1]).files == gone
    assert ledger.cleanings.of_run(sample.RUN) == {}
    ledger.close()
    assert report_of(home) == report_of(made[0])


def test_a_run_that_goes_on_and_a_file_that_is_there_are_refused(made: tuple[Home, Path], tmp_path: Path) -> None:
    home, path = made
    with pytest.raises(UsageError, match="is there already"):
        export_bundle(home, "@last", path, lenient=False)
    lock = drive(home, sample.RUN)
    with pytest.raises(UsageError, match="goes on in process"):
        export_bundle(home, "@last", tmp_path / "new", lenient=False)
    lock.release()


def opened(path: Path) -> Files:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def packed(files: Mapping[str, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as bundle:
        for name, data in files.items():
            bundle.writestr(name, data)
    return path


def head_of(files: Files, **more: Any) -> None:
    files[HEAD] = json.dumps({**json.loads(files[HEAD]), **more}).encode()


def rows_of(files: Files, table: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change a table's rows, with a head that agrees."""
    rows = [json.loads(line) for line in files[f"rows/{table}.jsonl"].splitlines()]
    change(rows)
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    files[f"rows/{table}.jsonl"] = data
    told = json.loads(files[HEAD])["rows"]
    head_of(files, rows={**told, table: {"rows": len(rows), "sha256": hashlib.sha256(data).hexdigest()}})


def put(table: str, column: str, value: Any) -> Callable[[Files], None]:
    return lambda files: rows_of(files, table, lambda rows: rows[0].__setitem__(column, value))


def first_evidence(files: Files) -> str:
    return next(name for name in files if name.startswith("evidence/"))


def other_bytes(files: Files) -> None:
    name = first_evidence(files)
    files[name] = bytes(len(files[name]))


def longer(files: Files) -> None:
    name = first_evidence(files)
    files[name] += b"more"


def stranger(files: Files) -> None:
    data = b"of nobody"
    name = hashlib.sha256(data).hexdigest()
    files[f"evidence/{name}"] = data
    head_of(files, evidence={**json.loads(files[HEAD])["evidence"], name: len(data)})


def renamed(files: Files) -> None:
    head_of(files, run="../../evil")


def home_folder(files: Files) -> None:
    for table in [name[5:-6] for name in files if name.startswith("rows/")]:
        rows_of(files, table, lambda rows: [row.__setitem__("run_id", "evidence") for row in rows] and None)
    head_of(files, run="evidence")


HOSTILE: Mapping[str, tuple[Callable[[Files], object], str]] = {
    "a path": (lambda files: files.__setitem__("../../etc/cron.d/x", b"x"), "no bundle has a file of this name"),
    "a path below evidence": (lambda files: files.__setitem__("evidence/../x", b"x"), "no bundle has a file"),
    "a table that is none": (lambda files: files.__setitem__("rows/phone.jsonl", b""), "no bundle has a file"),
    "no head": (lambda files: files.pop(HEAD), "has no bundle.json"),
    "another format": (lambda files: head_of(files, format="tar"), "is of the format 'tar'"),
    "a newer version": (lambda files: head_of(files, version=2), "use a newer orch"),
    "a newer schema": (lambda files: head_of(files, schema=SCHEMA_VERSION + 1), "or a newer one"),
    "no schema": (lambda files: head_of(files, schema=0), "has schema 0"),
    "a head that is none": (lambda files: files.__setitem__(HEAD, b"[1, 2"), "bundle.json.*can't be read"),
    "a deep head": (lambda files: files.__setitem__(HEAD, b"[" * 100_000), "can't be read"),
    "a file too few": (lambda files: files.pop(first_evidence(files)), "is missing"),
    "another content": (other_bytes, "has another digest"),
    "another length": (longer, "has not the size"),
    "a file of nobody": (stranger, "no attempt of the run has it"),
    "a run that is a path": (renamed, "can't be a run's name"),
    "a run like a folder of the home": (home_folder, "'evidence' can't be a run's name"),
    "rows of another digest": (
        lambda files: files.__setitem__("rows/trial.jsonl", files["rows/trial.jsonl"][:-400]), "is damaged|cut off",
    ),
    "a row of another run": (put("trial", "run_id", "0101-other-aaaa"), "trial, row 1: is of run '0101-other-aaaa'"),
    "a column of another kind": (put("attempt", "p50_s", "fast"), "attempt, row 1: p50_s is str 'fast'"),
    "a number without end": (put("trial", "round", 2**70), "trial, row 1: round is int"),
    "a text that is none": (put("run", "note", "\ud800"), "run, row 1: note is str"),
    "a column that is none": (put("run", "; drop table run", 1), "its columns are not the table's"),
    "settings that nobody reads": (put("run_case", "record", "{}"), "a stored Case can't be read"),
    "vitals that nobody reads": (put("attempt", "before_vitals", "hot"), "a stored Vitals can't be read"),
    "a binary that is a path": (put("run", "binary_digest", "../../../bin"), "'../../../bin' is no digest"),
    "evidence that is a path": (put("attempt", "evidence", '{"stdout":"../../x"}'), "'../../x' is no digest"),
    "a list in a row": (put("run", "note", ["x"]), "line 1 is no row"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_file_that_lies_is_refused_and_nothing_of_it_is_kept(
    made: tuple[Home, Path], tmp_path: Path, how: str
) -> None:
    change, words = HOSTILE[how]
    files = opened(made[1])
    change(files)
    home = Home(tmp_path / "home")
    home.root.mkdir()
    with pytest.raises(UsageError, match=words) as error:
        import_bundle(home, packed(files, tmp_path / "bad.orch"))
    assert "bad.orch" in str(error.value)
    assert left_in(home) == []
    ledger = Ledger.open(home.root)
    assert ledger.runs() == []
    ledger.close()


def test_a_name_twice_and_a_file_that_is_no_zip(made: tuple[Home, Path], tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.root.mkdir()
    twice = packed(opened(made[1]), tmp_path / "twice.orch")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(twice, "a") as bundle:
        bundle.writestr("rows/run.jsonl", b"{}\n")
    with pytest.raises(UsageError, match="is in it twice"):
        import_bundle(home, twice)
    whole = made[1].read_bytes()
    for name, data in (("text", b"hello"), ("empty", b""), ("cut", whole[: len(whole) // 2])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match="is no bundle"):
            import_bundle(home, tmp_path / name)


def test_another_run_of_the_same_name_is_refused(made: tuple[Home, Path], tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.root.mkdir()
    import_bundle(home, made[1])
    before = left_in(home)
    files = opened(made[1])
    put("attempt", "p50_s", 0.001)(files)
    with pytest.raises(UsageError, match=r"is another one \(attempt, row 1: p50_s\)"):
        import_bundle(home, packed(files, tmp_path / "other.orch"))
    assert left_in(home) == before


def test_a_run_of_the_first_schema_is_brought_to_todays(made: tuple[Home, Path], tmp_path: Path) -> None:
    files = opened(made[1])
    young = {"attempt": ("validity", "validity_reasons", "process", "gate"), "block": ("tidied_at",)}
    for table, columns in young.items():
        rows_of(files, table, lambda rows, columns=columns: [row.pop(one) for row in rows for one in columns] and None)  # type: ignore[misc]
    told = json.loads(files[HEAD])["rows"]
    for table in ("battery", "incident", "cleaned"):
        files.pop(f"rows/{table}.jsonl")
        told.pop(table)
    head_of(files, rows=told, schema=1)
    home = Home(tmp_path / "home")
    home.root.mkdir()
    import_bundle(home, packed(files, tmp_path / "old.orch"))
    frames = orchestrator.load("@last", home=home.root)
    assert len(frames.attempts) == 10
    assert summarize(frames).head.run == sample.RUN
    assert len(left_in(home)) == len([one for one in files if one.startswith("evidence/")])
    assert EvidenceStore(home.root).directory.is_dir()

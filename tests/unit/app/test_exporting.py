"""`orch export`: what is in the folder, that its parts agree, and that it appears whole or not at all."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from xml.etree import ElementTree as xml

import pandas as pd
import pytest

import orchestrator
from orchestrator.app.exporting import CHECKSUMS, AskedExport, export_run
from orchestrator.errors import StoreError, UsageError
from orchestrator.home import Home
from orchestrator.report.as_json import render_json
from orchestrator.report.summarize import summarize
from orchestrator.store.columns import COLUMNS
from orchestrator.store.dictionary import FRAMES
from orchestrator.store.evidence import EvidenceStore
from tests.unit.store.sample_home import make_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(make_home(tmp_path_factory.mktemp("exported")))


def test_the_folder_holds_every_frame_the_report_and_what_they_mean(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "out"
    written, left_out = export_run(home, "@last", folder, AskedExport())
    assert left_out == ()
    assert sorted(written) == sorted(path for path in folder.rglob("*") if path.is_file())
    assert [path.name for path in folder.parent.iterdir()] == ["out"], "nothing of the making is left"
    frames = orchestrator.load("@last", home=home.root)
    assert (folder / "report.json").read_text() == render_json(summarize(frames))
    for name in COLUMNS:
        table = pd.read_csv(folder / "tables" / f"{name}.csv")
        assert (list(table.columns), len(table)) == (list(COLUMNS[name]), len(getattr(frames, name)))
    assert len(xml.parse(folder / "report.junit.xml").findall(".//testcase")) == len(frames.trials)
    assert "<title>" in (folder / "report.html").read_text()
    assert (folder / "report.md").read_text().startswith("# ")
    with (folder / "columns.csv").open(newline="", encoding="utf-8") as stream:
        told = [tuple(row) for row in csv.reader(stream)][1:]
    assert told == [(frame, name, *_rest(one)) for frame, own in COLUMNS.items() for name, one in own.items()]


def _rest(meaning: tuple[str, str, str]) -> tuple[str, str, str]:
    unit, words, kind = meaning
    return unit, kind, words


def test_the_readme_has_every_column_and_says_that_the_run_has_not_ended(home: Home, tmp_path: Path) -> None:
    export_run(home, "@last", tmp_path / "out", AskedExport())
    text = (tmp_path / "out" / "README.txt").read_text()
    assert "running" in text.splitlines()[1]
    for frame, columns in COLUMNS.items():
        assert f"\n{frame}: {FRAMES[frame].split()[0]}" in text
        for name, one in columns.items():
            assert f"\n  {name} ({', '.join(part for part in (one.kind, one.unit) if part)}): " in text
    assert max(map(len, text.splitlines()[3:])) <= 110
    assert set(FRAMES) == set(COLUMNS)


def test_the_checksums_are_of_every_other_file(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    written, _ = export_run(home, "@last", folder, AskedExport())
    told = dict(reversed(line.split("  ", 1)) for line in (folder / CHECKSUMS).read_text().splitlines())
    assert set(told) == {str(path.relative_to(folder)) for path in written} - {CHECKSUMS}
    for name, digest in told.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_parquet(home: Home, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    export_run(home, "@last", tmp_path / "out", AskedExport(form="parquet"))
    attempts = pd.read_parquet(tmp_path / "out" / "tables" / "attempts.parquet")
    assert list(attempts.columns) == list(COLUMNS["attempts"])
    assert 'read_parquet("tables/attempts.parquet")' in (tmp_path / "out" / "README.txt").read_text()


def test_an_empty_folder_is_taken_and_a_full_one_is_not(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export_run(home, "@last", folder, AskedExport())
    before = (folder / "README.txt").stat()
    with pytest.raises(UsageError, match="holds something already"):
        export_run(home, "@last", folder, AskedExport())
    assert (folder / "README.txt").stat() == before
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="holds something already"):
        export_run(home, "@last", tmp_path / "file", AskedExport())


def test_evidence_that_cannot_be_read_stops_it_or_is_named(tmp_path: Path) -> None:
    home = Home(make_home(tmp_path / "home"))
    evidence = orchestrator.load(home=home.root).attempts.set_index("attempt").loc["t1", "evidence"]
    store = EvidenceStore(home.root)
    store.path(str(evidence["t.json"])).unlink()
    with pytest.raises(StoreError, match=r"attempt t1: t.json can't be read.*--lenient"):
        export_run(home, "@last", tmp_path / "out", AskedExport())
    assert not (tmp_path / "out").exists()
    _, left_out = export_run(home, "@last", tmp_path / "out", AskedExport(lenient=True))
    (words,) = left_out
    assert words in (tmp_path / "out" / "README.txt").read_text()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["unread"] == [words]
    operators = pd.read_csv(tmp_path / "out" / "tables" / "operators.csv")
    assert set(operators["attempt"]) == {"t0"}, "the rest is there"


def test_raw_files_come_along_under_their_digests_where_they_are_asked_for(tmp_path: Path) -> None:
    home = Home(make_home(tmp_path / "home"))
    export_run(home, "@last", tmp_path / "out", AskedExport(evidence=True))
    frames = orchestrator.load(home=home.root)
    digests = {digest for kept in frames.attempts.evidence for digest in kept.values()}
    found = {path.name: path.read_bytes() for path in (tmp_path / "out" / "evidence").iterdir()}
    assert {hashlib.sha256(data).hexdigest() for data in found.values()} == set(found) == digests
    assert "evidence/" in (tmp_path / "out" / "README.txt").read_text()
    sums = (tmp_path / "out" / CHECKSUMS).read_text()
    assert all(f"{digest}  evidence/{digest}\n" in sums for digest in digests)
    gone = EvidenceStore(home.root).path(min(digests))
    gone.write_bytes(b"spoilt")
    with pytest.raises(StoreError, match=rf"{min(digests)} is damaged.*--lenient"):
        export_run(home, "@last", tmp_path / "again", AskedExport(evidence=True))
    assert not (tmp_path / "again").exists()
    _, left_out = export_run(home, "@last", tmp_path / "again", AskedExport(evidence=True, lenient=True))
    assert min(digests) in left_out[-1]
    assert not (tmp_path / "again" / "evidence" / min(digests)).exists()


def test_frames_without_what_cannot_be_read(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    evidence = orchestrator.load(home=home).attempts.set_index("attempt").loc["t1", "evidence"]
    EvidenceStore(home).path(str(evidence["t.json"])).unlink()
    run = orchestrator.load(home=home, lenient=True)
    assert run.unread == ()
    assert set(run.operators["attempt"]) == {"t0"}
    assert len(run.unread) == 1

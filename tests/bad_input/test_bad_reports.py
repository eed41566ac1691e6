"""`orch report | show | export | trace` of what is not as it should be: one clear error that names the file and the
mend, or, where there is still something to say, the report that says what it is made without."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import orchestrator
from orchestrator.store.evidence import EvidenceStore
from tests.bad_input.conftest import Refused
from tests.orch_cli import Orch

READERS = (("report",), ("show", "@last/B3/1"), ("export", "@last", "out"), ("trace",), ("recommend",))
TRACED, MEASURED = "t1", "a2"


def kept_file(orch: Orch, attempt: str, name: str) -> Path:
    """A file of an attempt's evidence."""
    digests = orchestrator.load(home=orch.home).attempts.set_index("attempt").loc[attempt, "evidence"]
    return EvidenceStore(orch.home).path(str(digests[name]))


def refuses_all(orch: Orch, refused: Refused, *words: str) -> None:
    for command in READERS:
        refused(orch(*command), *words)
    assert not (orch.home.parent / "out").exists()


def test_no_ledger_and_none_is_made(orch: Orch, refused: Refused) -> None:
    refuses_all(orch, refused, str(orch.home), "no ledger is there", "--home DIR")
    assert not orch.home.exists()
    orch.home.mkdir()
    refuses_all(orch, refused, "no ledger is there")
    assert list(orch.home.iterdir()) == []


def cut(at: Callable[[int], int]) -> Callable[[bytes], bytes]:
    return lambda data: data[: at(len(data))]


HALVES: Mapping[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing yet": (cut(lambda n: 0), "no run lies in this home yet"),
    "its head": (cut(lambda n: 100), "malformed (the file is damaged"),
    "a page": (cut(lambda n: 4096), "malformed (the file is damaged"),
    "half": (cut(lambda n: n // 2), "malformed (the file is damaged"),
    "but for the last page": (cut(lambda n: n - 4096), "malformed (the file is damaged"),
    "but for some bytes": (cut(lambda n: n - 100), "(the file is damaged"),
    "a hole": (lambda data: data[:40960] + bytes(81920) + data[122880:], "malformed (the file is damaged"),
    "something else": (lambda data: b"PK" + data[2:], "is no ledger"),
}


@pytest.mark.parametrize("half", HALVES)
def test_a_half_written_ledger(there: Orch, refused: Refused, half: str) -> None:
    damage, words = HALVES[half]
    ledger = there.home / "ledger.sqlite"
    ledger.write_bytes(damage(ledger.read_bytes()))
    if half == "half":
        refuses_all(there, refused, words)
    refused(there("report"), words)


def test_a_newer_ledger(there: Orch, refused: Refused) -> None:
    with sqlite3.connect(there.home / "ledger.sqlite") as ledger:
        (newest,) = ledger.execute("select max(number) from schema_migration").fetchone()
        ledger.execute("update schema_migration set number = 999 where number = ?", (newest,))
    ledger.close()
    refuses_all(there, refused, "ledger.sqlite", "999", "newer")


def test_a_run_phone_or_row_that_is_none(there: Orch, refused: Refused) -> None:
    for command in (
        ("report", "9999"),
        ("show", "9999"),
        ("export", "9999", "out"),
        ("trace", "9999"),
        ("recommend", "9999"),
    ):
        refused(there(*command), "run '9999'", "no such run", "nearest: 0412-quick-7k2f")
    refused(there("show", "@last/C9"), "no such phone in this run", "there are: B3, B4")
    refused(there("show", "@last/B3/99"), "no such row", "lists the rows")
    refused(there("trace", "@last/B3/cpu all 4t"), "nothing of it was traced")


def test_an_unfinished_run_is_reported_as_one(there: Orch) -> None:
    text = there("report")
    assert text.code == 0, text
    assert "running" in text.out
    assert "not the whole run: 9 trials not ended yet" in " ".join(text.out.split())
    assert "not the whole run: 9 trials" in (there.home / "0412-quick-7k2f" / "report.md").read_text()
    assert "not the whole run: 9 trials" in (there.home / "0412-quick-7k2f" / "report.html").read_text()
    said = json.loads(there("report", "--format", "json").out)
    assert (said["head"]["state"], sum(counts["open"] for counts in said["counts"])) == ("running", 9)
    assert there("report", "--format", "junit").out.count('type="not_ended"') == 9


def cut_trace(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


DAMAGES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "is missing from"),
    "cut": (cut_trace, "its content has another digest"),
    "foreign": (lambda path: path.write_bytes(b"no trace\n"), "its content has another digest"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "is missing from"),
    "a gzip of nothing": (
        lambda path: path.rename(path.with_name(f"{path.name}.gz")), "is damaged: Not a gzipped file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_trace_that_cannot_be_read(there: Orch, refused: Refused, damage: str) -> None:
    spoil, words = DAMAGES[damage]
    spoil(kept_file(there, TRACED, "t.json"))
    reported = there("report", "--format", "json")
    assert reported.code == 0, reported
    (said,) = json.loads(reported.out)["unread"]
    assert said.startswith("attempt t1: t.json can't be read: ")
    assert words in said
    assert "made without: attempt t1: t.json can't be read" in " ".join(there("report").out.split())
    assert "made without: attempt t1" in (there.home / "0412-quick-7k2f" / "report.html").read_text()
    refused(there("export", "@last", "out"), said, "--lenient leaves it out")
    assert not (there.home.parent / "out").exists()
    ended = there("export", "@last", "out", "--lenient")
    assert (ended.code, f"left out: {said}" in ended.err) == (3, True), ended
    merged = there.home / "merged.json"
    refused(there("trace", "--out", merged), "attempt t1: t.json can't be read", words)
    assert not merged.exists()


def test_a_trace_that_never_was_one(there: Orch, refused: Refused) -> None:
    """What the phone gave, kept whole."""
    old = kept_file(there, TRACED, "t.json").name
    new = EvidenceStore(there.home).keep_bytes(b"no trace\n")
    with sqlite3.connect(there.home / "ledger.sqlite") as ledger:
        changed = ledger.execute("update attempt set evidence = replace(evidence, ?, ?)", (old, new))
        assert changed.rowcount > 0
    ledger.close()
    words = "attempt t1: t.json can't be read: the trace holds no event that ONNX Runtime writes"
    assert json.loads(there("report", "--format", "json").out)["unread"] == [words]
    refused(there("export", "@last", "out"), words)
    refused(there("trace"), "attempt t1: its trace can't be read: the trace holds no event")


def test_rounds_that_cannot_be_read(there: Orch, refused: Refused) -> None:
    path = kept_file(there, MEASURED, "stdout")
    path.write_bytes(path.read_bytes() + b"more\n")
    assert there("report").code == 0, "the answer needs no iterations"
    shown = there("show", "@last/B3/2")
    assert shown.code == 0, shown
    refused(there("export", "@last", "out"), "attempt a2: stdout can't be read", "its content has another digest")
    refused(there("report", "--format", "csv", "--out", "tables"), "attempt a2: stdout can't be read")


def test_a_log_that_cannot_be_read(there: Orch, refused: Refused) -> None:
    path = kept_file(there, "i0", "logcat")
    path.write_bytes(path.read_bytes()[:-1])
    shown = there("show", "@last/B3/2")
    text = " ".join(shown.out.split())
    assert shown.code == 0, shown
    assert f"log: (evidence {path.name.split('.')[0]} is damaged" in text
    assert "made without: attempt i0: logcat can't be read" in text
    assert "what NNAPI took is not known" in text
    refused(there("export", "@last", "out"), "attempt i0: logcat can't be read")


def test_output_that_cannot_be_written(there: Orch, refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    refused(there("export", "@last", file), str(file), "holds something already", "a folder that is not there yet")
    refused(there("export", "@last", file / "out"), str(file / "out"), "can't be")
    refused(there("report", "--format", "csv", "--out", file), str(file), "can't be written")
    refused(there("trace", "--out", file / "t.json"), str(file / "t.json"), "can't be written: File exists")
    refused(there("trace", "--out", there.home), str(there.home), "can't be written")
    (there.home / "0412-quick-7k2f").write_text("in the way\n")
    ended = there("report")
    assert (ended.code, "0412-quick-7k2f: the report can't be written: File exists" in ended.err) == (2, True), ended
    assert "no answer" in ended.out, "what is asked for here is printed"


@pytest.mark.parametrize("share", ["0", "100%", "-1%", "five", ""])
def test_a_share_that_is_none(there: Orch, refused: Refused, share: str) -> None:
    refused(there("recommend", "--within", share), "--within", "no share between 0 and 100 %")

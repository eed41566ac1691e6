"""`orch disk`, `orch import`, bundles, `orch status` of what is not as it should be: one clear error, and nothing is
removed or kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.bad_input.conftest import Refused
from tests.orch_cli import Orch


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("disk", "clean"), ("neither what is old nor how much may stay", "--older 90d, --bound 20GB")),
        (("disk", "clean", "--older", "90"), ("--older: '90' is no age", "90d, 12w or 36h")),
        (("disk", "clean", "--older", "-1d"), ("--older: '-1d' is no age",)),
        (("disk", "clean", "--bound", "20"), ("--bound: '20' is no size", "20GB, 500MB or 1.5TB")),
        (("disk", "clean", "--bound", "0GB"), ("--bound: '0GB' is no size",)),
        (("disk", "clean", "--older", "1y", "--bound", "x"), ("--older: '1y'", "--bound: 'x'")),
        (("disk", "clean", "--older", "1d", "--force", "--keep-compared"), ("--force: contradicts --keep-compared",)),
        (("disk", "--home", "elsewhere", "clean", "--older", "1d"), ("stand behind it", "orch disk clean --home DIR")),
        (("disk", "--device", "B9="), ("B9=",)),
        (("disk", "cleen"), ("cleen",)),
        (("import", "nothing.orch"), ("nothing.orch: is no file", "orch export RUN --bundle FILE makes one")),
        (("import", "."), (".: is no file",)),
        (("export", "@last"), ("neither DIR nor --bundle FILE", "orch export RUN DIR, or")),
        (("export", "@last", "out", "--bundle", "x"), ("DIR contradicts --bundle",)),
        (("export", "@last", "--bundle", "x", "--evidence"), ("has raw files and no tables",)),
        (("export", "@last", "--bundle", "no/such/x"), ("no/such/x: can't be written",)),
        (("export", "9999", "--bundle", "x"), ("run '9999'", "no such run")),
    ],
    ids=" ".join,
)  # fmt: skip
def test_words_that_make_no_sense(there: Orch, refused: Refused, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    refused(there(*words), *said)
    assert not (there.home.parent / "x").exists()


def test_no_ledger_and_none_is_made(orch: Orch, refused: Refused) -> None:
    for words in (("disk",), ("disk", "clean", "--older", "1d"), ("export", "@last", "--bundle", "x")):
        refused(orch(*words), "no ledger is there", "--home DIR")
    assert not orch.home.exists()


def test_a_bundle_that_is_none_or_there_already(there: Orch, refused: Refused) -> None:
    file = there.home.parent / "run.orch"
    file.write_text("hello")
    refused(there("import", file), f"{file}: is no bundle", "orch export RUN --bundle FILE")
    refused(there("export", "@last", "--bundle", file), "is there already", "not there yet")
    assert file.read_text() == "hello"


def test_a_mark_that_nobody_knows(there: Orch, refused: Refused) -> None:
    assert there("disk").code == 0
    with sqlite3.connect(there.home / "ledger.sqlite") as ledger:
        ledger.execute("insert into kept select run_id, '', '', 'adored', '2026-04-12T00:00:00+00:00', '' from run")
    ledger.close()
    before = sorted(Path(there.home / "evidence").rglob("*"))
    refused(there("disk", "clean", "--older", "0d"), "a stored Use can't be read: 'adored'")
    assert sorted(Path(there.home / "evidence").rglob("*")) == before

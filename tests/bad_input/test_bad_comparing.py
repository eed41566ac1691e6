"""`orch compare` of what can't be compared or written: one clear error, exit 2, nothing on stdout, no home made."""

from __future__ import annotations

import sqlite3

import pytest

from orchestrator.cli.compare import ACROSS
from tests.bad_input.conftest import Refused
from tests.orch_cli import Orch


def test_no_ledger_and_none_is_made(orch: Orch, refused: Refused) -> None:
    refused(orch("compare", "@last", "@last"), str(orch.home), "no ledger is there", "--home DIR")
    assert not orch.home.exists()


def test_a_half_written_ledger(there: Orch, refused: Refused) -> None:
    ledger = there.home / "ledger.sqlite"
    ledger.write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])
    refused(there("compare", "@last", "@last"), "ledger.sqlite", "damaged")


def test_a_ledger_of_a_newer_schema(there: Orch, refused: Refused) -> None:
    with sqlite3.connect(there.home / "ledger.sqlite") as ledger:
        (newest,) = ledger.execute("select max(number) from schema_migration").fetchone()
        ledger.execute("update schema_migration set number = 999 where number = ?", (newest,))
    ledger.close()
    refused(there("compare", "@last", "@last"), "ledger.sqlite", "999", "newer")


def test_an_unfinished_run(there: Orch, refused: Refused) -> None:
    refused(there("compare", "@last", "@last"), "unfinished (running)", "trials are open", "--unfinished")
    asked = there("compare", "@last", "@last", "--unfinished")
    refused(asked, "nothing says which of its cases meet", "--map basic=all")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nosuchrun", "@last"), ("run 'nosuchrun'", "nearest")),
        (("@last/B9", "@last"), ("/B9: no such phone or row", "lists them")),
        (("@last/B3/none", "@last"), ("/B3/none: no such phone or row", "lists them")),
        (("@last", "@last", "--across", "weather"), ("unknown --across 'weather'", *ACROSS)),
        (("@last", "@last", "--fail-if", "p50"), ("--fail-if p50: is no gate", "METRIC:PERCENT%")),
        (("@last", "@last", "--fail-if", "p50:5%", "--fail-if", "speed:5%"), ("--fail-if speed:5%",)),
        (("@last", "@last", "--delta", "0"), ("--delta 0: is no share",)),
        (("@last", "@last", "--map", "basic"), ("--map basic: no name", "--map OLD=NEW")),
        (("@last", "@last", "--map", "x=y"), ("BASE has no model, row or recipe 'x'", "nearest")),
        (("@last", "@last", "--format", "xml"), ("'xml'",)),
        (("@last", "@last", "--junit", "no/such/folder/out.xml"), ("--junit no/such/folder/out.xml", "no folder")),
        (("@last", "@last", "--junit", "."), ("--junit .: is a folder",)),
        (("@last",), ("NEW",)),
    ],
)
def test_bad_words(there: Orch, refused: Refused, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    refused(there("compare", *words, "--unfinished"), *said)


def test_a_case_that_meets_itself_is_none(there: Orch, refused: Refused) -> None:
    said = there("compare", "@last", "@last", "--unfinished", "--map", "mnist=mnist")
    refused(said, "nothing says which of its cases meet")


def test_junit_where_nothing_can_be_written(there: Orch, refused: Refused) -> None:
    refused(there("compare", "@last", "@last", "--junit", "/proc/self/out.xml"), "--junit /proc/self/out.xml")

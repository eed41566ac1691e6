"""docs/operations.md names each way in which something can go wrong, with what to do; the code is walked, no list."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from android_runner.adb.discovery import MENDS
from android_runner.errors import Blame, Retry, RunnerError
from android_runner.recovery.keeper import ServerNews
from android_runner.recovery.ladder import MENDS as LADDER_MENDS
from android_runner.recovery.rungs import Result, Rung, Seen
from orchestrator.app.claims import PhonesBusy
from orchestrator.errors import ExitCode, FarmError
from orchestrator.outcome import INVALID, Failed, SkipReason, rejected
from orchestrator.store.attempt_evidence import EvidenceUnread
from orchestrator.variants.steps.apply import NothingToDo

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "operations.md"
PACKAGES = ("android_runner", "orchestrator")
LEAST_ADVICE = 8
"""Letters that advice takes: `fastboot reboot` is one, a dash is none."""


def rows(section: str) -> dict[str, list[str]]:
    """The rows of the table under a heading, by their first cell."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")
    assert len(text) == 2, f"one section {section!r}"
    lines = [line for line in text[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]
    named = {row[0].strip("`"): row for row in cells}
    assert len(named) == len(cells), f"{section}: a name stands twice"
    assert all(len(row[-1]) >= LEAST_ADVICE for row in cells), f"{section}: a row without advice"
    return named


def leaves(base: type) -> set[type]:
    """The classes below `base` in our packages that have none below themselves in their own module."""
    found: set[type] = set()
    for below in base.__subclasses__():
        if below.__module__.split(".")[0] in PACKAGES:
            of_its_own = any(each.__module__ == below.__module__ for each in below.__subclasses__())
            found |= leaves(below) | (set() if of_its_own else {below})
    return found


def documented(kind: type[RunnerError]) -> tuple[str, str, str]:
    return kind.kind, str(kind.blame), str(kind.retry)


def test_every_error_of_a_phone() -> None:
    table = rows("Errors of one phone")
    told = {(name, row[1], row[2]) for name, row in table.items()}
    rejection: Failed = rejected([])
    known = {documented(leaf) for leaf in leaves(RunnerError)} | {(INVALID, str(rejection.blame), str(rejection.retry))}
    assert told == known


def test_every_error_on_this_computer() -> None:
    told = {(name, row[1]) for name, row in rows("Errors on this computer").items()}
    assert told == {(leaf.__name__, str(int(leaf.exit_code))) for leaf in leaves(FarmError)}


def test_every_reason_to_skip() -> None:
    assert set(rows("Skipped")) == {str(reason) for reason in SkipReason}


def test_every_exit_code() -> None:
    assert set(rows("Exit codes")) == {str(int(code)) for code in ExitCode}


def test_every_state_of_adb() -> None:
    assert set(rows("Phones that can't be used")) == set(MENDS)


def test_every_rung_and_what_came_of_it() -> None:
    assert set(rows("Rungs")) == {str(rung) for rung in Rung}
    assert set(rows("What came of a rung")) == {str(result) for result in Result}


def test_every_event_of_an_adb_server() -> None:
    assert set(rows("What befalls an adb server")) == {str(news) for news in ServerNews}


def test_every_sight_of_a_phone() -> None:
    assert set(rows("What is seen of a phone")) == {str(seen) for seen in Seen}
    assert set(LADDER_MENDS) == set(Seen) - {Seen.ANSWERS}


@pytest.mark.parametrize("word", [*Blame, *Retry])
def test_the_words_are_explained(word: str) -> None:
    assert f"`{word}`" in PAGE.read_text(encoding="utf-8").split("\n## ")[0]


def test_no_error_is_defined_where_this_test_does_not_look() -> None:
    known = {each.__name__ for base in (RunnerError, FarmError) for each in (base, *below(base))}
    assert {PhonesBusy.__name__, NothingToDo.__name__, EvidenceUnread.__name__} <= known
    defined = {
        node.name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in known for base in node.bases)
    }
    assert defined <= known


def below(base: type) -> set[type]:
    return {each for direct in base.__subclasses__() for each in {direct} | below(direct)}

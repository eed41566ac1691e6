"""docs/security.md names a test for each control and each refusal, and each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows(section: str) -> list[str]:
    """The rows of the table under a heading, without its head."""
    part = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("|")][2:]


ROWS = [*rows("Threats and controls"), *rows("What is refused")]


def test_the_tables_are_there() -> None:
    assert len(rows("Threats and controls")) >= 20
    assert len(rows("What is refused")) >= 20
    assert len(set(ROWS)) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:50])
def test_each_row_names_a_test_that_exists(row: str) -> None:
    last = row.split("|")[-2]
    named = _TEST.findall(last)
    assert len(named) == 1, last
    path, test = named[0]
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

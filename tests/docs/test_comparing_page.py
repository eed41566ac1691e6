"""docs/comparing.md: its five worked examples are measured and run, and say what the page quotes, but for figures."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from orchestrator.cli.compare import ACROSS
from orchestrator.measure.contrast import Word
from orchestrator.measure.discoveries import rounds_to_tell
from orchestrator.report.comparison.nouns import Across
from tests.comparing_examples import COMMANDS, Examples, measured

pytestmark = pytest.mark.xdist_group("comparing-examples")  # one home with its runs for all
PAGE = (Path(__file__).parent.parent.parent / "docs" / "comparing.md").read_text(encoding="utf-8")
QUOTED = dict(re.findall(r"^```console\n\$ orch (.*)\n((?:.*\n)*?)```", PAGE, flags=re.MULTILINE))
CODES = dict(zip(COMMANDS, (0, 0, 0, 1, 2), strict=True))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examples]:
    made = measured(tmp_path_factory.mktemp("comparing"))
    yield made
    made.orch.end()


def without_figures(text: str) -> str:
    """Words as they are, numbers, days and digests as marks: what a computer measures differs a little each time."""
    text = re.sub(r"\b[0-9a-f]{10}\b|\d{4}-\d\d-\d\d \d\d:\d\d", "#", text)
    text = re.sub(r"(?<![\w/.-])[+−-]?\d+(\.\d+)?(e-\d+)?(?![\w/])", "#", text)
    return " ".join(re.sub(r"canary (flat \(# %\)|# % (faster|slower) in NEW)", "canary #", text).split())


def test_the_page_has_the_five() -> None:
    assert tuple(QUOTED) == COMMANDS


@pytest.mark.timeout(300)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_says_what_is_quoted(examples: Examples, command: str) -> None:
    ended = examples(*shlex.split(command))
    assert ended.code == CODES[command], ended
    assert without_figures(examples.said(ended)) == without_figures(QUOTED[command])


@pytest.mark.timeout(300)
def test_gates_for_a_ci_system(examples: Examples, tmp_path: Path) -> None:
    path = tmp_path / "gates.xml"
    words = "compare", "0412-base-7k2f", "0420-os-b5rd", "--fail-if", "p50:5%", "--fail-if", "size:1%"
    ended = examples(*words, "--junit", path, "--format", "md")
    assert ended.code == 1, ended
    assert "| failed | p50:5% |" in ended.out
    suites = ElementTree.parse(path).getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("6", "3", "0")
    assert list(tmp_path.iterdir()) == [path]
    lenient = examples("compare", "0412-base-7k2f", "0420-os-b5rd", "--fail-if", "p50:50%", "--strict")
    assert lenient.code == 0, lenient


def test_the_page_knows_the_words() -> None:
    assert "|".join(Across) in PAGE
    assert tuple(Across) == ACROSS
    for word in Word:
        assert f"`{word}`" in PAGE
    assert f"takes {rounds_to_tell(12)} rounds in each run, among 300 cases {rounds_to_tell(300)}" in PAGE

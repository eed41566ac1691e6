"""docs/json.md says what every command's JSON is; what the commands print is held against it, on a real run."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.app.preparing import PutBack
from orchestrator.cli.main import COMMANDS as PROGRAM
from tests.docs.json_shapes import COMMANDS, Command, name_of, nouns, page, problems, shape_of
from tests.forked_orch import ROOT
from tests.orch_cli import Orch
from tests.unit.store.sample_home import make_home

PAGE = ROOT / "docs" / "json.md"
BEGIN, END = "<!-- made from the program's types: begin -->\n", "<!-- end -->\n"
pytestmark = pytest.mark.xdist_group("json")

ARGUMENTS = {
    "orch disk --json": ["--device", "virtual:pixel-8"],
    "orch disk clean --json": ["--older", "0d", "--dry-run"],
    "orch compare --format json": [
        "@last", "@last", "--across", "settings", "--map", "cpu basic=nnapi basic", "--fail-if", "p50:500%",
    ],
    "orch show --json": ["@last/virtual-pixel-8-1/1"],
    "orch show --history --json": ["@last/virtual-pixel-8-1/1"],
    "orch model build --json": ["mnist.onnx", "--recipe", "basic", "--recipe", "all", "--check"],
    "orch model check --json": ["mnist.onnx"],
    "orch model diff --json": ["mnist.onnx", "mnist.onnx:basic"],
    "orch model ship --json": ["mnist.onnx", "--out", "shipped"],
    "orch model table --json": ["mnist.onnx", "--recipe", "basic"],
    "orch devices --json": ["--virtual"],
    "orch devices list --json": ["--virtual"],
    "orch devices restore --json": ["--virtual"],
}  # fmt: skip


def test_the_page_is_what_the_types_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    made, _, tail = rest.partition(END)
    if os.environ.get("ORCH_BLESS") == "1":
        PAGE.write_text(head + BEGIN + page() + END + tail, encoding="utf-8")
        return
    assert made == page(), "ORCH_BLESS=1 writes it anew"


def test_each_object_has_a_name_of_its_own_and_says_what_it_is() -> None:
    names = [name_of(noun) for noun in nouns()]
    assert sorted(set(names)) == sorted(names)
    assert [name for name, noun in zip(names, nouns(), strict=True) if not (noun.__doc__ or "").strip()] == []


def with_json(command: Any, words: str) -> Iterator[str]:
    """A command and those below it, with the option that makes it print JSON."""
    for parameter in command.params:
        if "--json" in parameter.opts:
            yield f"{words} --json"
        elif "--format" in parameter.opts and "json" in (parameter.help or ""):
            yield f"{words} --format json"
    for name, inner in getattr(command, "commands", {}).items():
        yield from with_json(inner, f"{words} {name}")


def test_no_command_prints_json_that_is_not_in_the_page() -> None:
    found: set[str] = set()
    for name, entry in PROGRAM.items():
        command: Any = typer.main.get_command(importlib.import_module(f"orchestrator.cli.{entry.module}").app)
        found |= set(with_json(getattr(command, "commands", {}).get(name, command), f"orch {name}"))
    assert found == {command.words.replace(" --history", "") for command in COMMANDS}, (
        "give it a line in tests/docs/json_shapes.py"
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, mnist: Path) -> Iterator[Orch]:
    """A home with a run of everything that a report has a place for, as far as a few seconds reach."""
    cli = Orch(tmp_path_factory.mktemp("json") / "home")
    (cli.home.parent / "mnist.onnx").write_bytes(mnist.read_bytes())
    (cli.home / "nightly").mkdir(parents=True)
    suite = 'models = ["mnist.onnx"]\ndevice = ["all"]\nstart = "22:00"\ndeadline = "06:00"\n'
    (cli.home / "nightly" / "lab.toml").write_text(suite)
    plan = cli.home.parent / "plan.toml"
    plan.write_text('[[matrix]]\nrecipe = ["onnx", "basic"]\n[[matrix]]\nrecipe = ["basic"]\nep = ["nnapi"]\n')
    ended = cli(
        "run", "mnist.onnx", plan, "--device", "virtual:pixel-8", "--rounds", "3", "--iterations", "5", "--trace",
        "--verify", "--tag", "nightly=lab", "--tag", "night=2026-04-12",
    )  # fmt: skip
    assert ended.code == 0, ended
    yield cli
    cli.end()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_a_command_prints_what_the_page_says(ran: Orch, command: Command) -> None:
    ended = ran(*command.words.split()[1:], *ARGUMENTS.get(command.words, []))
    value = json.loads(ended.out)
    if command.words.startswith(("orch report", "orch compare")):
        assert type(value.pop("schema")) is int
    assert list(problems(value, shape_of(command))) == [], ended.out[:2000]


def test_the_catalogue_of_faults(ran: Orch) -> None:
    value = json.loads(ran("virtual", "faults", "--kinds", "--json").out)
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch virtual faults --json")
    assert value
    assert list(problems(value, shape)) == []


def test_a_run_that_went_otherwise_than_planned(tmp_path: Path) -> None:
    """Failed, skipped and open trials, incidents, damaged evidence, a real phone: made without one."""
    cli = Orch(make_home(tmp_path / "home"))
    shapes = {one.words: shape_of(one) for one in COMMANDS}
    for words in ("orch report --format json", "orch show --json", "orch runs --json", "orch status --json"):
        rows = ["@last/B3/3"] if "show" in words else []
        value = json.loads(cli(*words.split()[1:], *rows).out)
        assert value
        if "report" in words:
            value.pop("schema")
        assert list(problems(value, shapes[words])) == []


def test_a_phone_that_could_not_be_put_back() -> None:
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch devices restore --json")
    assert list(problems([PutBack(phone="s1", run_id="r", problem="gone").as_dict()], shape)) == []


def test_what_is_wrong_is_seen() -> None:
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch runs --json")
    good = {
        "run_id": "r", "created_at": "2026-04-12T02:14:00+00:00", "state": "finished", "planned": 1, "measured": 1,
        "failed": 0, "skipped": 0, "living": None, "note": "", "elsewhere": "", "cut_off": False,
    }  # fmt: skip
    assert list(problems([good], shape)) == []
    wrong = [{**good, "more": 1}, {**good, "planned": "1"}, {**good, "state": "dancing"}, {**good, "living": "7"}, 5]
    for one in (*wrong, {name: good[name] for name in list(good)[1:]}):
        assert len(list(problems([one], shape))) == 1, one

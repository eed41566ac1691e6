"""The examples of README and docs are run: each `orch` line, each plan, each piece of Python."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.nights.suite import parse_suite
from orchestrator.plan.load import parse_plan
from tests.forked_orch import ROOT
from tests.orch_cli import Orch

pytestmark = pytest.mark.xdist_group("readme")  # one home with one run for all
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def orch_lines() -> list[str]:
    """Every `orch …` line of every shell block, comments and continuations taken out."""
    lines = []
    for page in PAGES:
        for block in blocks(page, "sh"):
            whole = block.replace("\\\n", " ")
            lines += [line.split("  #")[0].strip() for line in whole.splitlines() if line.startswith("orch ")]
    return list(dict.fromkeys(lines))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Orch:  # type: ignore[misc]
    """A home with one finished run on a virtual phone, beside the files that the examples name."""
    home = tmp_path_factory.mktemp("readme") / "home"
    cli = Orch(home)
    small = next(path for path in models.iterdir() if "mnist" in path.name)
    (home.parent / "models").mkdir()
    for name in ("model.onnx", "mnist.onnx", "old.onnx", "new.onnx", "models/mnist.onnx"):
        (home.parent / name).write_bytes(small.read_bytes())
    ended = cli("run", "mnist.onnx", "--device", "virtual:pixel-8", "--rounds", "3", "--iterations", "30")
    assert ended.code == 0, ended
    yield cli
    cli.end()


def runnable(line: str) -> list[str]:
    """The words of an example, with what only a lab has replaced: phones by a virtual one, perf_test by the stand-in,
    another onnxruntime's Python by this one.

    Runs become plans: what they would do is checked, not measured again.
    """
    words = shlex.split(line)[1:]
    out: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--device", "--perf-test", "--lib", "--converter"):
            skip = True
        else:
            here = re.sub(r"^ort-.*/bin/python$", sys.executable, word)
            here = re.sub(r"^binary=\S+-1\.22$", "dialect=old", re.sub(r"^binary=\S+-1\.23$", "dialect=new", here))
            out.append(re.sub(r"R58N30ABCDE", "virtual-pixel-8-1", here))
    if out[0] in ("run", "plan"):
        out = ["plan", *out[1:], "--device", "virtual:pixel-8"]
    if out[0] in ("ab", "tune"):
        out += ["--device", "virtual:pixel-8", "--dry-run"]
    return out


@pytest.mark.parametrize("line", orch_lines())
def test_each_command_line_works(lab: Orch, line: str) -> None:
    if "PLAN.toml" in line or "…" in line:
        pytest.skip(f"a form, not an example: {line}")
    if line.startswith(("orch virtual", "orch cancel", "orch devices", "orch replay", "orch nightly")):
        words = shlex.split(line)[1:]
        assert lab(*words[:2] if words[0] == "virtual" else words[:1], "--help").code == 0
        return
    ended = lab(*runnable(line))
    assert ended.code == 0, ended


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_each_piece_of_python_runs(lab: Orch, page: Path) -> None:
    for code in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", code], env=lab.env, cwd=lab.home.parent, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_plan_in_the_docs_is_one() -> None:
    import tomllib

    found = blocks(ROOT / "docs" / "plan.md", "toml")
    assert found
    for text in found:
        assert parse_plan(tomllib.loads(text), "docs/plan.md").matrix


def test_the_nightlies_in_the_docs_are_some() -> None:
    texts = [text for name in ("README.md", "docs/nightly.md") for text in blocks(ROOT / name, "toml")]
    assert len(texts) == 2
    for text in texts:
        assert parse_suite(text.encode(), "docs").device == ["all"]


def test_the_readme_quotes_a_real_report() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    report = re.search(r"<!-- report:begin -->\n```text\n(.*?)```\n<!-- report:end -->", text, flags=re.DOTALL)
    assert report is not None
    assert "virtual" in report[1]
    assert max(map(len, report[1].splitlines())) <= 80

"""The text of `orch model check`: names that somebody else chose do no harm, and lines keep their width."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.report.check_text import check_lines
from orchestrator.report.lines import rendered
from orchestrator.variants.checks.rules import check
from orchestrator.variants.facts_of_model import facts_of
from tests.unit.variants import check_nets, nets


def text_of(model: object, folder: Path, *, colour: bool = False) -> str:
    facts = replace(facts_of(nets.save(model, folder / "net.onnx"), {}), path="net.onnx")
    return rendered(check_lines([check(facts)], 80), colour=colour)


def test_names_from_a_model_can_not_move_the_cursor(tmp_path: Path) -> None:
    model = check_nets.chain("Softsign", "Relu")
    model.graph.node[1].name = "\x1b[2Jgone\r\n\u202e" + "long" * 60
    text = text_of(model, tmp_path)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[2Jgone" in text
    assert max(map(len, text.splitlines())) <= 80


def test_colour_adds_no_characters(tmp_path: Path) -> None:
    import re

    plain = text_of(check_nets.only_newer(), tmp_path)
    coloured = text_of(check_nets.only_newer(), tmp_path, colour=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain


def test_a_model_without_findings_says_so(tmp_path: Path) -> None:
    assert "no findings" in text_of(nets.model_of_opset(13), tmp_path)


def test_commands_are_broken_between_words(tmp_path: Path) -> None:
    model = check_nets.chain("Relu", shape=("a_long_name_for_a_batch", 3, "height_of_the_image", "width_of_the_image"))
    text = text_of(model, tmp_path)
    start = text.index("orch model build")
    lines = text[start : text.index("\n\n", start)].splitlines()
    assert len(lines) > 1
    assert all(line.endswith(" \\") for line in lines[:-1])
    joined = " ".join(line.removesuffix("\\").strip() for line in lines)
    assert "--dim a_long_name_for_a_batch=1 --dim height_of_the_image=224 --dim width_of_the_image=224" in joined

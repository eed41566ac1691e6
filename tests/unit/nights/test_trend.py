"""A series over nights as a noun, and as a drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from night_series import KEY, again, flat, night, nights, step

from orchestrator.nights.changes import What
from orchestrator.nights.nouns import CaseNight, Verdict
from orchestrator.nights.rule import judge_each
from orchestrator.report.html.trend_svg import trend_svg
from orchestrator.report.trend import trend

SVG = "{http://www.w3.org/2000/svg}"


def course() -> list[CaseNight]:
    """A step of 8 % with a new binary on the twelfth night, a night without figures, and another system at the end."""
    history = nights(flat(12)) + nights([step(8)], first=12, binary_digest="b2")
    history.append(again(history[-1], step(8), binary_digest="b2"))
    history += nights([step(8), float("nan"), step(8), step(8)], first=13, binary_digest="b2")
    return [*history, *nights([step(8)] * 2, first=17, binary_digest="b2", fingerprint="os2")]


def test_a_trend_has_a_point_a_night_marks_and_steps() -> None:
    found = trend(course(), label="B3")
    assert (found.phone, found.label, found.model, found.row) == ("phone", "B3", "net", "cpu all")
    assert len(found.points) == 19
    marks = {at: [one.what for one in point.marks] for at, point in enumerate(found.points) if point.marks}
    assert marks == {12: [What.BINARY], 17: [What.SYSTEM]}
    (only,) = found.steps
    assert (only.night, only.run) == ("2026-04-13", "run-12")
    assert only.ratio == pytest.approx(1.08, abs=0.01)
    assert [(piece.first, piece.last) for piece in found.pieces] == [(0, 11), (12, 18)]
    bad, missing = found.points[12], found.points[14]
    assert (bad.verdict, bad.rounds) == (Verdict.REGRESSED, 3)
    assert bad.again_s == pytest.approx(0.0108, abs=0.0001)
    assert (missing.level_s, missing.ended, missing.verdict) == (None, "failed: crashed", Verdict.INSUFFICIENT)
    assert found.judged is not None
    assert found.judged.night == "2026-04-19"


def test_words_that_were_said_are_taken_as_they_are() -> None:
    history = nights(flat(3))
    said = [replace(one, verdict=Verdict.SUSPECTED) for one in judge_each(history)]
    assert [one.verdict for one in trend(history, said).points] == [Verdict.SUSPECTED] * 3
    with pytest.raises(ValueError, match="2 words on 3 nights"):
        trend(history, said[:2])
    with pytest.raises(ValueError, match="no trend"):
        trend([])


def test_the_drawing_is_one_element_that_holds_all_nights() -> None:
    root = ET.fromstring(trend_svg(trend(course(), label="B3")))
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "B3, net, cpu all: 19 nights; steps: +8.1% from 2026-04-13"
    assert len(root.findall(f".//{SVG}circle")) == 18 + 1
    assert [one.text for one in root.findall(f"{SVG}text") if one.text == "×"] == ["×"]
    dashed = root.findall(f".//{SVG}line[@stroke-dasharray]")
    assert len(dashed) == 2
    width = float(root.attrib["width"])
    for one in root.iter(f"{SVG}circle"):
        assert 0 < float(one.attrib["cx"]) < width
        assert 0 < float(one.attrib["cy"]) < float(root.attrib["height"])


def test_a_drawing_of_nothing_and_of_one_night() -> None:
    for history in (nights([float("nan")]), nights([0.0]), [night(0, 0.0)] * 2):
        ET.fromstring(trend_svg(trend(history)))


def test_hostile_words_stay_words() -> None:
    evil = '</title><script>alert(1)</script>"\x1b[2J'
    key = replace(KEY, model_name=evil, row_name=evil)
    history = [replace(one, key=key) for one in nights(flat(9))]
    history += [replace(one, key=key) for one in nights([0.0], first=9, fingerprint=evil, converter=evil)]
    history.append(replace(night(10, float("nan")), key=key, ended=evil, night=evil))
    drawn = trend_svg(trend(history, label=evil))
    ET.fromstring(drawn)
    assert "<script" not in drawn
    assert "\x1b" not in drawn

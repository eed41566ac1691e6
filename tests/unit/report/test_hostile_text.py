"""What a phone, a file name or a driver says may look like anything; what is shown of it may not act."""

import json
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_frames import Made, lab
from rich.cells import cell_len
from test_whole_outputs import DEVICES, plan

from orchestrator.report.as_json import render_json
from orchestrator.report.devices import render_devices
from orchestrator.report.lines import as_listed, fit, left, line, middle, rendered, right, shown, wrap
from orchestrator.report.markdown import render_markdown
from orchestrator.report.markdown_parts import code_block, escaped
from orchestrator.report.plan_text import render_plan
from orchestrator.report.progress import LaneProgress, RunProgress, lane_lines, progress_line
from orchestrator.report.show import parse_target, show
from orchestrator.report.show_text import render_show
from orchestrator.report.summarize import summarize
from orchestrator.report.terminal import render_terminal

EVIL = (
    "\x1b]0;owned\x07\x1b[2J",
    "a\r\nb\x00c\x9b31m",
    "\u202eevil\u202c \u2066x\u2069 \u200b\ufeff",
    "| a | <script>alert(1)</script> <!-- `x` **b** [l](javascript:x) ![i](http://h/p) |",
    "名前の長いモデル" * 12,
    "x" * 300,
    "😀👩‍👩‍👧‍👦é\u0301" * 9,
    "",
    "# heading\n- list\n1. one\n```\ncode",
)
SGR = re.compile(r"\x1b\[\d+m")


def nasty(text):
    """Frames of which every word that can be somebody else's is `text`."""
    made = Made(rounds=3)
    phone = made.phone("serial-0", text, text)
    virtual = made.phone("serial-1", f"{text}v", text, virtual=True)
    for each in (phone, virtual):
        refused = dict.fromkeys((1, 2, 3), (text, text))
        made.case(each, text, "default", 5.0)
        made.case(each, text, f"cpu {text}", 4.0, also=(text, f"other {text}"))
        made.case(each, text, f"twin {text}", 4.0, twin_of=f"cpu {text}")
        made.case(each, text, f"refused {text}", 4.0, fails=refused)
        made.case(each, text, f"skipped {text}", 4.0, skips={1: text, 2: text, 3: text})
        made.drop(each, text, text, text)
    made.variant(text, text, "g", 1000, {text: 3, "Conv": 1}, {text: 2})
    made.run = {key: text for key in ("run", "note", "host", "user", "plan_name", "binary_name", "binary_ort_version")}
    made.run["tags"] = (text, text)
    return made.frames()


def harmless(text):
    body = SGR.sub("", text)
    return all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in body)


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_every_view_is_harmless_at_80_columns_and_the_same_without_colour(evil):
    frames = nasty(evil)
    summary = summarize(frames)
    view = show(frames, parse_target("r/serial-0/1"), lambda _: evil.encode("utf-8", "replace"))
    devices = [
        replace(row, label=evil, device_model=evil, serial=evil, state=evil, where=evil, mend=evil) for row in DEVICES
    ]
    for draw in (
        lambda colour: render_terminal(summary, all_tables=True, width=80, colour=colour),
        lambda colour: render_terminal(summary, width=80, colour=colour),
        lambda colour: render_show(view, colour=colour),
        lambda colour: render_devices(devices, colour=colour),
        lambda colour: render_plan(replace(plan(), name=evil, notes=(evil,)), colour=colour),
    ):
        bare, coloured = draw(False), draw(True)
        assert harmless(bare)
        assert harmless(coloured)
        assert [row.rstrip() for row in SGR.sub("", coloured).splitlines()] == bare.splitlines()
        assert [row for row in bare.splitlines() if cell_len(row) > 80] == []


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_markdown_has_no_markup_of_others(evil):
    text = render_markdown(summarize(nasty(evil)), repeat_command=evil)
    assert harmless(text)
    outside = re.sub(r"(?ms)^(`{3,})sh$.*?^\1$", "", text)
    assert "<" not in outside
    assert "javascript:x)" not in re.sub(r"\\.", "", outside) or "](" not in re.sub(r"\\.", "", outside)
    assert "`" not in re.sub(r"\\.", "", outside)
    columns = [re.sub(r"\\.", "", row).count("|") for row in outside.splitlines() if row.startswith("|")]
    tables = [row.count("|") for row in outside.splitlines() if re.fullmatch(r"\|( -+:? \|)+", row)]
    assert set(columns) == set(tables)


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_json_is_ascii_and_keeps_the_words(evil):
    text = render_json(summarize(nasty(evil)))
    assert text.isascii()
    assert json.loads(text)["models"][0]["model"] == evil


@given(st.text(max_size=200), st.integers(2, 90))
def test_columns_are_exact_and_wraps_fit(text, width):
    assert cell_len(left(text, width)) == width
    assert cell_len(right(text, width)) == width
    assert cell_len(fit(text, width)) <= width
    assert cell_len(middle(text, width)) <= width
    assert all(cell_len(row) <= width for row in wrap(text, width))
    assert "".join("".join(wrap(text, width)).split()) == "".join(shown(text).split())


@given(st.text(max_size=100))
def test_shown_is_harmless_and_stable(text):
    assert harmless(shown(text))
    assert shown(shown(text)) == shown(text)
    assert "\n" not in shown(text)


def test_a_lone_surrogate_can_be_written():
    assert shown("\ud800 lone") == "\\ud800 lone"


def test_a_style_adds_no_character():
    spans = line("plain ", "  ")
    assert rendered([spans], colour=True) == rendered([spans], colour=False) == "plain\n"


@given(st.text(max_size=60))
def test_escaped_markdown_shows_the_words(text):
    shows = re.sub(r"\\([\\`*_\[\]|~#:])", r"\1", escaped(text))
    assert shows.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == shown(text)


def test_a_fence_is_longer_than_any_in_the_text():
    fence = code_block("a ```` b")[0]
    assert fence == "`````sh"


def test_names_stand_as_a_person_lists_them():
    labels = ["virtual-pixel-8-10", "B3", "6d1f9e0a", "virtual-pixel-8-9", "R58N30ABCDE", "B21", "virtual-pixel-8-1"]
    in_order = ["6d1f9e0a", "B3", "B21", "R58N30ABCDE", "virtual-pixel-8-1", "virtual-pixel-8-9", "virtual-pixel-8-10"]
    assert sorted(labels, key=as_listed) == in_order


@given(st.lists(st.text(max_size=12)))
def test_any_name_has_its_place(labels):
    assert sorted(sorted(labels, key=as_listed)) == sorted(labels)


@given(st.text(max_size=80), st.integers(20, 100))
def test_progress_fits_in_its_width(text, width):
    lane = LaneProgress(name=text, done=5, total=35, what=text, round=1, battery_c=41.2, clock_ghz=1.1, left_s=9000.0)
    view = RunProgress(plan_name="quick", done=5, total=35, left_s=151.0, so_far=text, lanes=(lane,))
    rows = [progress_line(view, width=width), *lane_lines(view.lanes, width=width)]
    assert all(cell_len(row) <= width and harmless(row) and "\n" not in row for row in rows)


def test_progress_keeps_the_count_and_drops_the_hint_first():
    view = RunProgress(plan_name="quick", done=47, total=105, left_s=151.0, so_far="B3: cpu all 4t 2.3×")
    assert progress_line(view) == "quick  47/105  2:31 left  so far B3: cpu all 4t 2.3×  (Ctrl-C: stop, keep)"
    assert progress_line(view, width=60) == "quick  47/105  2:31 left  so far B3: cpu all 4t 2.3×"
    assert progress_line(view, width=30) == "quick  47/105  2:31 left  so …"


def test_the_lab_fits_in_every_width_from_80():
    summary = summarize(lab())
    for width in (80, 100, 132):
        for row in render_terminal(summary, all_tables=True, width=width).splitlines():
            assert cell_len(row) <= width

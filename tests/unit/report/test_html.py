"""The page: its map, its drawing, and that nothing of what it shows acts."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_frames import Made, lab
from test_hostile_text import EVIL, nasty

from orchestrator.report.html.heat import Mark, heat_map, one_setting
from orchestrator.report.html.layout import places
from orchestrator.report.html.page import render_html
from orchestrator.report.html.pairs import graph_pairs
from orchestrator.report.summarize import summarize


class Page(HTMLParser):
    """The elements of a page, with their attributes, and what its data say."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_data(self, data):
        if self.found and self.found[-1][1].get("id") == "page-data":
            self.words.append(data)

    @property
    def data(self):
        return json.loads("".join(self.words))

    def with_(self, attribute):
        return [attrs[attribute] for _, attrs in self.found if attribute in attrs]


@pytest.fixture(scope="module")
def frames():
    return lab()


@pytest.fixture(scope="module")
def page(frames):
    return render_html(summarize(frames), frames)


def test_its_title_is_the_sentence_and_every_cell_that_it_names_is_there(frames, page):
    summary = summarize(frames)
    assert f"<title>{summary.headline}</title>".replace("'", "&#39;") in page
    read = Page(page)
    assert read.with_("data-cell")
    assert set(read.with_("data-cell")) == set(read.data["cells"])


def test_it_loads_nothing(page):
    read = Page(page)
    assert "default-src 'none'" in next(attrs["content"] for tag, attrs in read.found if "http-equiv" in attrs)
    assert not [attrs for tag, attrs in read.found if attrs.get("src")]
    links = {attrs["href"] for tag, attrs in read.found if attrs.get("href")}
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    anchors = {f"#{attrs['id']}" for _, attrs in read.found if "id" in attrs}
    assert links - {"#", "data:,"} <= anchors


def test_a_cell_has_its_rounds_and_how_to_see_more(frames, page):
    cells = Page(page).data["cells"]
    attempts = frames.attempts
    timed = attempts[attempts["purpose"].fillna("time") == "time"] if "purpose" in attempts else attempts
    shown = sum(len(cell["rounds"]) for cell in cells.values())
    assert 0 < shown <= len(timed)
    assert all(cell["show"].startswith("orch show ") for cell in cells.values())


@pytest.mark.parametrize("text", EVIL)
def test_whatever_is_said_becomes_neither_element_nor_script(text):
    frames = nasty(text)
    harmless = nasty("plain")
    tags = [tag for tag, _ in Page(render_html(summarize(frames), frames)).found]
    plain = [tag for tag, _ in Page(render_html(summarize(harmless), harmless)).found]
    assert set(tags) <= set(plain) | {"a"}
    assert tags.count("script") == 3
    Page(render_html(summarize(frames), frames)).data  # noqa: B018 - it is JSON still


def test_control_and_reading_direction_are_written_out():
    frames = nasty("\u202eevil\x1b[2J")
    text = render_html(summarize(frames), frames)
    body = text[: text.index('<script type="application/json"')]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", body)


def made(**cases):
    """Two phones, the same settings; values are p50 in ms on B3 and B4."""
    rows = Made(rounds=5)
    for at, (serial, label) in enumerate((("s3", "B3"), ("s4", "B4"))):
        phone = rows.phone(serial, label, "Pixel")
        for name, values in cases.items():
            rows.case(phone, "net", name.replace("_", " "), values[at], noise=0.001)
    return rows


def test_the_map_has_the_baseline_first_and_marks_without_colour():
    frames = made(default=(4.0, 4.0), nnapi_basic=(2.0, 8.0), cpu_all=(3.0, 3.0)).frames()
    heat = heat_map(summarize(frames).models[0])
    assert heat.settings == ("default", "nnapi basic", "cpu all")
    first, second = ([cell.mark for cell in row.cells] for row in heat.rows)
    assert first == [Mark.PLAIN, Mark.WINNER, Mark.PLAIN]
    assert second == [Mark.PLAIN, Mark.PLAIN, Mark.WINNER]
    assert heat.rows[0].cells[1].words == "2.00"
    assert [round(cell.bar, 2) for cell in heat.rows[0].cells] == [0.5, 1.0, 0.67]


def test_what_was_no_trial_on_a_phone_says_why_in_its_place():
    rows = made(default=(4.0, 4.0), cpu_all=(3.0, 3.0))
    rows.case("s3", "net", "nnapi basic", 2.0)
    rows.drop("s4", "net", "nnapi basic", "API level 26: NNAPI came with 27")
    frames = rows.frames()
    heat = heat_map(summarize(frames).models[0])
    there, gone = (row.cells[heat.settings.index("nnapi basic")] for row in heat.rows)
    assert (there.mark, there.case != "") == (Mark.WINNER, True)
    assert (gone.mark, gone.case, gone.words) == (Mark.NOTHING, "", "")
    assert gone.why == "API level 26: NNAPI came with 27"
    assert f'<td class="nothing" title="{gone.why}">·</td>' in render_html(summarize(frames), frames)


def test_one_setting_for_all_is_the_one_that_loses_least():
    frames = made(default=(4.0, 4.0), nnapi_basic=(2.0, 8.0), cpu_all=(3.0, 3.0)).frames()
    phones = summarize(frames).models[0].phones
    assert one_setting(phones) == (
        "one setting for both answered phones: cpu all, at most 50 % slower than the best of a phone (B3)"
    )
    assert one_setting(phones[:1]) == ""
    apart = [replace(phone, rows=phone.rows[at : at + 1]) for at, phone in enumerate(phones)]
    assert one_setting(apart) == "no setting was ranked on both answered phones"


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(-3, 40), max_size=4), max_size=40))
def test_no_two_nodes_stand_in_one_place_and_each_stands_below_what_it_takes(after):
    found = places(after)
    assert len(set(found)) == len(found)
    for at, own in enumerate(after):
        assert all(found[one][1] < found[at][1] for one in own if 0 <= one < at)
    rows = {}
    for column, row in found:
        rows.setdefault(row, []).append(column)
    for columns in rows.values():
        columns.sort()
        assert all(b - a >= 1.0 - 1e-9 for a, b in pairwise(columns))
        assert columns[0] >= 0.0


def test_a_graph_is_drawn_where_the_run_kept_it(frames):
    attempts = frames.attempts.copy()
    attempts["variant"] = "v" * 64
    node = {"variant": "v" * 64, "nnapi_flags": (), "operator": "Conv", "shape": (1, 8), "reason": None}
    rows = [
        {**node, "api_level": level, "node": at, "name": f"n{at}", "after": (at - 1,) if at else ()}
        | {"partition": 0 if at else None}
        for level in (34, 33, 29, 27)
        for at in range(2)
    ]
    nodes = pd.DataFrame(rows)
    drawn = type(frames)(**{**vars(frames), "attempts": attempts, "nodes": nodes})
    data = Page(render_html(summarize(drawn), drawn)).data
    names = {cell["graph"] for cell in data["cells"].values()} - {""}
    assert names
    assert names == set(data["graphs"])
    first = next(iter(data["graphs"].values()))
    assert [(one["y"], one["partition"]) for one in first] == [(0, None), (1, 0)]


def chain(recipe, operators, level=34):
    return [
        {
            "variant": f"variant-net-{recipe}", "api_level": level, "nnapi_flags": (), "name": name, "operator": name,
            "after": list(range(at))[-1:], "partition": 0, "shape": [1],
        }
        for at, name in enumerate(operators)
    ]  # fmt: skip


def test_graphs_stand_in_pairs_and_twins_only_once():
    made = Made(rounds=3)
    phone = made.phone("s1", "B1", "Pixel 8")
    made.case(phone, "net", "default", 4.0)
    for recipe, graph in (("onnx", "g0"), ("basic", "g1"), ("all", "g2"), ("layout", "g2"), ("all runtime", "g3")):
        made.variant("net", recipe, graph, 1, {}, {}, "onnx" if recipe == "onnx" else "ort")
    (model,) = summarize(made.frames()).models
    assert graph_pairs(model, []) == [], "no graph was kept"
    nodes = [*chain("onnx", ["Conv", "Relu"], 29), *chain("onnx", ["Conv", "Relu"]), *chain("basic", ["Conv", "Relu"])]
    nodes += [*chain("all", ["FusedConv"]), *chain("layout", ["FusedConv"])]
    assert graph_pairs(model, chain("basic", ["Conv"])) == [], "there is nothing to hold it against"
    pairs = graph_pairs(model, nodes)
    assert [pair.name for pair in pairs] == ["basic", "all = layout"]
    own = [[node["own"] for node in side["nodes"]] for pair in pairs for side in pair.data["sides"]]
    assert own == [[False, False], [False, False], [True, True], [True]]
    assert len({pair.id for pair in pairs}) == 2
    assert graph_pairs(model, chain("onnx", ["Conv"] * 1501) + nodes[4:]) == [], "too large to be drawn"

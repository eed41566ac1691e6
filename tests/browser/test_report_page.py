"""The report in a true browser, headless: nothing is loaded, nothing overflows, everything can be read and used."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "unit" / "report"))

import pandas as pd
from report_frames import Made

from orchestrator.report.html.page import render_html
from orchestrator.report.summarize import summarize
from tests.browser.chromium import Seen, chromium_page

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]

EVIL = "<script>alert(1)</script>"
A4_PX = 718
"""The width of A4 at 96 dpi between margins of 1 cm."""
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


def graphs() -> pd.DataFrame:
    """A chain before and after its first two nodes became one, at the two API levels of a lab."""
    chains = {"onnx": ("Conv", "Relu", EVIL, "Softmax"), "basic": ("FusedConv", EVIL, "Softmax")}
    return pd.DataFrame(
        {
            "variant": f"variant-net-{recipe}", "recipe": recipe, "api_level": level, "nnapi_flags": [],
            "node": at, "name": operator.lower(), "operator": operator, "shape": [1, 8], "after": [at - 1][:at],
            "partition": None if operator == "Softmax" else 0, "reason": "dynamic" if operator == "Softmax" else None,
        }
        for recipe, chain in chains.items()
        for level in (29, 34)
        for at, operator in enumerate(chain)
    )  # fmt: skip


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a hostile case, a refused one, many settings, real and virtual phones."""
    made = Made(rounds=4)
    phones = [made.phone(f"s{at}", f"B{at}", "Pixel 8") for at in range(2)]
    phones.append(made.phone("v1", "virtual-1", "Pixel 8", virtual=True))
    for phone in phones:
        made.case(phone, "net", "default", 4.0)
        for at in range(9):
            made.case(phone, "net", f"nnapi basic {at}", 2.0 + at)
        made.case(phone, "net", EVIL, 3.0)
        made.case(phone, "net", "nnapi refused", 3.0, fails=dict.fromkeys(range(1, 5), ("model_refused", EVIL)))
    for row in [row for row in made.attempts if row["row"] == "nnapi basic 3" and row["round"] == 2]:
        row |= {"validity": "invalid", "validity_reasons": (f"too hot {EVIL}",), "counted": False}
    made.variant("net", "onnx", "g0", 1000, {"Conv": 2}, {"Conv": 2}, "onnx")
    made.variant("net", "basic", "g1", 1000, {"Conv": 2}, {"FusedConv": 1})
    frames = replace(made.frames(), nodes=graphs())
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_html(summarize(frames), frames), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[1280, 390], ids=["desktop", "390 px"])
def seen(request: pytest.FixtureRequest, page_file: Path) -> Iterator[Seen]:
    with chromium_page(str(CHROMIUM), width=request.param) as found:
        found.page.goto(page_file.as_uri())
        yield found


@pytest.fixture(autouse=True)
def quiet(seen: Seen) -> Iterator[None]:
    """After each test: no dialog, nothing on the console, nothing loaded but the file itself."""
    yield
    seen.page.keyboard.press("Escape")
    assert (seen.console, seen.dialogs) == ([], [])
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in seen.requests if url.startswith("file:")]) == 1


def test_nothing_scrolls_sideways(seen: Seen) -> None:
    wide, window = seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= window


def test_all_text_can_be_read(seen: Seen) -> None:
    assert seen.page.evaluate(CONTRAST) == []


def test_a_cell_opens_with_its_rounds_and_closes(seen: Seen) -> None:
    page = seen.page
    page.locator("table.heat td a").first.click()
    assert page.locator("dialog").is_visible()
    page.wait_for_selector("dialog .chart svg")
    assert page.locator("dialog tbody").first.locator("tr").count() == 4
    assert "orch show" in page.locator("dialog").inner_text()
    assert seen.page.evaluate(CONTRAST) == []
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()


def test_a_cell_says_why_its_number_is_what_it_is_and_what_it_costs_at_first(seen: Seen) -> None:
    seen.page.locator("table.settings a", has_text="default").first.click()
    body = seen.page.locator("#cell-body")
    assert body.locator("ol.why li").count() == 5
    assert "is the median of the p50s of 4 rounds" in body.locator("ol.why li").first.inner_text()
    assert "session created in" in body.inner_text()
    for command in ("show", "replay"):
        assert f"orch {command} '0412-quick-7k2f/B0/net default'" in body.inner_text()


def test_a_recipes_graph_stands_beside_its_source(seen: Seen) -> None:
    page = seen.page
    page.locator("details.variants summary").first.click()
    page.locator("[data-pair]").first.click()
    sides = page.locator("dialog .pair > div")
    assert sides.count() == 2
    assert "before: onnx, 4 nodes, 2 of its own" in sides.nth(0).inner_text()
    assert "after: basic, 3 nodes, 1 of its own" in sides.nth(1).inner_text()
    assert "* FusedConv" in "".join(sides.nth(1).locator("g.own.taken text").all_text_contents())
    assert sides.nth(0).locator("g.left").count() == 1
    assert EVIL in "".join(sides.nth(0).locator("title").all_text_contents())
    wide, window = page.evaluate("[document.querySelector('dialog').scrollWidth, window.innerWidth]")
    assert wide <= window
    assert seen.page.evaluate(CONTRAST) == []


def test_what_was_rejected_is_listed_with_its_reason(seen: Seen) -> None:
    section = seen.page.locator("#not-measured")
    assert "Measured, and rejected" in section.inner_text()
    row = section.locator("tr", has_text="too hot").first
    assert EVIL in row.inner_text()
    assert "nnapi basic 3" in row.inner_text()


def test_a_hostile_name_is_text(seen: Seen) -> None:
    page = seen.page
    page.locator("table.settings a", has_text=EVIL).first.click()
    assert EVIL in page.locator("#cell-title").inner_text()
    assert page.locator("script").count() == 3


def test_filters_and_sorting(seen: Seen) -> None:
    page = seen.page
    rows = page.locator("table.settings").first.locator("tbody tr:visible")
    everything = rows.count()
    page.fill("input[name=words]", "nnapi basic")
    assert rows.count() == 9
    page.fill("input[name=words]", "nnapi")
    assert rows.count() == 10
    page.check("input[name=measured]")
    assert rows.count() == 9
    page.uncheck("input[name=measured]")
    page.fill("input[name=words]", "")
    assert rows.count() == everything
    slowest, first = page.locator("table.settings").first.locator("thead button", has_text="p50 ms"), rows.nth(0)
    before = first.inner_text()
    slowest.click()
    slowest.click()
    assert first.inner_text() != before
    assert slowest.get_attribute("aria-sort") == "descending"
    page.locator("table.settings").first.locator("thead button", has_text="#").click()
    assert first.inner_text() == before


def test_it_prints_without_controls(seen: Seen) -> None:
    before = seen.page.viewport_size
    folded = seen.page.locator("main details:not([open])")
    seen.page.emulate_media(media="print")
    try:
        assert not seen.page.locator("form.filter").first.is_visible()
        assert seen.page.locator("table.answers").first.is_visible()
        folded.first.wait_for(state="detached")
        assert seen.page.locator("table.settings").last.is_visible()
        seen.page.set_viewport_size({"width": A4_PX, "height": 900})
        wide, window = seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide <= window
    finally:
        seen.page.emulate_media(media="screen")
        seen.page.set_viewport_size(before)
    folded.first.wait_for(state="attached")

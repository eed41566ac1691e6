"""The morning digest in a true browser, headless: nothing is loaded or run, nothing overflows, all can be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.app.alerting import end_night
from orchestrator.home import Home
from orchestrator.report.morning.page import digest_html
from orchestrator.store.ledger import Ledger
from tests.browser.chromium import chromium_page
from tests.unit.app.lab_of_nights import B3, B4, C1, MODELS, NIGHTLY, Night, measure

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.xdist_group("browser"),
]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
EVIL = "<script>alert(1)</script>" + "w" * 60


def test_a_digest_fits_a_desktop_and_a_telephone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, B4, (EVIL, "Tensor G3"))
    ledger = Ledger.open(tmp_path)
    for day in range(1, 9):
        measure(ledger, Night(day=day))
    step = {"slower": {B3: 1.08, C1: 1.05}, "binary": "cc" * 32}
    measure(ledger, Night(day=9, dies=[B4], **step))
    measure(ledger, Night(day=9, phones=(B3, C1), confirms="0409-lab", **step))
    found, _ = end_night(Home(tmp_path), ledger, NIGHTLY, "2026-04-09")
    ledger.close()
    page = tmp_path / "digest.html"
    page.write_text(digest_html(found), encoding="utf-8")
    with chromium_page(str(CHROMIUM), width=1280) as seen:
        for width in (1280, 390):
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.goto(page.as_uri())
            wide, window = seen.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert wide <= window
            assert seen.page.evaluate(CONTRAST) == []
            hands = seen.page.locator("#hands")
            assert EVIL in hands.inner_text()
            assert hands.bounding_box()["y"] < 300, "who needs hands stands on the first screen"  # type: ignore[index]
            assert seen.page.locator("#regressed svg").count() == len(found.regressed) == 4
        assert (seen.console, seen.dialogs) == ([], [])
        assert {url.partition(":")[0] for url in seen.requests} <= {"file", "data"}
        assert seen.page.title() == found.sentence

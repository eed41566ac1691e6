"""`make screenshots`: pictures of the newest run's report for docs, at a desk's and at a phone's width.

python -m tests.browser.screenshots [HOME]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page

import orchestrator
from orchestrator.report.html.page import render_html
from orchestrator.report.summarize import summarize
from tests.browser.chromium import chromium_page

PICTURES = Path(__file__).parent.parent.parent / "docs" / "pictures"


def main(home: str) -> None:
    """Write `report-desktop.png`, `report-phone.png`, `report-cell.png`; where graphs were kept, `report-pair.png`."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed: make system-deps")
    frames = orchestrator.load("@last", home)
    page_file = frames_page(frames, Path(home).resolve())
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, width in (("desktop", 1280), ("phone", 390)):
        with chromium_page(program, width=width, height=1000) as seen:
            seen.page.goto(page_file.as_uri())
            seen.page.screenshot(path=str(PICTURES / f"report-{name}.png"))
            if name == "desktop":
                seen.page.locator("table.heat").last.locator("td a").nth(1).click()
                seen.page.wait_for_selector("dialog .chart svg")
                seen.page.wait_for_timeout(300)
                seen.page.screenshot(path=str(PICTURES / "report-cell.png"))
                seen.page.keyboard.press("Escape")
                pair(seen.page)
            print(f"{PICTURES / f'report-{name}.png'}")


def pair(page: Page) -> None:
    """The picture of a graph beside its source's: the first model's last recipe that changed a node."""
    if page.locator("[data-pair]").count() == 0:
        return
    page.locator("details.variants summary").first.click()
    links = page.locator("details.variants").first.locator("[data-pair]")
    for at in range(links.count()):
        links.nth(at).click()
        if page.locator("dialog g.own").count():
            page.screenshot(path=str(PICTURES / "report-pair.png"))
        page.keyboard.press("Escape")


def frames_page(frames: orchestrator.RunFrames, home: Path) -> Path:
    """The run's page, made anew in the run's folder."""
    page = home / frames.run_id / "report.html"
    page.write_text(render_html(summarize(frames), frames), encoding="utf-8")
    return page


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "orch-runs")

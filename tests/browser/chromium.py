"""Debian's Chromium, headless, with ears: what a page loads, says on the console, and asks in dialogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Page, sync_playwright


@dataclass
class Seen:
    """A page and what was heard of it."""

    page: Page
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def chromium_page(program: str, *, width: int, height: int = 900) -> Iterator[Seen]:
    """An empty page of this size; ends the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        seen = Seen(page)
        page.on("console", lambda message: seen.console.append(message.text))
        page.on("pageerror", lambda error: seen.console.append(str(error)))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        try:
            yield seen
        finally:
            browser.close()

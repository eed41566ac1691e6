"""Whole outputs compared with files; `ORCH_BLESS=1 pytest …` writes them anew, to be read before they are kept."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("ORCH_BLESS") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: ORCH_BLESS=1 writes it"
    assert text == path.read_text(encoding="utf-8")

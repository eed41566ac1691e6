"""Pure: the digest as files: a page, a text for a mail, and JSON with the same fields by name."""

from __future__ import annotations

import json

from orchestrator.report.morning.nouns import Digest
from orchestrator.report.morning.page import digest_html
from orchestrator.report.morning.text import digest_text
from orchestrator.store.codec import plain


def digest_json(one: Digest) -> str:
    """The digest as JSON that ends with a line end."""
    return json.dumps(plain(one), indent=2, ensure_ascii=False) + "\n"


def digest_files(one: Digest) -> dict[str, str]:
    """Names of files and their text."""
    return {"digest.html": digest_html(one), "digest.txt": digest_text(one), "digest.json": digest_json(one)}

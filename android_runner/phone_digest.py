"""sha256 on the phone: the shell text that finds the tool there, and what the tool prints."""

from __future__ import annotations

import re

NO_DIGEST_TOOL = 97
"""Exit code of a command that begins with `DIGEST_TOOL` on a phone that has none."""

DIGEST_TOOL = (
    "H=sha256sum; command -v sha256sum >/dev/null || { H=; for c in 'toybox sha256sum' 'busybox sha256sum'; do "
    '$c </dev/null >/dev/null 2>&1 && { H=$c; break; }; done; }; [ -n "$H" ] || '
    f"{{ echo 'no sha256sum, not in toybox or busybox either' >&2; exit {NO_DIGEST_TOOL}; }}; "
)
"""Finds the digest tool and leaves it in `$H`, to be used unquoted. Toybox has it since Android 8."""

_LINE = re.compile(rb"^\\?([0-9a-f]{64})[ \t][ *]?(.*)$", re.M)


def digest_lines(output: bytes) -> list[tuple[str, str]]:
    """(sha256, name) of each line, in order. GNU puts a backslash before the digest where it escaped the name."""
    return [(digest.decode(), name.decode("utf-8", errors="replace")) for digest, name in _LINE.findall(output)]

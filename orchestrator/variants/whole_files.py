"""Files that are there whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a JSON file so that readers see the old one or the new one, never a part. Raises OSError."""
    write_whole(path, json.dumps(data, indent=1))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that readers see the old one or the new one, never a part. Raises OSError.

    It is as open to others as its folder is: a home may belong to a group.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        os.fchmod(handle, 0o600 | path.parent.stat().st_mode & 0o666)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def sync(path: Path) -> None:
    """Have a file's or folder's bytes on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""TOML that people write, as JSON text for a strict schema: bounded, and with one error for all that is no TOML.

What TOML has and JSON has not fits no field: dates become a list of their type's name, so that the schema refuses them
with their place; infinities and NaN stay what they are, for the bounds of the field to refuse.
"""

from __future__ import annotations

import json
import tomllib

MAX_TOML_BYTES = 1024 * 1024
"""No file that a person writes is larger."""


class NotTomlError(ValueError):
    """The text is no TOML, is larger than it may be, or nests deeper than it can be read."""


def toml_as_json(content: bytes) -> str:
    """The file's content as JSON text. Raises `NotTomlError`."""
    if len(content) > MAX_TOML_BYTES:
        raise NotTomlError(f"{len(content)} bytes are more than such a file may have ({MAX_TOML_BYTES})")
    try:
        return json.dumps(tomllib.loads(content.decode("utf-8")), default=lambda value: [type(value).__name__])
    except RecursionError:
        raise NotTomlError("it nests too deep") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and what int() refuses to read
        raise NotTomlError(str(error)) from error

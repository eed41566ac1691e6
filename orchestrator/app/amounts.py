"""Pure: amounts as people type them: shares, durations, sizes and limits by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

from pydantic import ValidationError

from android_runner.limits import LimitsTable
from orchestrator.errors import Problem
from orchestrator.plan.presets import unknown


def fraction_of(text: str) -> float | None:
    """`1%` or `0.01` as a fraction above 0 and below 1; None for anything else."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6}) ?(%?)", text.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    return value if 0.0 < value < 1.0 else None


def seconds_of(text: str) -> float | None:
    """`90s`, `2m`, `1h30m` or `45` (seconds) as seconds above 0; None for anything else."""
    found = re.fullmatch(r"(?:(\d{1,4})h)?(?:(\d{1,5})m)?(?:(\d{1,7})s?)?", text.strip())
    hours, minutes, seconds = (int(one or 0) for one in found.groups()) if found else (0, 0, 0)
    return float(hours * 3600 + minutes * 60 + seconds) or None


_AGE_S = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def age_s_of(text: str) -> float | None:
    """`90d`, `36h` or `12w` as seconds, 0 too; None for anything else."""
    found = re.fullmatch(r"(\d{1,5})([mhdw])", text.strip())
    return int(found[1]) * _AGE_S[found[2]] if found else None


_UNIT_BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def bytes_of(text: str) -> int | None:
    """`20GB`, `500 MB`, `1.5TB` (powers of ten) or `20GiB` as bytes above 0; None for anything else."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?(kB|MB|GB|TB|KiB|MiB|GiB)", text.strip())
    return round(float(found[1]) * _UNIT_BYTES[found[2]]) or None if found else None


def dims_of_words(texts: Sequence[str], problems: list[Problem]) -> dict[str, int]:
    """`NAME=NUMBER` each, a free dimension's size; what is wrong is added to `problems`."""
    dims: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value.isascii() or not value.isdigit() or int(value) < 1:
            problems.append(Problem("--dim", f"{text!r} is not NAME=NUMBER", "for example --dim batch=1"))
        else:
            dims[name] = int(value)
    return dims


def limits_of_words(texts: Sequence[str], problems: list[Problem]) -> LimitsTable:
    """`NAME=VALUE` each, as a `[limits]` table has them; `off` (or `false`) switches a rule off, the last of a name
    counts. What is wrong is added to `problems`."""
    said: dict[str, object] = {}
    known = list(LimitsTable.__dataclass_fields__)
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if name not in known:
            problems.append(unknown("limit", name, known, "--limit"))
        elif not equals or (read := _value(value)) is None:
            problems.append(Problem("--limit", f"{text!r} is not NAME=NUMBER", f"for example {name}=1, or {name}=off"))
        else:
            said[name] = read
    try:
        return LimitsTable(**said)  # type: ignore[arg-type]
    except ValidationError as error:
        seen = {str(one["loc"][0]): str(one["msg"]) for one in error.errors()}  # the last tells what a number may be
        problems += [
            Problem("--limit", f"{name}={said[name]}: {words}", "see [limits]") for name, words in seen.items()
        ]
        return LimitsTable()


def _value(text: str) -> object:
    """A number as TOML writes it, `False` for off; None for anything else."""
    if text in ("off", "false"):
        return False
    try:
        value = tomllib.loads(f"x = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    found = value["x"] if len(value) == 1 else None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None

"""Pure: runs' sayable names (`0412-quick-7k2f`), and which run a text means."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from orchestrator.errors import Problem, UsageError

MAX_PLAN_CHARS = 24
_SUFFIX_CHARS = 4
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Without what is misread: 0 and o, 1, i and l, u and v."""


def run_name(plan_name: str, now: datetime, seed: int, taken: Collection[str]) -> str:
    """A name that is not taken: the local day, the plan's name cleaned, four characters that tell runs apart.

    Only `[a-z0-9-]`: it is a folder's name and a part of blocks' names on phones.
    """
    plan = re.sub(r"[^a-z0-9]+", "-", plan_name.lower()).strip("-")[:MAX_PLAN_CHARS].strip("-") or "run"
    day = now.astimezone().strftime("%m%d")
    count = 0
    while True:
        hashed = hashlib.sha256(f"{plan_name}\n{now.isoformat()}\n{seed}\n{count}".encode(errors="replace")).digest()
        suffix = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in hashed[:_SUFFIX_CHARS])
        name = f"{day}-{plan}-{suffix}"
        if name not in taken:
            return name
        count += 1


def which_run(text: str, runs: Sequence[tuple[str, datetime]], now: datetime) -> str:
    """The run that `text` means: `@last`, `@yesterday`, a name, a unique beginning or the last part of one.

    `runs` are names with the moment they began, in any order. `@yesterday` is the last one of the local day before
    `now`'s. Raises UsageError when none or several match, with the nearest.
    """
    newest = [name for name, _ in sorted(runs, key=lambda run: run[1], reverse=True)]
    if not newest:
        raise UsageError(Problem(f"run {text!r}", "no run lies in this home yet", "orch run MODEL.onnx, or --home DIR"))
    wanted = text.strip().lower()
    if wanted == "@last":
        return newest[0]
    if wanted == "@yesterday":
        return _yesterday(runs, newest, now)
    if wanted in newest:
        return wanted
    found = [name for name in newest if wanted and (name.startswith(wanted) or name.rsplit("-", 1)[-1] == wanted)]
    if not found and wanted:
        found = [name for name in newest if name.rsplit("-", 1)[-1].startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(Problem(f"run {text!r}", f"{len(found)} runs match", f"one of: {', '.join(found[:5])}"))
    raise UsageError(Problem(f"run {text!r}", "no such run", f"nearest: {', '.join(_nearest(wanted, newest))}"))


def _yesterday(runs: Sequence[tuple[str, datetime]], newest: Sequence[str], now: datetime) -> str:
    day = now.astimezone().date() - timedelta(days=1)
    of_day = [run for run in runs if run[1].astimezone().date() == day]
    if not of_day:
        mend = f"the last run is {newest[0]}"
        raise UsageError(Problem("run '@yesterday'", f"no run began on {day.isoformat()}", mend))
    return max(of_day, key=lambda run: run[1])[0]


def _nearest(wanted: str, newest: Sequence[str]) -> list[str]:
    near = difflib.get_close_matches(wanted, newest, n=3, cutoff=0.4)
    suffixes = {name.rsplit("-", 1)[-1]: name for name in reversed(newest)}
    near += [suffixes[one] for one in difflib.get_close_matches(wanted, suffixes, n=2, cutoff=0.5)]
    return list(dict.fromkeys(near))[:3] or list(newest[:3])

"""`python -m benchmarks [ROW…]`: goal, figure, met or missed, for each row of the speed table (`--json`)."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.row import Row

ROWS = {
    "overhead": "overhead",
    "makespan": "makespan",
    "staging": "staging",
    "startup": "startup",
    "first_answer": "first_answer",
    "trace_reading": "trace_reading",
    "variants": "variants",
    "scheduler": "scheduler",
    "discoveries": "discoveries",
    "known_truth": "known_truth",
    "known_truth_phone": "known_truth_phone",
    "ab": "ab",
    "tuning": "tuning",
    "regressions": "regressions",
    "history": "history",
    "links": "links",
}
"""The name of a row, and the module under `benchmarks` whose `run()` measures it."""
ASKED_FOR = frozenset({"links"})
"""Half an hour each: only when they are named."""


def machine() -> str:
    """The machine in a line: what figures hold for."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or "unknown processor",
    )
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return (
        f"{os.cpu_count()} cores {model}, {int(memory) / 1024**2:.0f} GiB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, {_commit()}"
    )


def measure(name: str) -> list[Row]:
    """Run a row's module; some answer with one row, some with several, some in plain dictionaries."""
    told: Any = importlib.import_module(f"benchmarks.{ROWS[name]}").run()
    answers = told if isinstance(told, list) else [told]
    return [one if isinstance(one, Row) else _row(name, one) for one in answers]


def _row(name: str, told: dict[str, Any]) -> Row:
    goal, figure = told["goal"], told["figure"]
    known = {"name", "goal", "figure", "met", "detail", "what", "against"}
    detail = told.get("detail") or ", ".join(f"{key} {_number(told[key])}" for key in told if key not in known)
    return Row(
        name=str(told.get("name", name)),
        goal=goal if isinstance(goal, str) else f"≤ {goal:g}",
        figure=figure if isinstance(figure, str) else f"{figure:.3f}",
        met=bool(told["met"]),
        detail=str(detail),
    )


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "no commit"


def main(words: Sequence[str]) -> int:
    """0 when every row that was asked for is met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"one of {', '.join(ROWS)} (default: all but links)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    asked = parser.parse_args(words)
    unknown = [name for name in asked.rows if name not in ROWS]
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}; known: {', '.join(ROWS)}")
    head, begin_s = machine(), time.monotonic()
    rows = []
    if not asked.json:
        print(head, flush=True)
    for name in asked.rows or [one for one in ROWS if one not in ASKED_FOR]:
        for row in measure(name):
            rows.append(row)
            if not asked.json:
                print(row.lines(), flush=True)
    missed = [row.name for row in rows if not row.met]
    if asked.json:
        print(json.dumps({"machine": head, "rows": [asdict(row) for row in rows]}, indent=2, ensure_ascii=False))
    else:
        last = f"missed: {', '.join(missed)}" if missed else "all met"
        print(f"{len(rows)} rows in {time.monotonic() - begin_s:.0f} s; {last}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Pure: the vitals file of a block, cut into snapshots that `vitals_text.parse_vitals` reads.

The file starts with lines that don't change (names of thermal zones); then comes `== N` before each snapshot's lines.
A `dumpsys` is asked at most every 10 s (of screen and doze, whose answers are long, every 30 s), so a snapshot without
its lines gets those of the latest one that has some, when that is not older than its bound.
"""

from __future__ import annotations

import re
from collections import Counter

from android_runner.facts import Vitals
from android_runner.vitals_text import parse_vitals

MAX_VITALS_BYTES = 64 * 1024 * 1024
MAX_SNAPSHOT_LINES = 2_000
MAX_DUMPSYS_AGE_S = 12.0
MAX_SLOW_AGE_S = 36.0
_SLOW = frozenset({"power", "deviceidle"})

_HEADER = re.compile(r"== ([0-9]{1,9})")
_UPTIME = re.compile(r"/proc/uptime:([0-9]{1,10}\.[0-9]{2}) ")
_DUMPSYS = re.compile(r"dumpsys-([a-z]{1,40}):")


def read_snapshots(data: bytes, wanted: set[int]) -> dict[int, Vitals]:
    """The vitals of the snapshots in `wanted`, as far as they are there; a number that stands twice is left out."""
    texts = split_snapshots(data)
    return {number: parse_vitals(text) for number, text in texts.items() if number in wanted}


def split_snapshots(data: bytes) -> dict[int, str]:
    """Each snapshot's text by number: what doesn't change, its own lines, dumpsys lines that still hold."""
    constant: list[str] = []
    blocks: list[tuple[int, list[str]]] = []
    lines = constant
    for line in data[:MAX_VITALS_BYTES].decode("utf-8", errors="replace").split("\n"):
        header = _HEADER.fullmatch(line)
        if header is not None:
            lines = []
            blocks.append((int(header[1]), lines))
        elif line and len(lines) < MAX_SNAPSHOT_LINES:
            lines.append(line)
    counts = Counter(number for number, _ in blocks)
    carried = _with_dumpsys(blocks)
    return {number: "\n".join([*constant, *own]) for number, own in carried if counts[number] == 1}


def _with_dumpsys(blocks: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    latest: dict[str, tuple[float, list[str]]] = {}
    done: list[tuple[int, list[str]]] = []
    for number, own in blocks:
        uptime_s = _uptime_s(own)
        services: dict[str, list[str]] = {}
        for line in own:
            if found := _DUMPSYS.match(line):
                services.setdefault(found[1], []).append(line)
        latest.update({service: (uptime_s, lines) for service, lines in services.items()})
        added = [
            line
            for service, (asked_s, lines) in latest.items()
            if service not in services
            and 0.0 <= uptime_s - asked_s <= (MAX_SLOW_AGE_S if service in _SLOW else MAX_DUMPSYS_AGE_S)
            for line in lines
        ]
        done.append((number, own + added))
    return done


def _uptime_s(lines: list[str]) -> float:
    found = next((match for line in lines if (match := _UPTIME.match(line))), None)
    return float(found[1]) if found is not None else float("-inf")

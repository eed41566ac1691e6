"""Pure: the single events of ORT's profile JSON, for who wants to draw them; `android_runner.trace` sums them.

Lines are JSON but for names that the runtime did not escape: such a line keeps category, thread, times, name, operator
and execution provider, and loses its other arguments. Bounds are those of `trace_events`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from android_runner.trace_events import (
    MAX_EVENTS,
    MAX_NAME_CHARS,
    MAX_US,
    OP_NAME,
    PROVIDER,
    TraceEvents,
    bounded_lines,
    event_head,
    text_argument,
)

MAX_ARGUMENT_CHARS = 2000
MAX_ARGUMENTS = 32
MAX_SUB_THREADS = 64
STATS = "thread_scheduling_stats"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubThread:
    """What a thread of the pool did of a node: how many blocks it ran, on which core (-1: not told)."""

    thread: str
    blocks: int
    core: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OneEvent:
    """One event of a trace; times in microseconds from the profiler's start.

    `category` is Session, Node, Kernel or Api; `arguments` are plain text; `threads` what `thread_scheduling_stats`
    tells of those that helped.
    """

    category: str
    name: str
    tid: int
    start_us: int
    dur_us: int
    arguments: Mapping[str, str]
    threads: tuple[SubThread, ...] = ()


def read_events(chunks: Iterable[bytes]) -> Iterator[OneEvent]:
    """The events of a trace that comes in pieces of any size, in its order; what is no event is left out."""
    given = 0
    for line in bounded_lines(chunks, TraceEvents()):
        event = _event(line)
        if event is not None:
            yield event
            given += 1
            if given >= MAX_EVENTS:
                return


def _event(line: bytes) -> OneEvent | None:
    bare = line.strip().removesuffix(b",")
    if bare in (b"", b"[", b"]"):
        return None
    try:
        found: Any = orjson.loads(bare)
        category, name, args = str(found["cat"]), str(found["name"]), found.get("args") or {}
        tid, start_us, dur_us = int(found["tid"]), int(found["ts"]), int(found["dur"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        head = event_head(line)
        if head is None:
            return None
        category, tid, dur_us, start_us, name = head
        args = _found(line)
    if not (0 <= start_us < MAX_US and 0 <= dur_us < MAX_US) or not isinstance(args, dict):
        return None
    return OneEvent(
        category=category[:32],
        name=name[:MAX_NAME_CHARS],
        tid=tid,
        start_us=start_us,
        dur_us=dur_us,
        arguments=_arguments(args),
        threads=_threads(args.get(STATS)),
    )


def _found(line: bytes) -> dict[str, Any]:
    """Operator and execution provider of a line that is no JSON."""
    found = {"op_name": text_argument(line, OP_NAME), "provider": text_argument(line, PROVIDER)}
    return {key: value.decode("utf-8", errors="replace") for key, value in found.items()}


def _arguments(args: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in list(args.items())[:MAX_ARGUMENTS]:
        if key != STATS and value not in ("", None):
            words = value if isinstance(value, str) else orjson.dumps(value).decode()
            found[str(key)[:MAX_NAME_CHARS]] = words[:MAX_ARGUMENT_CHARS]
    return found


def _threads(stats: Any) -> tuple[SubThread, ...]:
    """An empty text where there was no pool; otherwise whatever of it is what ORT writes."""
    sub = stats.get("sub_threads") if isinstance(stats, dict) else None
    if not isinstance(sub, dict):
        return ()
    found = []
    for thread, told in list(sub.items())[:MAX_SUB_THREADS]:
        blocks, core = (told.get("num_run"), told.get("core")) if isinstance(told, dict) else (None, None)
        if isinstance(blocks, int) and 0 < blocks < MAX_US:
            where = core if isinstance(core, int) and 0 <= core < MAX_US else -1
            found.append(SubThread(thread=str(thread)[:MAX_NAME_CHARS], blocks=blocks, core=where))
    return tuple(found)

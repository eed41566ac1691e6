"""Pure: traces of several cases and phones as one, which Perfetto and chrome://tracing open.

Format: Chrome's Trace Event Format, the JSON object form: complete events (`X`), metadata (`M`), counters (`C`), times
in microseconds. A lane (a "process" there) is a case on a phone; its threads are those that ran, the pool's threads as
far as `thread_scheduling_stats` tells of them, and the device's kernels. A further lane a phone has its temperature and
clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from android_runner.trace_lines import OneEvent
from orchestrator.report.lines import shown

Event = Mapping[str, object]
KERNELS = "device kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterPoint:
    """What was read of a phone at a moment, by name: °C, MHz."""

    at_us: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLane:
    """One traced process: its phone, its case in words, and when it started, in microseconds from the phone's first."""

    phone: str
    words: str
    starts_us: int


class MergedTrace:
    """Numbers lanes and threads as they come; every method gives events in an order that viewers take."""

    def __init__(self) -> None:
        self._lanes = 0

    def lane(self, lane: TraceLane, events: Iterable[OneEvent]) -> Iterator[Event]:
        """The events of one traced process."""
        pid = self._new_lane()
        yield from self._named(pid, f"{lane.phone} · {lane.words}")
        threads: dict[str, int] = {}
        node = ""
        for event in events:
            start_us = lane.starts_us + event.start_us
            name, arguments = shown(event.name), {shown(key): shown(value) for key, value in event.arguments.items()}
            if event.category == "Node":
                node = name
            kernel = event.category == "Kernel"
            if kernel and (launcher := arguments.get("parent_name", node)):  # its line follows that node's
                arguments["launched by"] = launcher
            own = KERNELS if kernel else f"thread {event.tid}"
            yield from self._thread(pid, own, threads)
            yield _complete(pid, threads[own], name, event, start_us, arguments)
            for helper in event.threads:
                own = f"pool thread {helper.thread}"
                yield from self._thread(pid, own, threads)
                told = {"blocks run": str(helper.blocks)} | ({"core": str(helper.core)} if helper.core >= 0 else {})
                yield _complete(pid, threads[own], f"part of {name}", event, start_us, told)

    def counters(self, phone: str, points: Iterable[CounterPoint]) -> Iterator[Event]:
        """A phone's temperature and clocks, a track for each name."""
        pid = self._new_lane()
        yield from self._named(pid, f"{phone} · vitals")
        for point in points:
            for name, value in point.values.items():
                yield {
                    "ph": "C",
                    "pid": pid,
                    "tid": 0,
                    "ts": point.at_us,
                    "name": shown(name),
                    "args": {"value": value},
                }

    def _new_lane(self) -> int:
        self._lanes += 1
        return self._lanes

    def _named(self, pid: int, words: str) -> Iterator[Event]:
        yield _metadata(pid, 0, "process_name", {"name": shown(words)})
        yield _metadata(pid, 0, "process_sort_index", {"sort_index": pid})

    def _thread(self, pid: int, name: str, threads: dict[str, int]) -> Iterator[Event]:
        if name not in threads:
            threads[name] = len(threads) + 1
            yield _metadata(pid, threads[name], "thread_name", {"name": shown(name)})


def _metadata(pid: int, tid: int, name: str, args: Mapping[str, object]) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": name, "args": args}


def _complete(pid: int, tid: int, name: str, event: OneEvent, start_us: int, arguments: Mapping[str, str]) -> Event:
    return {
        "ph": "X",
        "cat": shown(event.category),
        "pid": pid,
        "tid": tid,
        "ts": start_us,
        "dur": event.dur_us,
        "name": name,
        "args": arguments,
    }

"""Rewrites a trace of onnxruntime so that each partition shows as the one node that it is on a phone.

A partition runs as an `If` with its nodes in a body. Its event keeps name, start, duration, output and memory, which
were all measured; operator, provider and inputs become the fused node's. Events of the body go: on a phone they happen
inside of NNAPI. The file has one event a line, in the order of their ends; a body's events, closed by the
`…Executor::Execute` of its own executor, come before their holder's and on its thread
(`core/framework/sequential_executor.cc`).
"""

from __future__ import annotations

import os

_NAME = '"name" :"'
_KERNEL = "_kernel_time"
_EXECUTE = "Executor::Execute"


def rewrite_trace(path: str, partitions: list[dict[str, object]]) -> None:
    """Rewrite the file in one step; one that can't be read or written stays as it is."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = file.readlines()
        fresh = f"{path}.part"
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(rewritten(lines, partitions))
        os.rename(fresh, path)
    except OSError:
        return  # perf_test says nothing of a trace that can't be written


def rewritten(lines: list[str], partitions: list[dict[str, object]]) -> list[str]:
    """The lines that stay, those of partitions changed."""
    known = {str(partition["node"]): partition for partition in partitions}
    kept: list[str | None] = [*lines]
    open_of: dict[str, list[tuple[int, int, bool]]] = {}
    """By thread: place, start and whether it closes an executor, of events that may be of a body."""
    for at, line in enumerate(lines):
        name = _between(line, _NAME, '","args"')
        thread = _between(line, '"tid" :', ",")
        waiting = open_of.setdefault(thread, [])
        if name == "model_run":
            waiting.clear()
            continue
        partition = _partition_of(name, known)
        if partition is None:
            start = _between(line, '"ts" :', ",")
            if start.isdecimal():
                waiting.append((at, int(start), name.endswith(_EXECUTE)))
            continue
        if name.endswith(_KERNEL):
            _drop_body(waiting, kept)
        kept[at] = _as_fused(line, partition)
    return [line for line in kept if line is not None]


def _partition_of(name: str, known: dict[str, dict[str, object]]) -> dict[str, object] | None:
    """The partition that an event is about: `<node>_kernel_time`, and up to 1.20 `_fence_before` and `_fence_after`."""
    for ending in (_KERNEL, "_fence_before", "_fence_after"):
        if name.endswith(ending):
            return known.get(name[: -len(ending)])
    return None


def _drop_body(waiting: list[tuple[int, int, bool]], kept: list[str | None]) -> None:
    """The body's executor is the thread's last event; its nodes began after it did."""
    if not waiting:
        return
    at, begin, closes = waiting.pop()
    if not closes:
        return
    kept[at] = None
    while waiting:
        at, start, closes = waiting[-1]
        if start < begin or closes:
            return
        kept[at] = None
        waiting.pop()


def _as_fused(line: str, partition: dict[str, object]) -> str:
    line = _replaced(line, '"op_name" : "', '"', str(partition["operator"]))
    line = _replaced(line, '"provider" : "', '"', "NnapiExecutionProvider")
    line = _replaced(line, '"activation_size" : "', '"', str(partition["activation_size"]))
    line = _replaced(line, '"parameter_size" : "', '"', str(partition["parameter_size"]))
    return _replaced(line, '"input_type_shape" : ', "}]", str(partition["input_type_shape"])[:-2])


def _between(line: str, before: str, after: str) -> str:
    _, found, rest = line.partition(before)
    return rest.partition(after)[0] if found else ""


def _replaced(line: str, before: str, after: str, value: str) -> str:
    """The line with what stands between two marks replaced; unchanged without the first."""
    head, found, rest = line.partition(before)
    if not found:
        return line
    return f"{head}{before}{value}{after}{rest.partition(after)[2]}"

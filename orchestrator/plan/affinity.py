"""Pure: a cell that asks for some of a phone's cores, put on them: its mask there, and threads that fit in.

ONNX Runtime takes as many threads as the phone has cores where it is not told a number, also inside a smaller mask:
these would only wait for each other. So a cell without a number gets one thread a core of its mask, and one that asks
for more than that is no case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from android_runner.affinity import core_words, cores_in, mask_for, mask_text
from android_runner.facts import PhoneFacts
from android_runner.settings import SessionSettings
from orchestrator.plan.cells import Cell

TASKSET = "taskset"
"""The phone's command that starts a process on a mask."""


@dataclass(frozen=True, slots=True)
class OnCores:
    """A cell on its cores. `cpu_mask` is None where it may use all, and nothing is to be done."""

    cell: Cell
    cpu_mask: int | None


def on_cores(cell: Cell, facts: PhoneFacts, there: frozenset[int] | None = None) -> OnCores | str:
    """The cell on a phone's cores, or why that can't be.

    `there`: the cores that can really be used where a virtual phone claims others; None: all that it says it has.
    """
    if not cell.affinity:
        return OnCores(cell, None)
    mask = mask_for(cell.affinity, facts.cores, facts.max_freq_khz)
    if isinstance(mask, str):
        return mask
    count = len(cores_in(mask))
    if count == facts.cores:
        return OnCores(cell, None)
    if TASKSET not in facts.tools:
        return f"@{cell.affinity}: this phone has no {TASKSET}, so nothing can be kept on some of its cores"
    if there is not None and (missing := set(cores_in(mask)) - there):
        claimed = core_words(tuple(missing))
        are = "is" if len(missing) == 1 else "are"
        return f"@{cell.affinity} is {mask_text(mask)} here: a virtual phone's {claimed} {are} none of this computer's"
    settings = _fitted(cell.settings, count)
    if isinstance(settings, str):
        return f"{settings}: @{cell.affinity} has {count} here ({mask_text(mask)})"
    return OnCores(replace(cell, settings=settings), mask)


def _fitted(settings: SessionSettings, cores: int) -> SessionSettings | str:
    """The settings with no more threads than cores, in each pool; else which number is too many."""
    for what, count in (("intra-op", settings.intra_op_threads), ("inter-op", settings.inter_op_threads)):
        if count is not None and count > cores:
            return f"{count} {what} threads are more than the cores they may use"
        if count == 0:
            return f"0 {what} threads means one a core of the phone, more than they may use"
    inter = settings.inter_op_threads
    return replace(
        settings,
        intra_op_threads=settings.intra_op_threads or cores,
        inter_op_threads=inter or cores if settings.parallel_executor else inter,
    )

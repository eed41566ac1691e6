"""Pure: what a trace tells as cells, and what else there is on the start of a process: first inference, page cache."""

from __future__ import annotations

from collections.abc import Iterable

from android_runner.trace import TraceTable, operators
from orchestrator.outcome import PRINTED_STEP_S, Figures, Measured
from orchestrator.plan.case import Case, Purpose
from orchestrator.store.records import AttemptRecord

WARM = "warm"


def first_inference_cells(figures: Figures | None) -> dict[str, object]:
    """The first inference as it was printed, and what it is below. 0 ms is no figure: it took less than 1 ms."""
    printed_s = None if figures is None else figures.first_inference_s
    if printed_s is None:
        return {}
    return {"first_inference_s": printed_s or None, "first_inference_below_s": printed_s + PRINTED_STEP_S}


def cold_cells(trace: TraceTable) -> dict[str, object]:
    """What a trace tells of the start of its process, in seconds; its first run is the first inference."""
    return {
        "first_inference_s": _seconds(trace.warm_up_us),
        "session_initialization_s": _seconds(trace.session_initialization_us),
        "model_loading_s": _seconds(trace.model_loading_us),
        "complete": trace.complete,
    }


def operator_cells(trace: TraceTable) -> list[dict[str, object]]:
    """A row an operator and execution provider of a trace."""
    return [
        {
            "operator": one.op_name,
            "ran_on": one.provider,
            "nodes": one.nodes,
            "executions": one.count,
            "runs": len(trace.runs_us),
            "self_s": one.self_us / 1e6,
            "share": one.share,
            "device_kernels": one.device_kernels,
            "device_s": one.device_us / 1e6 if one.device_kernels else None,
            "complete": trace.complete,
        }
        for one in operators(trace)
    ]


def warm_attempts(attempts: Iterable[AttemptRecord], cases: Iterable[Case]) -> dict[str, str]:
    """`WARM` for the attempts, by id, whose model an earlier process of the run had read whole since the phone's boot.

    That holds by the phone's own clock, whatever the order in which attempts were written down. What was read long ago
    may have been pushed out by then: the kernel does not tell. A check variant is another file.
    """
    variants = {case.case_id: (case.variant_id, case.inputs_digest) for case in cases}
    placed = [
        ((one.phone, one.before.boot_id, *variants[one.case_id]), one)
        for one in attempts
        if one.before is not None
        and one.before.boot_id
        and one.started_uptime_s is not None
        and one.case_id in variants
        and one.purpose != Purpose.VERIFY
    ]
    read_s: dict[tuple[str, ...], float] = {}
    for place, one in placed:
        if isinstance(one.outcome, Measured) and one.ended_uptime_s is not None:
            read_s[place] = min(read_s.get(place, one.ended_uptime_s), one.ended_uptime_s)
    return {
        one.attempt_id: WARM
        for place, one in placed
        if one.started_uptime_s is not None and place in read_s and read_s[place] <= one.started_uptime_s
    }


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6

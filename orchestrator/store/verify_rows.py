"""Pure: what a check variant's trace says of a case, as cells of the frame `checks`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from android_runner.partitions import NNAPI_PROVIDER, partition_numbers
from android_runner.trace import NodeTime, TraceTable
from android_runner.trace_shapes import ShapesTold
from orchestrator.outcome import Failed, Outcome, Skipped
from orchestrator.plan.case import Case, Purpose
from orchestrator.plan.order import verified
from orchestrator.store.frame_rows import Cells
from orchestrator.store.records import RunContents, TrialRow
from orchestrator.variants.decibels import OutputError, error_of, tolerance_db, within
from orchestrator.variants.tolerance import Precision, looser
from orchestrator.variants.verify_variant import DIFFERENCE_NODE, ERROR_NODE, CheckedOutput, CheckFacts, node_name

MAX_NAMED = 3
_HEAD = ("run", "trial", "phone", "label", "model", "row", "case", "round")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A case on a phone whose check variant was traced: the attempts that count, `traced_id` empty where none does."""

    case: Case
    facts: CheckFacts
    attempt_id: str
    traced_id: str


def verified_cells(
    contents: RunContents,
    trials: Sequence[TrialRow],
    heads: Mapping[str, Cells],
    read: Callable[[Verified], list[Cells]],
) -> Iterator[Cells]:
    """The rows of `checks`: what `read` says of each verified case, else why nothing is known of it.

    `heads` are the cells of each trial, by id.
    """
    facts = {one.variant_id: one.check for one in contents.variants}
    cases = {one.case_id: one for one in contents.cases}
    asked = verified(contents.cases)
    by_place = {(row.trial.case_id, row.trial.phone, row.trial.purpose): row for row in trials}
    for (case_id, phone, purpose), timed in by_place.items():
        case, known = cases[case_id], facts.get(cases[case_id].variant_id)
        if purpose is not Purpose.TIME or known is None or case_id not in asked:
            continue
        row, traced = (by_place.get((case_id, phone, one)) for one in (Purpose.VERIFY, Purpose.TRACE))
        if row is not None and row.attempt_id is not None:
            own = traced.attempt_id if traced is not None else None
            found = read(Verified(case=case, facts=known, attempt_id=row.attempt_id, traced_id=own or ""))
        else:
            why = known.why_not or _why_no_answer(row.outcome if row is not None else None)
            found = [{**_head(heads, row or timed, of_check=row is not None), **unchecked_cells(why)}]
        for cells in found:
            yield {**cells, "reference": case.settings.is_nnapi_reference}


def _head(heads: Mapping[str, Cells], row: TrialRow, *, of_check: bool) -> Cells:
    """The cells that say of what a row without an attempt is; the trial's own only where there was one."""
    own = ("trial", "round")
    cells = heads[row.trial_id]
    return {name: cells.get(name) for name in _HEAD if of_check or name not in own}


def _why_no_answer(outcome: Outcome | None) -> str:
    match outcome:
        case Failed(kind=kind, message=message):
            return f"{kind.replace('_', ' ')}: {message}"
        case Skipped(reason=reason, message=message):
            return message or reason.value
        case _:
            return "not ended yet"


def wanted_nodes(facts: CheckFacts) -> list[str]:
    """The nodes whose shapes are read."""
    return [
        node_name(facts.prefix, at, what)
        for at, output in enumerate(facts.outputs)
        for what in (ERROR_NODE, DIFFERENCE_NODE)
        if not output.why_not
    ]


def precision_of(case: Case, facts: CheckFacts) -> Precision:
    """The least precise arithmetic that a case allows: its variant's, and half precision with NNAPI's flag."""
    return looser(facts.precision, Precision.FLOAT16 if case.settings.relaxes_to_half else Precision.FLOAT32)


def check_cells(
    case: Case, facts: CheckFacts, shapes: Mapping[str, Sequence[ShapesTold]], why_not: str = ""
) -> list[Cells]:
    """A row for each output; `why_not` says why nothing is known of any."""
    allowed_db = tolerance_db(precision_of(case, facts))
    return [_output_cells(at, output, facts, shapes, (allowed_db, why_not)) for at, output in enumerate(facts.outputs)]


def unchecked_cells(why_not: str) -> Cells:
    """The row of a case that has no check variant, or whose check did not come to an end."""
    return {"checked": False, "why": why_not}


def _output_cells(
    at: int,
    output: CheckedOutput,
    facts: CheckFacts,
    shapes: Mapping[str, Sequence[ShapesTold]],
    rules: tuple[float, str],
) -> Cells:
    allowed_db, why_not = rules
    head: Cells = {
        "output": output.name, "element_type": output.element_type or None, "tolerance_db": allowed_db,
    }  # fmt: skip
    if output.why_not or why_not:
        return {**head, **unchecked_cells(output.why_not or why_not)}
    head["peak"] = output.peak
    told = shapes.get(node_name(facts.prefix, at, ERROR_NODE), ())
    error = _worst(told)
    if error is None:
        return {**head, **unchecked_cells("the trace does not say it")}
    if any(_misfit(one) for one in shapes.get(node_name(facts.prefix, at, DIFFERENCE_NODE), ())):
        return {**head, "checked": True, "difference": "other shape", "within": False}
    return {
        **head,
        "checked": True,
        "difference": error.difference.value,
        "error_db": error.db,
        "within": within(error, allowed_db),
    }


def _worst(told: Sequence[ShapesTold]) -> OutputError | None:
    """Of all executions the one with the largest error: a driver may be wrong now and then."""
    counts = [_count(one) for one in told]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return None
    try:
        return error_of(min(known))
    except ValueError:
        return None


def _count(told: ShapesTold) -> int | None:
    """The count is the only dimension; of a byte each, so that a trace without shapes tells it as well."""
    if told.outputs is None:
        return told.output_bytes
    return told.outputs[0][0] if len(told.outputs) == 1 and len(told.outputs[0]) == 1 else None


def _misfit(told: ShapesTold) -> bool:
    """Whether what was given has another shape than what was expected."""
    return told.inputs is not None and len(told.inputs) == 2 and told.inputs[0] != told.inputs[1]


def other_nodes(own: TraceTable, checked: TraceTable, prefix: str) -> str:
    """Why a check says nothing of the case, as its trace has other nodes than the case's own; "" where it has not.

    Nodes without a name are called by operator and number, and partitions by a hash of the model; the tail changes
    both, so numbers of CPU nodes and hashes don't count. Nor does an Identity on the CPU: it computes nothing, and
    whether ONNX Runtime leaves one before an output depends on who reads it.
    """
    if own.problems or checked.problems:
        return f"its trace, or that of the case, is not whole: {(*own.problems, *checked.problems)[0]}"
    wanted = Counter(_key(node) for node in own.nodes if _computes(node))
    found = Counter(_key(node) for node in checked.nodes if _computes(node) and not node.node.startswith(prefix))
    pieces = [sum(count for key, count in side.items() if key[0] == NNAPI_PROVIDER) for side in (wanted, found)]
    if pieces[0] != pieces[1]:
        return f"with a tail NNAPI has {pieces[1]} partitions, the case {pieces[0]}"
    odd = [*((wanted - found).elements()), *((found - wanted).elements())]
    if not odd:
        return ""
    names = ", ".join(dict.fromkeys(key[1] for key in odd[:MAX_NAMED]))
    return f"with a tail other nodes run than in the case: {names}{' …' if len(odd) > MAX_NAMED else ''}"


def _computes(node: NodeTime) -> bool:
    return node.provider == NNAPI_PROVIDER or node.op_name != "Identity"


def _key(node: NodeTime) -> tuple[str, str, str]:
    if node.provider == NNAPI_PROVIDER:
        return node.provider, "Nnapi", "_".join(map(str, partition_numbers(node.node)))
    return node.provider, node.op_name, re.sub(r"_?[0-9]+$", "", node.node)

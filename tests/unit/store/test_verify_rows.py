"""From a check variant's trace to what is said of a case: the worst of all runs, and whether the same nodes ran."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_run as sample

from android_runner.ort import ExecutionProvider, NnapiFlag
from android_runner.settings import SessionSettings
from android_runner.trace import NodeTime, TraceTable
from android_runner.trace_shapes import ShapesTold
from orchestrator.plan.case import Case
from orchestrator.store.verify_rows import check_cells, other_nodes, precision_of, wanted_nodes
from orchestrator.variants.tolerance import Precision
from orchestrator.variants.verify_variant import CheckedOutput, CheckFacts

PREFIX = "orch_check_"
FACTS = CheckFacts(check_id="c", prefix=PREFIX, outputs=(CheckedOutput(name="y", element_type="float32", peak=2.0),))
FLOAT32, HALF = 702, 436
"""Counts of 40 dB and of 13.4 dB."""


def told(count: int, *, bytes_only: bool = False) -> ShapesTold:
    return ShapesTold(None, None if bytes_only else ((count,),), count)


def cells_of(
    *executions: ShapesTold, case: Case | None = None, difference: ShapesTold | None = None
) -> dict[str, object]:
    shapes = {f"{PREFIX}0_error": executions}
    if difference is not None:
        shapes[f"{PREFIX}0_difference"] = (difference,)
    (cells,) = check_cells(case or sample.CASES[0], FACTS, shapes)
    return cells


def nnapi(*flags: NnapiFlag) -> Case:
    return replace(sample.CASES[0], settings=SessionSettings(provider=ExecutionProvider.NNAPI, nnapi_flags=flags))


def test_the_worst_execution_counts() -> None:
    cells = cells_of(told(1200), told(FLOAT32 - 1), told(1503))
    assert (cells["error_db"], cells["within"], cells["difference"]) == (39.9, False, "differs")
    assert cells_of(told(FLOAT32), told(FLOAT32))["within"] is True
    assert cells_of(told(900, bytes_only=True))["error_db"] == 59.8
    assert cells_of(told(1503))["difference"] == "equal"
    assert (cells_of(told(1503), told(0))["difference"], cells_of(told(0))["within"]) == ("not finite", False)


def test_half_precision_is_let_off_where_it_was_asked_for() -> None:
    for case, facts, precision in (
        (nnapi(), FACTS, Precision.FLOAT32),
        (nnapi(NnapiFlag.FP16), FACTS, Precision.FLOAT16),
        (nnapi(), replace(FACTS, precision=Precision.FLOAT16), Precision.FLOAT16),
        (nnapi(NnapiFlag.FP16), replace(FACTS, precision=Precision.INT8), Precision.INT8),
        (replace(nnapi(NnapiFlag.FP16), settings=SessionSettings()), FACTS, Precision.FLOAT32),
    ):
        assert precision_of(case, facts) is precision
    assert cells_of(told(HALF), case=nnapi(NnapiFlag.FP16))["within"] is True
    assert cells_of(told(HALF - 1), case=nnapi(NnapiFlag.FP16))["within"] is False
    assert cells_of(told(HALF), case=nnapi())["within"] is False


def test_another_shape_is_wrong_whatever_the_numbers() -> None:
    fits = ShapesTold(((1, 10), (1, 10)), ((1, 10),), 80)
    grown = ShapesTold(((1, 1), (1, 10)), ((1, 10),), 80)
    assert cells_of(told(1503), difference=fits)["difference"] == "equal"
    cells = cells_of(told(1503), difference=grown)
    assert (cells["difference"], cells["within"]) == ("other shape", False)


@pytest.mark.parametrize(
    "executions",
    [(), (told(2000),), (ShapesTold(None, ((1, 2),), 2),), (ShapesTold(None, None, None),), (told(900), told(9999))],
)
def test_a_trace_that_says_nothing_or_nonsense_is_no_check(executions: tuple[ShapesTold, ...]) -> None:
    if executions == (told(900), told(9999)):  # the worst is read; the other is beyond what a tail gives
        assert cells_of(*executions)["error_db"] == 59.8
        return
    cells = cells_of(*executions)
    assert (cells["checked"], cells.get("within")) == (False, None)
    assert cells["why"] == "the trace does not say it"


def test_only_outputs_with_a_tail_are_read() -> None:
    facts = replace(FACTS, outputs=(CheckedOutput(name="w", element_type="object", why_not="is text"), *FACTS.outputs))
    assert wanted_nodes(facts) == [f"{PREFIX}1_error", f"{PREFIX}1_difference"]
    text, number = check_cells(sample.CASES[0], facts, {f"{PREFIX}1_error": (told(1503),)})
    assert (text["why"], number["difference"]) == ("is text", "equal")


# --- the same nodes -------------------------------------------------------------------------------------------------


def table(*nodes: tuple[str, str, str], problems: tuple[str, ...] = ()) -> TraceTable:
    return TraceTable(
        nodes=tuple(
            NodeTime(
                op_name=op,
                provider=provider,
                node=name,
                count=2,
                total_us=2,
                self_us=2,
                min_us=1,
                max_us=1,
                in_body=False,
            )
            for name, op, provider in nodes
        ),
        runs_us=(1, 1),
        warm_up_us=1,
        session_initialization_us=1,
        model_loading_us=1,
        events=9,
        problems=problems,
    )


CPU, NNAPI = "CPUExecutionProvider", "NnapiExecutionProvider"
CONV = ("conv", "Conv", CPU)
TAIL = ((f"{PREFIX}0_error", "ConstantOfShape", CPU), (f"{PREFIX}0_count", "ReduceSum", CPU))


def piece(hash_: str, at: int) -> tuple[str, str, str]:
    return f"NnapiExecutionProvider_Nnapi_{hash_}_{at}_{at}", f"Nnapi_{hash_}_{at}", NNAPI


def test_the_tail_and_the_hash_of_the_model_don_t_count() -> None:
    own = table(CONV, piece("11", 0), piece("11", 1), ("FusedConv_9", "FusedConv", CPU))
    checked = table(*TAIL, piece("77", 1), CONV, piece("77", 0), ("FusedConv_21", "FusedConv", CPU))
    assert other_nodes(own, checked, PREFIX) == ""
    assert other_nodes(own, table(*TAIL, *[CONV, piece("7", 0), piece("7", 1)]), PREFIX) != ""
    copies = table(*TAIL, CONV, ("out/Identity", "Identity", CPU))
    assert other_nodes(table(CONV), copies, PREFIX) == "", "a copy computes nothing"


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        (table(*TAIL, CONV), "NNAPI has 0 partitions, the case 1"),
        (table(*TAIL, CONV, piece("7", 0), piece("7", 1)), "NNAPI has 2 partitions, the case 1"),
        (table(*TAIL, piece("7", 0)), "other nodes run than in the case: Conv"),
        (table(*TAIL, CONV, ("r", "Relu", CPU), piece("7", 0)), "other nodes run than in the case: Relu"),
        (table(*TAIL, ("conv", "Conv", NNAPI), piece("7", 0)), "NNAPI has 2 partitions"),
        (table(*TAIL, CONV, piece("7", 0), problems=("cut: the closing bracket is missing",)), "not whole: cut"),
    ],
)
def test_other_nodes_are_no_check_of_the_case(checked: TraceTable, said: str) -> None:
    assert said in other_nodes(table(CONV, piece("1", 0)), checked, PREFIX)
    (cells,) = check_cells(sample.CASES[0], FACTS, {f"{PREFIX}0_error": (told(1503),)}, "with a tail …")
    assert (cells["checked"], cells["why"]) == (False, "with a tail …")

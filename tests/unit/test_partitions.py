"""A trace split into NNAPI's partitions, what the layout pass added, and the rest."""

from __future__ import annotations

import pytest

from android_runner.partitions import partition_numbers, partition_table
from android_runner.trace import NodeTime, TraceTable

NNAPI, CPU = "NnapiExecutionProvider", "CPUExecutionProvider"


def row(node: str, op_name: str, provider: str, total_us: int) -> NodeTime:
    return NodeTime(
        op_name=op_name,
        provider=provider,
        node=node,
        count=2,
        total_us=total_us,
        self_us=total_us,
        min_us=total_us // 2,
        max_us=total_us // 2,
        in_body=False,
    )


def table(*nodes: NodeTime, problems: tuple[str, ...] = ()) -> TraceTable:
    return TraceTable(
        nodes=nodes,
        runs_us=(1, 1),
        warm_up_us=1,
        session_initialization_us=1,
        model_loading_us=None,
        events=1,
        problems=problems,
    )


TRACE = table(
    row("NnapiExecutionProvider_Nnapi_9_0_0", "Nnapi_9_0", NNAPI, 600),
    row("conv", "FusedConv", CPU, 200),
    row("Transpose_token_1", "Transpose", CPU, 100),
    row("NnapiExecutionProvider_Nnapi_9_1_1", "Nnapi_9_1", NNAPI, 60),
    row("own", "Transpose", CPU, 40),
)


def test_three_parts_and_their_shares() -> None:
    found = partition_table(TRACE, {"conv", "own", "pool"})
    assert [(one.name[-3:], one.total_us, one.share) for one in found.partitions] == [
        ("0_0", 600, 0.6),
        ("1_1", 60, 0.06),
    ]
    assert [one.node for one in found.layout] == ["Transpose_token_1"]
    assert [one.node for one in found.rest] == ["conv", "own"]
    assert (found.nnapi_us, found.layout_us, found.rest_us, found.all_us) == (660, 100, 240, 1000)
    assert found.nnapi_share == pytest.approx(0.66)


def test_without_the_models_names_nothing_is_taken_for_layout() -> None:
    found = partition_table(TRACE)
    assert found.layout == ()
    assert [one.node for one in found.rest] == ["conv", "Transpose_token_1", "own"]


def test_a_trace_without_nodes_or_with_gaps() -> None:
    assert partition_table(table()).nnapi_share == 0.0
    assert not partition_table(table(problems=("cut",))).complete
    assert partition_table(table(row("a", "Relu", CPU, 5))).partitions == ()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("NnapiExecutionProvider_Nnapi_1234567890123_2_10", (2, 10)),
        ("NnapiExecutionProvider_NNAPI_3_0", (3, 0)),
        ("odd", ()),
    ],
)
def test_the_numbers_of_a_partition(name: str, numbers: tuple[int, ...]) -> None:
    assert partition_numbers(name) == numbers

"""The trace's lines, one by one: what goes, what stays, what is said of a partition."""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.nnapi_trace import rewritten

_NODE = "NnapiExecutionProvider_Nnapi_9_0_0"
_PARTITION: dict[str, object] = {
    "node": _NODE,
    "operator": "Nnapi_9_0",
    "input_type_shape": '[{"float":[1,2]},{"float":[2]}]',
    "activation_size": 8,
    "parameter_size": 12,
}


def _event(name: str, start: int, dur: int, *, category: str = "Node", thread: int = 5, args: str = "") -> str:
    return (
        f'{{"cat" : "{category}","pid" :1,"tid" :{thread},"dur" :{dur},"ts" :{start},"ph" : "X","name" :"{name}",'
        f'"args" : {{{args}}}}},\n'
    )


def _if(start: int, dur: int, *, thread: int = 5) -> str:
    return _event(
        f"{_NODE}_kernel_time", start, dur, thread=thread,
        args='"op_name" : "If","provider" : "CPUExecutionProvider","activation_size" : "1","parameter_size" : "0",'
        '"output_size" : "8","input_type_shape" : [{"bool":[]}],"output_type_shape" : [{"float":[1,2]}]',
    )  # fmt: skip


def _execute(start: int, dur: int, *, thread: int = 5) -> str:
    return _event("SequentialExecutor::Execute", start, dur, category="Session", thread=thread)


def test_a_body_goes_and_its_holder_becomes_the_fused_node() -> None:
    before, inner = _event("abs_kernel_time", 10, 5), _event("relu_kernel_time", 22, 6)
    kept = rewritten(["[\n", before, inner, _execute(21, 8), _if(20, 10), "]\n"], [_PARTITION])
    assert kept[:2] == ["[\n", before]
    assert kept[3:] == ["]\n"]
    assert '"dur" :10,"ts" :20' in kept[2]
    assert '"op_name" : "Nnapi_9_0","provider" : "NnapiExecutionProvider"' in kept[2]
    assert '"activation_size" : "8","parameter_size" : "12","output_size" : "8"' in kept[2]
    assert '"input_type_shape" : [{"float":[1,2]},{"float":[2]}],"output_type_shape" : [{"float":[1,2]}]' in kept[2]


def test_a_node_that_took_no_time_just_before_stays() -> None:
    before = _event("abs_kernel_time", 20, 0)
    kept = rewritten([before, _event("relu_kernel_time", 22, 6), _execute(21, 8), _if(20, 10)], [_PARTITION])
    assert kept[0] == before
    assert len(kept) == 2


def test_threads_are_told_apart() -> None:
    other = _event("neg_kernel_time", 23, 3, thread=6)
    kept = rewritten([_event("relu_kernel_time", 22, 6), other, _execute(21, 8), _if(20, 10)], [_PARTITION])
    assert kept[0] == other
    assert len(kept) == 2


def test_two_partitions_one_after_the_other() -> None:
    lines = []
    for start in (20, 40):
        lines += [_event("relu_kernel_time", start + 2, 6), _execute(start + 1, 8), _if(start, 10)]
    run = _event("model_run", 15, 50, category="Session")
    assert len(rewritten([*lines, _execute(16, 48), run], [_PARTITION])) == 4


def test_a_loop_of_the_model_stays_whole() -> None:
    loop = _event("loop_kernel_time", 20, 10, args='"op_name" : "Loop"')
    lines = [_event("relu_kernel_time", 22, 6), _execute(21, 8), loop]
    assert rewritten(lines, [_PARTITION]) == lines


def test_fences_of_a_partition_up_to_1_20() -> None:
    fences = [_event(f"{_NODE}_fence_{when}", 20, 0, args='"op_name" : "If"') for when in ("before", "after")]
    kept = rewritten(
        [fences[0], _event("relu_kernel_time", 22, 6), _execute(21, 8), _if(20, 10), fences[1]], [_PARTITION]
    )
    assert len(kept) == 3
    assert all('"op_name" : "Nnapi_9_0"' in line for line in kept)


def test_a_cut_trace_keeps_what_it_has() -> None:
    lines = ["[\n", _event("relu_kernel_time", 22, 6), '{"cat" : "Node","pid" :1,"tid" :5,"dur']
    assert rewritten(lines, [_PARTITION]) == lines

"""Single events of a trace: all that its sums know, and what a name or a thread pool may look like."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.trace import read_trace
from android_runner.trace_lines import MAX_SUB_THREADS, read_events
from tests.damage import damaged

CORPUS = Path(__file__).parent.parent / "corpus" / "trace"
TRACES = sorted(CORPUS.glob("*.json"))
HOST_AND_DEVICE = b"\n".join(
    (
        b'{"cat" : "Node","pid" :1,"tid" :1,"dur" :17,"ts" :100,"ph" : "X","name" :"Add_1234_kernel_time",'
        b'"args" : {"op_name" : "Add"}},',
        b'{"cat" : "Kernel","pid" :-1,"tid" :-1,"dur" :33,"ts" :105,"ph" : "X","name" :"ort_add_cuda_kernel",'
        b'"args" : {"stream" : "7"}}',
    )
)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_every_node_and_run_that_the_sums_know_is_there(path):
    events = list(read_events([path.read_bytes()]))
    table = read_trace(path)
    kernels = [one for one in events if one.category == "Node" and one.name.endswith("_kernel_time")]
    runs = [one for one in events if one.name == "model_run"]
    assert len(runs) == len(table.runs_us) + 1, "the sums leave the warm-up out"
    assert len(kernels) >= sum(node.count for node in table.nodes)
    assert {node.op_name for node in table.nodes} <= {one.arguments.get("op_name") for one in kernels}


def test_a_name_that_is_not_escaped_costs_all_arguments_but_operator_and_provider():
    line = (
        b'{"cat" : "Node","pid" :1,"tid" :2,"dur" :3,"ts" :4,"ph" : "X","name" :"a"b_kernel_time",'
        b'"args" : {"op_name" : "Conv"}},'
    )
    (event,) = read_events([line])
    assert (event.name, event.tid, event.dur_us, event.start_us) == ('a"b_kernel_time', 2, 3, 4)
    assert event.arguments == {"op_name": "Conv"}


def test_threads_of_the_pool_are_told_as_far_as_they_ran():
    stats = {
        "main_thread": {"core": 1},
        "sub_threads": {"17": {"num_run": 3, "core": 2}, "18": {"num_run": 0, "core": 1}},
    }
    many = {"sub_threads": {str(at): {"num_run": 1, "core": at} for at in range(1000)}}
    for told, expected in (
        (stats, [("17", 3, 2)]),
        ("", []),
        ({"sub_threads": [1]}, []),
        ({"sub_threads": {"1": 7}}, []),
    ):
        line = {"cat": "Node", "tid": 1, "ts": 1, "dur": 1, "name": "x", "args": {"thread_scheduling_stats": told}}
        (event,) = read_events([orjson.dumps(line)])
        assert [(one.thread, one.blocks, one.core) for one in event.threads] == expected
    line = {"cat": "Node", "tid": 1, "ts": 1, "dur": 1, "name": "x", "args": {"thread_scheduling_stats": many}}
    (event,) = read_events([orjson.dumps(line)])
    assert len(event.threads) == MAX_SUB_THREADS


def test_device_kernels_are_events_too():
    node, kernel = read_events([HOST_AND_DEVICE])
    assert (node.category, kernel.category, kernel.name, kernel.dur_us) == ("Node", "Kernel", "ort_add_cuda_kernel", 33)


@given(st.sampled_from(TRACES).flatmap(lambda path: damaged(path.read_bytes())))
@settings(max_examples=100, deadline=None)
def test_a_damaged_trace_gives_what_can_be_read(text):
    for event in read_events([text]):
        assert event.start_us >= 0
        assert event.dur_us >= 0
        assert all(len(value) <= 2000 for value in event.arguments.values())

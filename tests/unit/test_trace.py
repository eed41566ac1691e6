from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.errors import ReportUnreadable
from android_runner.trace import TraceTable, operators, read_trace, read_trace_chunks

CORPUS = Path(__file__).parent.parent / "corpus"
TRACES = CORPUS / "trace"
PERF_TEST = next((CORPUS / "perf_test-1.21" / "profile").glob("*.json"))
ORT = next((CORPUS / "perf_test-1.21" / "profile_ort").glob("*.json"))
VALID = [
    *(TRACES / f"{name}-{version}.json" for name in ("plain", "nested") for version in ("1.20.1", "1.23.2", "1.31.1")),
    TRACES / "quoted-1.31.1.json",
    PERF_TEST,
    ORT,
]


def table_of(text: bytes) -> TraceTable:
    return read_trace_chunks([text])


def event(name: str, ts: int, dur: int, op_name: str = "", category: str = "Node", tid: int = 1) -> str:
    args = f'"op_name" : "{op_name}","provider" : "CPUExecutionProvider"' if op_name else ""
    return (
        f'{{"cat" : "{category}","pid" :1,"tid" :{tid},"dur" :{dur},"ts" :{ts},"ph" : "X",'
        f'"name" :"{name}","args" : {{{args}}}}},'
    )


def run_of(*events: str) -> str:
    return "\n".join([*events, event("model_run", 0, 100, category="Session")])


def trace_of(*runs: str) -> bytes:
    return ("[\n" + "\n".join(runs).rstrip(",") + "\n]\n").encode()


def by_json(path: Path) -> dict[tuple[str, str, str], list[int]]:
    """The same sums, made the slow way: nodes of all runs but the first."""
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    runs = 0
    for each in json.loads(path.read_text()):
        runs += each["name"] == "model_run"
        if runs and each["cat"] == "Node" and each["name"].endswith("_kernel_time"):
            name = each["name"].removesuffix("_kernel_time")
            sums[(each["args"]["op_name"], each["args"]["provider"], name)].append(each["dur"])
    return sums


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.name)
def test_the_table_is_what_json_says(path: Path) -> None:
    table = read_trace(path)
    assert table.complete, table.problems
    found = {(row.op_name, row.provider, row.node): row for row in table.nodes}
    expected = by_json(path)
    assert found.keys() == expected.keys()
    for key, times in expected.items():
        row = found[key]
        assert (row.count, row.total_us, row.min_us, row.max_us) == (len(times), sum(times), min(times), max(times))
    runs = [each["dur"] for each in json.loads(path.read_text()) if each["name"] == "model_run"]
    assert (table.warm_up_us, list(table.runs_us)) == (runs[0], runs[1:])


@pytest.mark.parametrize("version", ["1.20.1", "1.23.2", "1.31.1"])
def test_bodies_are_not_counted_twice(version: str) -> None:
    table = read_trace(TRACES / f"nested-{version}.json")
    rows = {row.node: row for row in table.nodes}
    assert {name for name, row in rows.items() if row.in_body} == {
        "in_loop_matmul", "in_loop_softmax", "in_loop_identity", "in_if_then"
    }  # fmt: skip
    assert rows["in_loop_matmul"].count == 6
    inside_us = sum(rows[name].total_us for name in ("in_loop_matmul", "in_loop_softmax", "in_loop_identity"))
    assert rows["loop"].self_us == rows["loop"].total_us - inside_us
    assert rows["if"].self_us == rows["if"].total_us - rows["in_if_then"].total_us
    outside_us = sum(row.total_us for row in table.nodes if not row.in_body)
    assert sum(row.self_us for row in table.nodes) == outside_us <= sum(table.runs_us)


def test_bodies_in_bodies() -> None:
    execute = "SequentialExecutor::Execute"
    run = run_of(
        event("deep_kernel_time", 30, 10, "MatMul"),
        event(execute, 30, 10, category="Session"),
        event("inner_kernel_time", 20, 25, "If"),
        event(execute, 20, 30, category="Session"),
        event("outer_kernel_time", 10, 50, "Loop"),
        event("after_kernel_time", 60, 0, "Relu"),
        event("last_kernel_time", 60, 7, "Relu"),
        event(execute, 5, 70, category="Session"),
    )
    rows = {row.node: row for row in table_of(trace_of(run, run)).nodes}
    assert {name: row.self_us for name, row in rows.items()} == {
        "deep": 10, "inner": 15, "outer": 25, "after": 0, "last": 7
    }  # fmt: skip
    assert {name for name, row in rows.items() if row.in_body} == {"deep", "inner"}


def test_threads_of_the_parallel_executor_are_apart() -> None:
    run = run_of(event("a_kernel_time", 10, 50, "Conv", tid=1), event("b_kernel_time", 5, 60, "Conv", tid=2))
    assert {row.node: row.self_us for row in table_of(trace_of(run, run)).nodes} == {"a": 50, "b": 60}


@pytest.mark.parametrize("version", ["1.20.1", "1.23.2", "1.31.1"])
def test_names_with_quotes_are_read_in_every_era(version: str) -> None:
    table = read_trace(TRACES / f"quoted-{version}.json")
    assert table.complete
    assert {row.node: row.op_name for row in table.nodes} == {
        'say "hi", {"a": 1}': "MatMul",
        "back\\slash\\q": "Softmax",
    }


def test_operators_share_the_time_in_nodes() -> None:
    rows = operators(read_trace(PERF_TEST))
    assert [row.op_name for row in rows][:2] == ["Conv", "ReorderOutput"]
    assert (rows[0].nodes, rows[0].count) == (2, 6)
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    assert {row.provider for row in rows} == {"CPUExecutionProvider"}
    assert operators(read_trace(ORT))[0].op_name == "FusedConv"


def test_loading_an_ort_model_is_not_told() -> None:
    assert read_trace(ORT).model_loading_us is None
    assert read_trace(PERF_TEST).model_loading_us == 313


def test_the_warm_up_is_left_out() -> None:
    first, second = run_of(event("a_kernel_time", 1, 50, "Conv")), run_of(event("a_kernel_time", 1, 5, "Conv"))
    assert [row.total_us for row in table_of(trace_of(first, second)).nodes] == [5]


def test_only_a_warm_up_is_no_measurement() -> None:
    table = table_of(trace_of(run_of(event("a_kernel_time", 1, 50, "Conv"))))
    assert (table.nodes, operators(table)) == ((), [])
    assert "no run after the warm-up" in table.problems


def test_an_empty_trace_says_so() -> None:
    table = table_of(b"")
    assert not table.complete
    assert table.problems[0].startswith("empty")


def test_a_cut_trace_keeps_the_runs_that_ended() -> None:
    content = PERF_TEST.read_bytes()
    ends = [at for at in range(len(content)) if content.startswith(b'"model_run"', at)]
    table = table_of(content[: ends[-1] - 300])
    assert not table.complete
    assert any("cut" in problem for problem in table.problems)
    assert any("did not end" in problem for problem in table.problems)
    assert len(table.runs_us) == len(ends) - 2
    assert {row.count for row in table.nodes} == {len(ends) - 2}


def test_the_cap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("android_runner.trace.MAX_EVENTS", 42)
    assert any(problem.startswith("full") for problem in read_trace(PERF_TEST).problems)


def test_duplicate_keys_and_other_spellings() -> None:
    run = run_of(event("a_kernel_time", 1, 5, "Conv")).replace(
        '"op_name" :', '"thread_scheduling_stats" : {"sub_threads": {"t": {"core": 1},"t": {"core": 2}}},"op_name" :'
    )
    spaced = json.dumps(
        {"cat": "Node", "ts": "1", "dur": "7", "name": "b_kernel_time", "args": {"op_name": "Relu", "provider": "P"}}
    )
    table = table_of(trace_of(run, spaced + ",", run))
    assert {row.node: row.total_us for row in table.nodes} == {"a": 5, "b": 7}
    assert table.complete


def test_lines_beyond_the_bound_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("android_runner.trace_events.MAX_LINE_BYTES", 2000)
    run = run_of(event("a_kernel_time", 1, 5, "Conv"))
    text = trace_of(run, "x" * 9000, run)
    chunks = [text[at : at + 500] for at in range(0, len(text), 500)]
    table = read_trace_chunks(chunks)
    assert "1 lines are no events" in table.problems
    assert len(table.runs_us) == 1


def test_more_nodes_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("android_runner.trace_events.MAX_NODES", 3)
    run = run_of(*(event(f"n{index}_kernel_time", index, 1, "Conv") for index in range(9)))
    table = table_of(trace_of(run, run))
    assert len(table.nodes) == 3
    assert not table.complete


@pytest.mark.parametrize("text", [b"\x00\xff" * 100, b"hello", b"{}", b"[1,2]", b'"x"', b"[" * 100_000])
def test_what_is_no_trace_is_refused(text: bytes) -> None:
    with pytest.raises(ReportUnreadable, match="no event"):
        table_of(text)


@given(st.integers(1, 4000), st.sampled_from(VALID))
@settings(max_examples=15, deadline=None)
def test_pieces_don_t_matter(size: int, path: Path) -> None:
    content = path.read_bytes()
    assert read_trace_chunks(content[at : at + size] for at in range(0, len(content), size)) == table_of(content)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_damaged_trace_is_read_in_part_or_refused(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from([*VALID, TRACES / "quoted-1.20.1.json"])).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 400)))
        new = data.draw(st.sampled_from([b"", b"\n", b"9" * 30, b"-", b'"', b"\\", b"{", b"}}", b"null", b"\xff\x00"]))
        content[start:end] = new
    try:
        table = table_of(bytes(content))
    except ReportUnreadable:
        return
    assert all(row.count > 0 and 0 <= row.self_us <= row.total_us for row in table.nodes)
    assert sum(row.share for row in operators(table)) == pytest.approx(1.0) or not sum(n.self_us for n in table.nodes)


@given(st.integers(0, 20_000))
@settings(max_examples=40, deadline=None)
def test_a_cut_is_always_told(size: int) -> None:
    content = PERF_TEST.read_bytes()
    if size < len(content.rstrip()):
        try:
            assert not table_of(content[:size]).complete
        except ReportUnreadable:
            assert size < 200


def kernel(name: str, ts: int, dur: int, parent: str = "") -> str:
    """A device's kernel as `core/common/gpu_profiler_common.h` writes it; before 1.15 without its parent's name."""
    told = f'"stream" : "7","op_name" : "Add","parent_name" : "{parent}"' if parent else '"stream" : "7"'
    head = f'"cat" : "Kernel","pid" :-1,"tid" :-1,"dur" :{dur},"ts" :{ts},"ph" : "X","name" :"{name}"'
    return f'{{{head},"args" : {{{told}}}}},'


def test_kernels_on_a_device_count_with_the_node_that_launched_them() -> None:
    add, multiply = event("a_kernel_time", 1, 17, "Add"), event("m_kernel_time", 20, 9, "Mul")
    old = run_of(add, kernel("ort_add_cuda_kernel", 2, 33), kernel("second", 36, 4), multiply)
    new = run_of(
        add, multiply, kernel("ort_add_cuda_kernel", 2, 33, "a_kernel_time"), kernel("x", 3, 4, "a_kernel_time")
    )
    for run in (old, new):
        found = {one.op_name: one for one in operators(table_of(trace_of(run, run, run)))}
        assert (found["Add"].device_kernels, found["Add"].device_us, found["Add"].self_us) == (4, 74, 34)
        assert (found["Mul"].device_kernels, found["Mul"].device_us) == (0, 0)


def test_a_kernel_without_a_node_is_no_operators() -> None:
    run = run_of(kernel("early", 0, 5), event("a_kernel_time", 1, 17, "Add"), kernel("lost", 9, 3, "gone_kernel_time"))
    assert [(one.op_name, one.device_us) for one in operators(table_of(trace_of(run, run)))] == [("Add", 0)]

"""What comes back from a phone ends in a typed error, in a partial result that says so, or in figures that agree."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from android_runner.block import Ending
from android_runner.capabilities import Capabilities, parse_usage
from android_runner.errors import BinaryUnusable, ReportUnreadable, RunnerError
from android_runner.perf_report import MAX_IN_FORCE, PerfReport, iteration_lines, parse_stdout
from android_runner.result_file import parse_result_file
from android_runner.trace import TraceTable, operators, read_trace, read_trace_chunks
from android_runner.verdict import Reading, TrialEnd, decide
from tests.damage import damaged

CORPUS = Path(__file__).parent.parent / "corpus"
RECORDED = CORPUS / "perf_test-1.21"
ENDED = {folder.name for folder in RECORDED.iterdir() if (folder / "rc").is_file()}
MEASURED = sorted(name for name in ENDED if (RECORDED / name / "rc").read_text().strip() == "0" and name != "n")
STDOUTS = [*(RECORDED / name / "stdout" for name in MEASURED), *sorted((CORPUS / "perf_report").glob("*.txt"))]
ROWS = [
    *(RECORDED / name / "result.csv" for name in ("result_file", "result_file_s")),
    *sorted((CORPUS / "result_file").glob("*.csv")),
]
WHOLE_TRACES = [*sorted((CORPUS / "trace").glob("*.json")), *sorted(RECORDED.glob("profile*/*.json"))]
TRACES = [*WHOLE_TRACES, *sorted((CORPUS / "trace_eras").glob("*.json"))]
USAGES = [RECORDED / "help" / "stdout", *sorted((CORPUS / "command_line").glob("*.txt"))]
MANY = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.data_too_large])


def any_of(paths: list[Path]) -> st.SearchStrategy[bytes]:
    return st.sampled_from(paths).flatmap(lambda path: damaged(path.read_bytes()))


def agrees(report: PerfReport) -> None:
    assert isinstance(report.iterations, int)
    assert report.iterations >= 1
    assert report.mean_s is not None
    printed = report.printed_s
    order = [name for name in ("Min", "P50", "P90", "P95", "P99", "P999", "Max") if name in printed]
    assert all(printed[low] <= printed[high] for low, high in pairwise(order))
    times = [report.session_creation_s, report.first_inference_s, report.mean_s, *printed.values()]
    assert all(time is None or (math.isfinite(time) and time >= 0) for time in times)
    assert printed.get("Min", 0) * 0.99 - 1e-9 <= report.mean_s <= printed.get("Max", math.inf) * 1.01 + 1e-9
    assert len(report.in_force) <= MAX_IN_FORCE
    assert all(len(word) <= 200 for pair in report.in_force.items() for word in pair)


@given(any_of(STDOUTS))
@MANY
def test_stdout(text: bytes) -> None:
    try:
        agrees(parse_stdout(text))
    except ReportUnreadable:
        return


@given(any_of([RECORDED / "verbose" / "stdout"]))
@MANY
def test_verbose_lines(text: bytes) -> None:
    try:
        latencies = iteration_lines(text)
    except ReportUnreadable:
        return
    assert bool(np.all(np.isfinite(latencies) & (latencies >= 0)))


@given(any_of(ROWS))
@MANY
def test_result_files(text: bytes) -> None:
    try:
        rows = parse_result_file(text)
    except ReportUnreadable:
        return
    assert rows.size > 0
    assert bool(np.all(np.isfinite(rows) & (rows >= 0)))
    body = text.split(b"\n\n")[0]
    assert rows.size == len([line for line in body.split(b"\n") if line])


def consistent(table: TraceTable) -> None:
    for node in table.nodes:
        assert node.count >= 1
        assert 0 <= node.self_us <= node.total_us
        assert 0 <= node.min_us <= node.max_us <= node.total_us
        assert node.count * node.min_us <= node.total_us <= node.count * node.max_us
    assert all(run_us >= 0 for run_us in table.runs_us)
    if table.complete:
        assert len(table.runs_us) >= 1
        assert all(node.count % len(table.runs_us) == 0 for node in table.nodes)
    shares = [operator.share for operator in operators(table)]
    assert not shares or sum(shares) == pytest.approx(1.0) or not any(shares)


@given(any_of(TRACES), st.integers(1, 5000))
@MANY
def test_traces(text: bytes, chunk_bytes: int) -> None:
    chunks = [text[at : at + chunk_bytes] for at in range(0, len(text), chunk_bytes)]
    try:
        table = read_trace_chunks(chunks)
    except ReportUnreadable:
        return
    consistent(table)
    assert table == read_trace_chunks([text])


@pytest.mark.parametrize("path", WHOLE_TRACES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_trace_without_any_one_line_says_so(path: Path) -> None:
    whole = read_trace(path)
    lines = path.read_bytes().split(b"\n")
    silent = []
    for at, line in enumerate(lines):
        table = read_trace_chunks([b"\n".join([*lines[:at], *lines[at + 1 :]])])
        counts = [(node.node, node.count, node.in_body) for node in table.nodes]
        if table.problems == whole.problems and (sorted(counts), len(table.runs_us)) != (
            sorted((node.node, node.count, node.in_body) for node in whole.nodes),
            len(whole.runs_us),
        ):
            silent.append(line)
    assert not [line for line in silent if b'_kernel_time"' in line or b'"model_run"' in line]


@given(any_of(USAGES), st.integers(0, 255))
@MANY
def test_usage_texts(text: bytes, exit_code: int) -> None:
    try:
        found = parse_usage(text.decode(errors="replace"), "", exit_code)
    except BinaryUnusable:
        return
    assert Capabilities.from_json(found.to_json()) == found


@st.composite
def ends(draw: st.DrawFn) -> TrialEnd:
    """One run's files, of which some are damaged and the exit code may be another."""
    name = draw(st.sampled_from(sorted(ENDED)))
    folder = RECORDED / name
    status = int((folder / "rc").read_text())

    def maybe(path: Path) -> bytes:
        original = path.read_bytes()
        return draw(damaged(original)) if draw(st.booleans()) else original

    result = folder / "result.csv"
    return TrialEnd(
        ending=draw(st.sampled_from([Ending.EXITED, Ending.EXITED, Ending.EXITED, *Ending])),
        exit_code=draw(st.sampled_from([status, status, status, 0, 0, 1, 126, 127, 137, 139, 255, None])),
        stdout=maybe(folder / "stdout"),
        stderr=maybe(folder / "stderr"),
        result_file=maybe(result) if result.is_file() and draw(st.booleans()) else None,
        timed=draw(st.booleans()),
    )


def outcome(end: TrialEnd) -> Reading | RunnerError:
    try:
        return decide(end)
    except RunnerError as error:
        return error


@given(ends())
@MANY
def test_what_is_left_of_a_trial(end: TrialEnd) -> None:
    reading = outcome(end)
    if isinstance(reading, RunnerError):
        assert type(reading).kind != "runner"
        assert len(str(reading)) <= 1000
        assert str(reading).isprintable()
        return
    agrees(reading.report)
    if end.timed:
        assert reading.latencies is not None
        assert reading.latencies.iterations == reading.report.iterations
        singles = iteration_lines(end.stdout) if end.result_file is None else parse_result_file(end.result_file)
        assert float(singles.mean()) == pytest.approx(reading.report.mean_s, rel=0.011)
        assert reading.latencies.mean_s == float(singles[reading.latencies.warm_up_dropped :].mean())
        assert reading.latencies.min_s <= reading.latencies.p50_s <= reading.latencies.p99_s <= reading.latencies.max_s


def test_a_trace_of_one_endless_line_is_not_held() -> None:
    def chunks() -> Iterator[bytes]:
        yield b'[\n{"cat" : "Session","pid" :1,"tid" :1,"dur" :1,"ts" :1,"ph" : "X","name" :"model_run","args" : {}},\n'
        for _ in range(100):
            yield b"x" * (1 << 20)

    tracemalloc.start()
    try:
        table = read_trace_chunks(chunks())
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "1 lines are no events" in table.problems
    assert peak_bytes < 32 << 20

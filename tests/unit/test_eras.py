"""Recorded samples and the texts of every other era parse, and say what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.errors import ReportUnreadable
from android_runner.perf_report import OutputDialect, figures, iteration_lines, parse_stdout
from android_runner.result_file import parse_result_file
from android_runner.trace import read_trace, read_trace_chunks

CORPUS = Path(__file__).parent.parent / "corpus"
REPORTS = CORPUS / "perf_report"
TRACES = CORPUS / "trace_eras"
OLD, MID, NEW = OutputDialect.OLD, OutputDialect.MID, OutputDialect.NEW


@pytest.mark.parametrize(
    ("name", "dialect", "first_s", "mean_s", "iterations"),
    [
        ("old-1.8", OLD, None, 5.27311e-3, 100),
        ("old-1.12", OLD, None, 5.27311e-3, 100),
        ("mid-1.15", MID, 0.012, 5.27311e-3, 100),
        ("new-1.23", MID, 0.012, 5.27311e-3, 100),
        ("new-1.24", NEW, 0.196, 98.961997e-3, 5),
        ("new-1.24-verbose", NEW, 0.196, 98.961997e-3, 5),
        ("new-1.24-bound", NEW, 0.196, 98.961997e-3, 5),
    ],
)
def test_stdout(name: str, dialect: OutputDialect, first_s: float | None, mean_s: float, iterations: int) -> None:
    report = parse_stdout((REPORTS / f"{name}.txt").read_bytes())
    assert (report.dialect, report.first_inference_s, report.iterations) == (dialect, first_s, iterations)
    assert report.mean_s == pytest.approx(mean_s)
    assert set(report.printed_s) == {"Min", "Max", "P50", "P90", "P95", "P99", "P999"}


def test_every_text_has_its_row() -> None:
    parsed = {"old-1.8", "old-1.12", "mid-1.15", "new-1.23", "new-1.24", "new-1.24-verbose", "new-1.24-bound"}
    assert {path.stem for path in REPORTS.glob("*.txt")} == {*parsed, "session-only"}
    assert {path.stem for path in TRACES.glob("*.json")} == {"nnapi-1.8", "stray_comma-1.11", "nnapi-1.21", "cut-1.21"}


def test_settings_that_are_told_before_the_session() -> None:
    assert parse_stdout((REPORTS / "new-1.23.txt").read_bytes()).in_force == {
        "intra_op_num_threads": "4",
        "intra_op_spinning": "off",
        "dimension N": "1",
    }


def test_only_a_session() -> None:
    report = parse_stdout((REPORTS / "session-only.txt").read_bytes(), session_only=True)
    assert report.session_creation_s == pytest.approx(0.0123457)


def test_new_verbose_lines_agree_with_their_statistics() -> None:
    text = (REPORTS / "new-1.24-verbose.txt").read_bytes()
    found = figures(parse_stdout(text), iteration_lines(text))
    assert (found.iterations, found.min_s, found.max_s) == (5, 0.0958204, 0.101519)


@pytest.mark.parametrize(
    ("name", "latencies"),
    [
        ("plain", [0.000107583, 0.000101, 9.9417e-05, 0.00010225]),
        ("commas_and_percentiles", [0.00512345, 0.00612345]),
        ("overflowed_cpu", [1.23457e-05, 1.20457e-05]),
    ],
)
def test_result_files(name: str, latencies: list[float]) -> None:
    assert parse_result_file((CORPUS / "result_file" / f"{name}.csv").read_bytes()).tolist() == latencies


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        (
            "nnapi-1.8",
            [("NnapiExecutionProvider_NNAPI_0_0", "NNAPI_0", 280), ("NnapiExecutionProvider_NNAPI_1_1", "NNAPI_1", 70),
             ("reshape", "Reshape", 18)],
        ),
        ("stray_comma-1.11", [("at", "SequenceAt", 22), ("relu", "Relu", 14)]),
        (
            "nnapi-1.21",
            [("NnapiExecutionProvider_Nnapi_14402853211206113547_0_0", "Nnapi_14402853211206113547_0", 300),
             ("conv_fused", "FusedConv", 122),
             ("NnapiExecutionProvider_Nnapi_14402853211206113547_1_1", "Nnapi_14402853211206113547_1", 66)],
        ),
    ],
)  # fmt: skip
def test_traces(name: str, nodes: list[tuple[str, str, int]]) -> None:
    table = read_trace(TRACES / f"{name}.json")
    assert table.problems == ()
    assert [(row.node, row.op_name, row.self_us) for row in table.nodes] == nodes
    assert {row.count for row in table.nodes} == {2}
    assert {row.provider for row in table.nodes if "NNAPI" in row.op_name.upper()} <= {"NnapiExecutionProvider"}


def test_a_trace_of_a_killed_process_keeps_the_runs_that_ended() -> None:
    table = read_trace(TRACES / "cut-1.21.json")
    assert "cut: the closing bracket is missing" in table.problems
    assert {row.node: row.count for row in table.nodes} == {"conv1": 2, "relu1": 2}
    assert not read_trace_chunks([]).complete


def test_runs_that_run_into_each_other_are_told() -> None:
    lines = (TRACES / "nnapi-1.21.json").read_text().splitlines()
    ends = [at for at, line in enumerate(lines) if '"model_run"' in line]
    without = "\n".join(line for at, line in enumerate(lines) if at != ends[0])
    assert "runs can't be told apart: lines are missing" in read_trace_chunks([without.encode()]).problems
    doubled = "\n".join([*lines[: ends[1]], lines[ends[1] - 2], *lines[ends[1] :]])
    assert any("not in every run alike" in problem for problem in read_trace_chunks([doubled.encode()]).problems)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ((b"total: 98.961997 ms", b"total: 89.961997 ms"), "by 5 iterations"),
        ((b"Total inference time cost: 0.49481 s\n", b""), ""),
        ((b"Total inference time cost: 0.49481 s", b"Total inference time cost: 4.9481 s"), "by 5 iterations"),
        ((b"Min Latency: 0.0958204 s", b"Min Latency: 0.0998204 s"), "not in order"),
    ],
)
def test_figures_that_contradict_each_other_are_refused(change: tuple[bytes, bytes], why: str) -> None:
    text = (REPORTS / "new-1.24.txt").read_bytes()
    damaged = text.replace(*change)
    assert damaged != text
    if not why:
        assert parse_stdout(damaged).iterations == 5
        return
    with pytest.raises(ReportUnreadable, match=why):
        parse_stdout(damaged)


def test_a_mean_outside_of_its_bounds_is_refused() -> None:
    text = (REPORTS / "old-1.8.txt").read_bytes().replace(b"Total inference time cost: 0.527311 s\n", b"")
    with pytest.raises(ReportUnreadable, match="not between"):
        parse_stdout(text.replace(b"cost: 5.27311 ms", b"cost: 9.27311 ms"))

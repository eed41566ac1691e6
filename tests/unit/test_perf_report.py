from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from android_runner.errors import ReportUnreadable
from android_runner.perf_report import OutputDialect, figures, iteration_lines, parse_stdout
from android_runner.result_file import parse_result_file

CORPUS = Path(__file__).parent.parent / "corpus"
RECORDED = CORPUS / "perf_test-1.21"
TEXTS = CORPUS / "perf_report"
MEASURED = sorted(
    folder.name
    for folder in RECORDED.iterdir()
    if folder.is_dir() and (folder / "rc").read_text().strip() == "0" and folder.name != "n"
)


def recorded(name: str, file: str = "stdout") -> bytes:
    return (RECORDED / name / file).read_bytes()


@pytest.mark.parametrize("name", MEASURED)
def test_every_recorded_run_that_measured_is_read(name: str) -> None:
    report = parse_stdout(recorded(name))
    assert report.dialect is OutputDialect.MID
    assert report.iterations in (2, 3, 20)
    assert report.mean_s is not None
    assert 0 < report.mean_s < 1e-3
    assert report.session_creation_s is not None
    assert report.peak_working_set_bytes is not None
    assert report.peak_working_set_bytes > 20_000_000


def test_settings_in_force_are_told() -> None:
    assert parse_stdout(recorded("x2")).in_force == {"intra_op_num_threads": "2"}
    assert parse_stdout(recorded("D")).in_force == {"intra_op_spinning": "off"}
    assert parse_stdout(recorded("P_y2")).in_force == {"inter_op_num_threads": "2"}
    assert parse_stdout(recorded("dyn_f4")).in_force == {"dimension batch": "4"}


def test_an_overflown_cpu_usage_is_not_told() -> None:
    assert parse_stdout(recorded("x1")).cpu_percent is None
    assert parse_stdout(recorded("profile")).cpu_percent == 50


def test_only_a_session() -> None:
    assert parse_stdout(recorded("n"), session_only=True).session_creation_s == pytest.approx(0.00288079)
    with pytest.raises(ReportUnreadable, match="no statistics"):
        parse_stdout(recorded("n"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ((b"0.0522842 ms", b"nan ms"), "out of range"),
        ((b"0.0522842 ms", b"-1 ms"), "out of range"),
        ((b"0.0522842 ms", b"1e999 ms"), "out of range"),
        ((b"requests: 20", b"requests: 1e30"), "two values"),
        ((b"requests: 20", b"requests: 2.5"), "two values"),
        ((b"Runs:20", b"Runs:21"), "two values"),
        ((b"requests: 20\n", b"requests: 0\n"), "two values"),
        ((b"P50 Latency: 5.1516e-05", b"P50 Latency: 9e-01"), "not in order"),
        ((b"Average inference time cost: 0.0522842 ms\n", b""), "no statistics"),
    ],
)
def test_figures_that_cannot_be_are_refused(change: tuple[bytes, bytes], why: str) -> None:
    damaged = recorded("C_entry").replace(*change)
    assert damaged != recorded("C_entry")
    with pytest.raises(ReportUnreadable, match=why):
        parse_stdout(damaged)


def test_two_processes_in_one_output_are_refused() -> None:
    with pytest.raises(ReportUnreadable, match="two values"):
        parse_stdout(recorded("x1") + recorded("x2"))


def test_output_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("android_runner.perf_report.MAX_STDOUT_BYTES", 100)
    with pytest.raises(ReportUnreadable, match="at most 100"):
        parse_stdout(recorded("x1"))


def test_result_file_gives_the_single_latencies() -> None:
    rows = parse_result_file(recorded("result_file", "result.csv"))
    assert rows.shape == (20,)
    found = figures(parse_stdout(recorded("result_file")), rows)
    assert found.iterations == 20
    assert np.mean(rows) == pytest.approx(4.065e-5)
    assert (found.warm_up_dropped, found.flat) == (3, True)
    assert found.mean_s == pytest.approx(np.mean(rows[3:]))
    assert found.p50_s == np.median(rows[3:])
    assert found.min_s < found.p50_s < found.p90_s < found.p95_s < found.p99_s < found.max_s


def test_percentile_lines_behind_the_rows_are_tolerated() -> None:
    rows = parse_result_file(recorded("result_file_s", "result.csv"))
    assert rows[0] == 4.1201e-05
    assert rows.size == 20


def test_percentiles_are_type_7() -> None:
    report = parse_stdout(recorded("verbose"))
    found = figures(report, iteration_lines(recorded("verbose")))
    assert found.p50_s == pytest.approx((6.1251e-05 + 4.4166e-05) / 2)
    assert found.p90_s == pytest.approx(4.4166e-05 + 0.9 * (6.1251e-05 - 4.4166e-05))
    assert report.printed_s["P50"] == 6.1251e-05  # perf_test takes the upper of the two


def test_new_verbose_lines_are_read() -> None:
    text = b"".join(b"iteration:%d,time_cost_submission:0.001,time_cost_total:0.0%d\n" % (i, i) for i in range(1, 4))
    assert iteration_lines(text).tolist() == [0.01, 0.02, 0.03]


@pytest.mark.parametrize(
    "rows",
    [
        b"",
        b"m,0.1,1,1,0",
        b"m,0.1,1,1,1\n",
        b"m,0.1,1,1,0\nm,0.1,1,1,0\n",
        b"m,nan,1,1,0\n",
        b"m,inf,1,1,0\n",
        b"m,-0.1,1,1,0\n",
        b"m,1e999,1,1,0\n",
        b"m,1.2.3,1,1,0\n",
        b"m,0.1,1,0\n",
        b"\n\n",
        b"m,0.1,1,1,0\n\nm,0.1,1,1,1\n",
        b"m,0.1,1,1,0\n\nP50 Latency: 0.1 s\nm,0.1,1,1,0\n",
        b"m,0.1,1,1,0\0\n",
    ],
)
def test_a_result_file_that_is_not_one_is_refused(rows: bytes) -> None:
    with pytest.raises(ReportUnreadable):
        parse_result_file(rows)


def test_a_result_file_of_two_processes_is_refused() -> None:
    with pytest.raises(ReportUnreadable, match="more than one process"):
        parse_result_file(recorded("result_file_twice", "result.csv"))


def test_a_folder_with_commas_is_a_name() -> None:
    assert parse_result_file(b"a,b,0.5,c,0.25,12,-1,0\n").tolist() == [0.25]


def test_a_result_file_of_another_run_is_refused() -> None:
    report = parse_stdout(recorded("result_file"))
    with pytest.raises(ReportUnreadable, match="mean"):
        figures(report, parse_result_file(recorded("result_file_s", "result.csv")))
    with pytest.raises(ReportUnreadable, match="iterations"):
        figures(report, np.array([4.065e-05]))


def test_a_clock_that_does_not_resolve_is_said() -> None:
    report = parse_stdout(b"Average inference time cost: 0 ms\nTotal inference requests: 2\n")
    with pytest.raises(ReportUnreadable, match="clock"):
        figures(report, np.zeros(2))

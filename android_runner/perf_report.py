"""Pure: what onnxruntime_perf_test printed, in every dialect, and single latencies as figures.

Formats: `test/perftest/performance_runner.{h,cc}` of ONNX Runtime 1.8 to 1.31. Everything here comes from a phone, so
it is bounded and checked; whatever does not hold raises `ReportUnreadable`, and nothing else.

Three dialects of output: *old* (1.8-1.14; from 1.12 with a line on inferences per second, which tells nothing more),
*mid* (1.15-1.23) adds the first inference, *new* (from 1.24 on) writes `Average inference time cost total:`.
Latencies are printed with 6 significant digits, maybe in scientific notation, in seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from android_runner.errors import ReportUnreadable
from android_runner.warm_up import warm_up

Latencies: TypeAlias = npt.NDArray[np.float64]
"""Shape (iterations,), seconds, in the order in which they ran, without the one run that perf_test does not count."""

MAX_STDOUT_BYTES = 64 * 1024 * 1024
MAX_LINE_CHARS = 4096
MAX_SECONDS = 1e6
MAX_ITERATIONS = 10_000_000
MAX_BYTES = 1 << 53
MAX_IN_FORCE = 64

MEAN_TOLERANCE = 0.01
"""How far the printed mean may lie from that of the single latencies (both are rounded to 6 digits)."""


class OutputDialect(StrEnum):
    """Which era's words the output is written in."""

    OLD = "old"
    MID = "mid"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfReport:
    """What stdout tells of one process; times in seconds, None where the dialect or the options don't tell.

    `iterations` and `mean_s` are None only when just a session was made (`-n`). `printed_s` holds what was printed as
    `Min`, `Max`, `P50`, `P90`, `P95`, `P99`, `P999`: order statistics without interpolation (`sorted[int(n*q)]`), for
    checking only. `first_inference_s` is printed in whole milliseconds. `peak_working_set_bytes` is that of the
    process alone. `cpu_percent` is None when it overflowed (printed as -1). `in_force` are the settings that the tool
    says it has set, such as `intra_op_num_threads`.
    """

    dialect: OutputDialect
    session_creation_s: float | None
    first_inference_s: float | None
    iterations: int | None
    mean_s: float | None
    printed_s: Mapping[str, float]
    peak_working_set_bytes: int | None
    cpu_percent: int | None
    in_force: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyFigures:
    """What one process measured; seconds. Of `iterations` the first `warm_up_dropped` are in no other figure here.

    `flat` says whether the running median settled (`android_runner.warm_up`); None where there were too few to tell.
    Percentiles are linear interpolations between order statistics: numpy's default method, Hyndman and Fan's type 7
    (for n sorted values the q-quantile lies at position q*(n-1), counted from 0). They are ours, never those printed.
    """

    iterations: int
    warm_up_dropped: int
    flat: bool | None
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    min_s: float
    max_s: float
    mean_s: float
    session_creation_s: float | None
    first_inference_s: float | None
    peak_working_set_bytes: int | None


_NUMBER = r"([-+]?(?:[0-9.eE+-]+|nan|inf))"

_LINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("session_creation_s", re.compile(rf"Session creation time cost:\s*{_NUMBER} s")),
    ("first_inference_ms", re.compile(rf"First inference time cost:\s*{_NUMBER} ms")),
    ("total_s", re.compile(rf"Total inference time cost:\s*{_NUMBER} s")),
    ("iterations", re.compile(rf"Total inference requests:\s*{_NUMBER}")),
    ("iterations", re.compile(rf"Runs:\s*{_NUMBER}")),
    ("mean_ms", re.compile(rf"Average inference time cost:\s*{_NUMBER} ms")),
    ("mean_total_ms", re.compile(rf"Average inference time cost total:\s*{_NUMBER} ms")),
    ("cpu_percent", re.compile(rf"Avg CPU usage:\s*{_NUMBER}(?: %)?")),
    ("peak_bytes", re.compile(rf"Peak working set size:\s*{_NUMBER}(?: bytes)?")),
)
_PRINTED = re.compile(rf"(Min|Max|P[0-9]{{2,4}}) Latency:\s*{_NUMBER} s")

_IN_FORCE: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"Setting intra_op_num_threads to (\d+)"), "intra_op_num_threads", r"\1"),
    (re.compile(r"Setting inter_op_num_threads to (\d+)"), "inter_op_num_threads", r"\1"),
    (re.compile(r"Setting intra op thread affinity as (.+)"), "intra_op_thread_affinity", r"\1"),
    (re.compile(r"Disabling intra-op thread spinning entirely"), "intra_op_spinning", "off"),
    (re.compile(r"Disabling intra-op thread spinning between runs"), "force_spinning_stop", "on"),
    (re.compile(r"Overriding dimension with name, (.+), to (\d+)\.?"), r"dimension \1", r"\2"),
    (re.compile(r"Overriding dimension with denotation, (.+), to (\d+)\.?"), r"denotation \1", r"\2"),
)
_ITERATION = re.compile(rf"iteration:(\d{{1,9}}),time_cost(?:_submission:[^,]{{1,32}},time_cost_total)?:{_NUMBER}")


def _number(text: str, what: str, limit: float) -> float:
    """`text` as a finite number in [0, limit]."""
    try:
        value = float(text)
    except ValueError:
        raise ReportUnreadable(f"{what}: {text[:40]!r} is not a number") from None
    if not (math.isfinite(value) and 0.0 <= value <= limit):
        raise ReportUnreadable(f"{what}: {text[:40]!r} is out of range")
    return value


def _whole(text: str, what: str, limit: int) -> int:
    value = _number(text, what, limit)
    if value != int(value):
        raise ReportUnreadable(f"{what}: {text[:40]!r} is not a whole number")
    return int(value)


def _bounded_lines(stdout: bytes) -> list[str]:
    """Lines that can mean something, stripped; Windows line ends and over-long lines don't matter."""
    if len(stdout) > MAX_STDOUT_BYTES:
        raise ReportUnreadable(f"stdout has {len(stdout)} bytes; at most {MAX_STDOUT_BYTES} are read")
    text = stdout.decode("utf-8", errors="replace")
    return [line.strip() for line in text.split("\n") if line and len(line) <= MAX_LINE_CHARS]


def _collect(lines: list[str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Known figures, printed order statistics and settings in force; a figure told twice must be told alike."""
    figures: dict[str, str] = {}
    printed: dict[str, str] = {}
    in_force: dict[str, str] = {}

    def keep(into: dict[str, str], key: str, value: str) -> None:
        if into.setdefault(key, value) != value:
            raise ReportUnreadable(f"stdout tells two values of {key}: {into[key][:40]!r} and {value[:40]!r}")

    for line in lines:
        for key, pattern in _LINES:
            if found := pattern.fullmatch(line):
                keep(figures, key, found[1])
                break
        else:
            if found := _PRINTED.fullmatch(line):
                keep(printed, found[1], found[2])
            elif len(in_force) < MAX_IN_FORCE:
                in_force.update(_setting(line))
    return figures, printed, in_force


def _setting(line: str) -> dict[str, str]:
    for pattern, key, value in _IN_FORCE:
        if found := pattern.fullmatch(line):
            return {found.expand(key)[:200]: found.expand(value)[:200]}
    return {}


def _dialect(figures: Mapping[str, str]) -> OutputDialect:
    if "mean_total_ms" in figures:
        return OutputDialect.NEW
    return OutputDialect.MID if "first_inference_ms" in figures else OutputDialect.OLD


def _check_order(printed: Mapping[str, float]) -> None:
    """Min ≤ P50 ≤ … ≤ Max, as far as they are printed."""
    percentiles = sorted((name for name in printed if name[0] == "P"), key=lambda name: float(f"0.{name[1:]}"))
    values = [printed[name] for name in ("Min", *percentiles, "Max") if name in printed]
    if any(low > high for low, high in pairwise(values)):
        raise ReportUnreadable("the printed percentiles are not in order")


def _check_mean(mean_s: float, total_s: float | None, iterations: int, printed: Mapping[str, float]) -> None:
    """The mean is the total by the iterations, and lies between Min and Max, as far as they are printed."""
    if total_s is not None and not math.isclose(total_s / iterations, mean_s, rel_tol=MEAN_TOLERANCE, abs_tol=1e-9):
        raise ReportUnreadable(f"the printed mean {mean_s:.6g} s is not {total_s:.6g} s by {iterations} iterations")
    low, high = printed.get("Min", 0.0), printed.get("Max", math.inf)
    if not low * (1 - MEAN_TOLERANCE) - 1e-9 <= mean_s <= high * (1 + MEAN_TOLERANCE) + 1e-9:
        raise ReportUnreadable(f"the printed mean {mean_s:.6g} s is not between {low:.6g} s and {high:.6g} s")


def _cpu_percent(text: str | None) -> int | None:
    """None for an overflow: perf_test counts in a short and prints -1, or a lower number, when it doesn't fit."""
    if text is None or text.startswith("-"):
        return None
    return _whole(text, "Avg CPU usage", 100_000)


def parse_stdout(stdout: bytes, *, session_only: bool = False) -> PerfReport:
    """Read what one process printed.

    Raises `ReportUnreadable` when there are no statistics (unless `session_only`, for `-n`), a figure is not a
    sensible number or contradicts another, one is told twice with different values, or the output is larger than is
    read.
    """
    figures, printed_text, in_force = _collect(_bounded_lines(stdout))
    printed = {name: _number(text, f"{name} Latency", MAX_SECONDS) for name, text in printed_text.items()}
    _check_order(printed)
    mean_ms = figures.get("mean_total_ms", figures.get("mean_ms"))
    iterations = _whole(figures["iterations"], "iterations", MAX_ITERATIONS) if "iterations" in figures else None
    if not session_only and (mean_ms is None or not iterations):
        raise ReportUnreadable(f"no statistics in stdout ({len(stdout)} bytes): no average, or no iterations")
    if session_only and "session_creation_s" not in figures:
        raise ReportUnreadable(f"no session creation time in stdout ({len(stdout)} bytes)")
    mean_s = None if mean_ms is None else _number(mean_ms, "average", MAX_SECONDS * 1e3) / 1e3
    if mean_s is not None and iterations:
        total_text = figures.get("total_s")
        total_s = None if total_text is None else _number(total_text, "total", MAX_SECONDS * MAX_ITERATIONS)
        _check_mean(mean_s, total_s, iterations, printed)
    session_text, first_text = figures.get("session_creation_s"), figures.get("first_inference_ms")
    peak_text = figures.get("peak_bytes")
    return PerfReport(
        dialect=_dialect(figures),
        session_creation_s=None if session_text is None else _number(session_text, "session creation", MAX_SECONDS),
        first_inference_s=None if first_text is None else _number(first_text, "first inference", MAX_SECONDS) / 1e3,
        iterations=iterations,
        mean_s=mean_s,
        printed_s=printed,
        peak_working_set_bytes=None if peak_text is None else _whole(peak_text, "peak working set", MAX_BYTES),
        cpu_percent=_cpu_percent(figures.get("cpu_percent")),
        in_force=in_force,
    )


def iteration_lines(stdout: bytes) -> Latencies:
    """Latencies from the lines that `-v` prints, in their order; empty without `-v`.

    Raises `ReportUnreadable` when the numbers are not 1, 2, … or 0, 1, … without a gap, or are no sensible times.
    """
    first: int | None = None
    values: list[float] = []
    for line in _bounded_lines(stdout):
        if found := _ITERATION.fullmatch(line):
            first = int(found[1]) if first is None else first
            if first > 1 or int(found[1]) != first + len(values):
                raise ReportUnreadable(f"iteration {found[1]} is out of order in the verbose lines")
            values.append(_number(found[2], "time_cost", MAX_SECONDS))
    return np.array(values, dtype=np.float64)


def figures(report: PerfReport, latencies: Latencies) -> LatencyFigures:
    """What the process measured, from its single latencies without their warm-up; `report` adds what they don't tell
    and must agree with all of them.

    Raises `ReportUnreadable` when there are none, their number or mean is not the printed one, or the clock of the
    phone could not resolve them (a median of 0).
    """
    count = int(latencies.size)
    if count == 0:
        raise ReportUnreadable("no single latencies: neither a result file nor verbose lines")
    if report.iterations is not None and report.iterations != count:
        raise ReportUnreadable(f"{count} single latencies, but stdout tells of {report.iterations} iterations")
    mean_s = float(latencies.mean())
    if report.mean_s is not None and not math.isclose(mean_s, report.mean_s, rel_tol=MEAN_TOLERANCE, abs_tol=1e-9):
        raise ReportUnreadable(f"single latencies have the mean {mean_s:.6g} s, stdout says {report.mean_s:.6g} s")
    warm = warm_up(latencies)
    settled = latencies[warm.dropped :]
    p50_s, p90_s, p95_s, p99_s = (float(value) for value in np.quantile(settled, (0.50, 0.90, 0.95, 0.99)))
    if p50_s <= 0.0:
        raise ReportUnreadable("the median latency is 0: the phone's clock does not resolve this model")
    return LatencyFigures(
        iterations=count,
        warm_up_dropped=warm.dropped,
        flat=warm.flat,
        p50_s=p50_s,
        p90_s=p90_s,
        p95_s=p95_s,
        p99_s=p99_s,
        min_s=float(settled.min()),
        max_s=float(settled.max()),
        mean_s=float(settled.mean()),
        session_creation_s=report.session_creation_s,
        first_inference_s=report.first_inference_s,
        peak_working_set_bytes=report.peak_working_set_bytes,
    )

"""Pure: the file of single latencies that onnxruntime_perf_test writes when it is given a name for one.

Format: `test/perftest/performance_runner.h` (`PerformanceResult::DumpToFile`), the same from ONNX Runtime 1.8 to 1.31.
"""

from __future__ import annotations

import re

import numpy as np

from android_runner.errors import ReportUnreadable
from android_runner.perf_report import MAX_ITERATIONS, MAX_SECONDS, Latencies

MAX_RESULT_FILE_BYTES = 256 * 1024 * 1024

_ROW = re.compile(rb".*,([0-9][0-9.eE+-]*),([0-9]{1,16}),(-?[0-9]{1,5}),([0-9]{1,9})")
_BLOCK_LINE = re.compile(rb"(?:Min|Max|P[0-9]{2,4}) Latency:\s*[0-9][0-9.eE+-]* s\s*")


def parse_result_file(data: bytes) -> Latencies:
    """Latencies from a result file.

    One row an iteration, `model name,latency in s,peak working set in bytes,CPU in %,index from 0`; the name is that
    of the model's folder and may hold commas. With `-s` a blank line and the percentile lines follow. perf_test
    appends: a second block of rows means that an older file was not removed, and is refused, as is everything else
    that is not exactly this (`ReportUnreadable`).
    """
    if len(data) > MAX_RESULT_FILE_BYTES:
        raise ReportUnreadable(f"result file has {len(data)} bytes; at most {MAX_RESULT_FILE_BYTES} are read")
    if not data.endswith(b"\n"):
        raise ReportUnreadable("result file is empty" if not data else "result file ends in the middle of a row")
    lines = data.split(b"\n")[:-1]
    rows = lines.index(b"") if b"" in lines else len(lines)
    for number, line in enumerate(lines[rows + 1 :], start=rows + 2):
        if not _BLOCK_LINE.fullmatch(line):
            raise ReportUnreadable(f"result file, line {number}: more than one process wrote it, or it is damaged")
    if not 0 < rows <= MAX_ITERATIONS:
        raise ReportUnreadable(f"result file has {rows} rows")
    latencies = np.fromiter(
        (_row_latency(line, index) for index, line in enumerate(lines[:rows])), dtype=np.float64, count=rows
    )
    if not bool(np.all(np.isfinite(latencies) & (latencies >= 0.0) & (latencies <= MAX_SECONDS))):
        raise ReportUnreadable("result file holds a latency that is no sensible time")
    return latencies


def _row_latency(line: bytes, index: int) -> float:
    found = _ROW.fullmatch(line)
    if found is None or int(found[4]) != index:
        why = "no row of five fields" if found is None else f"index {found[4].decode()} where {index} must stand"
        raise ReportUnreadable(f"result file, line {index + 1}: {why}")
    try:
        return float(found[1])
    except ValueError:
        raise ReportUnreadable(f"result file, line {index + 1}: latency is not a number") from None

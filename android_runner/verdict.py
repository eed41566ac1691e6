"""How a trial's process ended: a measurement, or one leaf of `android_runner.errors`. Pure, but for `judge`.

An exception ends perf_test with 255, a refusal of Abseil's with 1, a signal n with 128 + n (the shell's own count).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from android_runner.assignment import speaks
from android_runner.block import LOG_FILE, Ending, TrialFolder
from android_runner.errors import (
    BinaryUnusable,
    ModelRefused,
    ReportUnreadable,
    RunnerError,
    SettingRefused,
    ToolCrashed,
    ToolKilled,
    TrialLost,
    TrialTimedOut,
)
from android_runner.perf_report import (
    MAX_STDOUT_BYTES,
    LatencyFigures,
    PerfReport,
    figures,
    iteration_lines,
    parse_stdout,
)
from android_runner.result_file import MAX_RESULT_FILE_BYTES, parse_result_file
from android_runner.tool_words import (
    CRASHES,
    MAX_SCAN_BYTES,
    USAGE,
    cleaned,
    said_by,
    signal_name,
    telling_lines,
    text_of,
    unusable_words,
    words,
)

RESULT_FILE = "result.csv"
"""Name of the result file in a trial's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A process that did what it was for.

    `latencies` is None where none were asked for (a trace, a calibration); `trace` is the trace file where one was.
    Times in seconds; the rest as in `PerfReport`.
    """

    report: PerfReport
    latencies: LatencyFigures | None
    trace: Path | None = None

    @property
    def iterations(self) -> int:
        """How many iterations ran, warm-up excluded."""
        return self.report.iterations or 0

    @property
    def mean_s(self) -> float:
        """Mean latency as printed; enough to choose a number of iterations."""
        return self.report.mean_s or 0.0

    @property
    def in_force(self) -> Mapping[str, str]:
        """The settings that the tool says it has set."""
        return self.report.in_force

    @property
    def session_creation_s(self) -> float | None:
        """Time to make the session."""
        return self.report.session_creation_s

    @property
    def first_inference_s(self) -> float | None:
        """The warm-up, in whole milliseconds; None in the old dialect."""
        return self.report.first_inference_s

    @property
    def peak_working_set_bytes(self) -> int | None:
        """Of the process alone."""
        return self.report.peak_working_set_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnd:
    """What is left of one process: its journalled ending, exit code, both streams, its result file if it wrote one.

    `timed` says whether latencies are wanted.
    """

    ending: Ending
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    result_file: bytes | None = None
    timed: bool = True


def _by_signal(exit_code: int, said: str) -> RunnerError | None:
    name = signal_name(exit_code)
    if name is None:
        return None
    text = f"ended by {name}" + (f": {said}" if said else "")
    if name in CRASHES:
        return ToolCrashed(text)
    return ToolKilled(f"{text} (from outside: low memory, or a person)")


def _refusal(end: TrialEnd, exit_code: int) -> RunnerError:
    """Which leaf a process that did not measure ends in; loaders first, as Android's may end by a signal."""
    said = words(end.stdout, end.stderr)
    if (unusable := unusable_words(exit_code, end.stderr)) is not None:
        return BinaryUnusable(f"the phone cannot start the binary: {unusable}")
    if (by_signal := _by_signal(exit_code, said)) is not None:
        return by_signal
    lines = telling_lines(text_of(end.stderr)) + telling_lines(text_of(end.stdout))
    if (known := said_by(lines)) is not None:
        kind, line = known
        return kind(line)
    if USAGE.search(end.stdout[:MAX_SCAN_BYTES].decode("utf-8", errors="replace")):
        return SettingRefused("the binary does not understand its command line: it answered with its usage text")
    return ReportUnreadable(f"ended with {exit_code} in no known way" + (f": {said}" if said else ", without a word"))


def _measured(end: TrialEnd) -> Reading:
    try:
        report = parse_stdout(end.stdout)
        if not end.timed:
            return Reading(report=report, latencies=None)
        rows = iteration_lines(end.stdout) if end.result_file is None else parse_result_file(end.result_file)
        return Reading(report=report, latencies=figures(report, rows))
    except ReportUnreadable as unreadable:
        said = words(b"", end.stderr)
        raise ReportUnreadable(f"ended with 0, but {unreadable}" + (f" ({said})" if said else "")) from unreadable


def decide(end: TrialEnd) -> Reading:
    """What one process's end means; pure.

    Raises the leaf of `RunnerError` that it ended in. `Ending.STOPPED` (we asked for it) is no failure of anybody:
    the caller handles it before; here it counts as killed, as nothing was measured.
    """
    match end.ending:
        case Ending.TIMED_OUT:
            said = words(end.stdout, end.stderr)
            raise TrialTimedOut("over its deadline, ended by the watchdog" + (f": {said}" if said else ""))
        case Ending.STOPPED:
            raise ToolKilled("ended because the run was stopped")
        case Ending.LOST:
            raise TrialLost("nothing on the phone says how it ended")
        case Ending.EXITED:
            return _decide_exit(end)


def _decide_exit(end: TrialEnd) -> Reading:
    if end.exit_code is None:
        raise TrialLost("the journal has its end, but no exit code")
    if end.exit_code != 0:
        raise _refusal(end, end.exit_code)
    failed = [line for line in telling_lines(text_of(end.stdout)) if line.startswith("Run failed:")]
    if failed:
        raise ModelRefused(cleaned(failed[0]))
    return _measured(end)


def judge(folder: TrialFolder, *, wants_latencies: bool, wants_trace: bool, wants_log: bool = False) -> Reading:
    """`decide` over what was pulled of one task: files `stdout`, `stderr`, `RESULT_FILE`, the trace and the log.

    Raises as `decide`; `ReportUnreadable` also for files larger than is read, for a trace that is asked for but missing
    or empty, and when no log came that was asked for. Trace and log themselves are not read here
    (`android_runner.trace` and `android_runner.assignment` do; a log with gaps is a log).
    """
    reading = decide(
        TrialEnd(
            ending=folder.ending,
            exit_code=folder.exit_code,
            stdout=_bytes_of(folder, "stdout", MAX_STDOUT_BYTES) or b"",
            stderr=_bytes_of(folder, "stderr", MAX_STDOUT_BYTES) or b"",
            result_file=_bytes_of(folder, RESULT_FILE, MAX_RESULT_FILE_BYTES) if wants_latencies else None,
            timed=wants_latencies,
        )
    )
    if wants_log and LOG_FILE not in folder.files and not speaks(_bytes_of(folder, "stderr", MAX_STDOUT_BYTES) or b""):
        raise ReportUnreadable("ended with 0, but no log came: the phone has no logcat, and nothing is on stderr")
    return replace(reading, trace=_trace_of(folder)) if wants_trace else reading


def _bytes_of(folder: TrialFolder, name: str, limit: int) -> bytes | None:
    path = folder.files.get(name)
    if path is None:
        return None
    if path.stat().st_size > limit:
        raise ReportUnreadable(f"{name} has {path.stat().st_size} bytes; at most {limit} are read")
    return path.read_bytes()


def _trace_of(folder: TrialFolder) -> Path:
    traces = [path for name, path in sorted(folder.files.items()) if name.endswith(".json")]
    if not traces:
        raise ReportUnreadable("ended with 0, but wrote no trace (its folder was not writable, or it never ended)")
    if len(traces) > 1 or traces[0].stat().st_size == 0:
        what = "more than one trace" if len(traces) > 1 else "an empty trace"
        raise ReportUnreadable(f"ended with 0, but left {what}")
    return traces[0]

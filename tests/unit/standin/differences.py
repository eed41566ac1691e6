"""The one table of what is not the same between a recorded run and the stand-in, each with its reason.

Figures that are measured anew in each run (`figures_masked`) are compared by place and form, not by value. Everything
else that a comparison leaves out is an entry of `DIFFERENCES`, applied to the named runs and stream only, or one of the
constants below it, which speak of the exit status and of traces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_FIGURES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<=^Session creation time cost: ){NUMBER}(?= s$)",
        r"(?<=^First inference time cost: )\d+(?= ms$)",
        rf"(?<=^Total inference time cost: ){NUMBER}(?= s$)",
        rf"(?<=^Average inference time cost: ){NUMBER}(?= ms$)",
        rf"(?<=^Total inference run time: ){NUMBER}(?= s$)",
        rf"(?<=^Number of inferences per second: ){NUMBER}(?= $)",
        r"(?<=^Avg CPU usage: )-?\d+(?= %$)",
        r"(?<=^Avg CPU usage:)-?\d+(?=$)",
        r"(?<=^Peak working set size: )\d+(?= bytes$)",
        r"(?<=^Peak working set size:)\d+(?=$)",
        rf"(?<= Latency: ){NUMBER}(?= s$)",
        rf"(?<=,time_cost:){NUMBER}(?=$)",
    )
)
_ROW = re.compile(rf"^([^,]*),{NUMBER},\d+,-?\d+,(\d+)$")
_LOG_TIME = re.compile(r"^((?:\x1b\[[0-9;]*m)?)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} (?=\[[A-Z]:onnxruntime:)")


def figures_masked(line: str) -> str:
    """A line of output or of the result file with its measured figures and its time of day replaced by `#`."""
    for pattern in _FIGURES:
        line = pattern.sub("#", line)
    line = _ROW.sub(r"\1,#,#,#,\2", line)
    return _LOG_TIME.sub(r"\1# ", line)


@dataclass(frozen=True)
class Difference:
    """One thing that differs: in which runs, where, why, and what the comparison makes of a line (None drops it)."""

    runs: tuple[str, ...]
    stream: str
    reason: str
    treated: Callable[[str], str | None]
    of_true_program: bool
    """Whether it also holds for the true 1.21.0 program run by these tests."""


def _without_shell_words(line: str) -> str | None:
    return None if re.fullmatch(r"(?:Killed|Segmentation fault)(?: \(core dumped\))? ?", line) else line


_SOURCE_LINE = re.compile(r"(?<=sequential_executor\.cc:)\d+|(?<=reshape_helper\.h:)\d+")


def _without_source_lines(line: str) -> str:
    return _SOURCE_LINE.sub("#", line)


CORE_LOG = (
    "Flush-to-zero and denormal-as-zero are off",
    "Creating and using per session threadpools since use_per_session_threads_ is true",
    "Initializing session.",
    "Adding default CPU execution provider.",
    "GraphTransformer ConstantFolding modified: 0 with status: OK",
    "GraphTransformer NchwcTransformer modified: 1 with status: OK",
    " All nodes placed on [CPUExecutionProvider]. Number of nodes: 8",
    "Saving initialized tensors.",
    "Session successfully initialized.",
)
"""What onnxruntime says at -v in every version tried (1.21.0, 1.31.1)."""

_LOG_LINE = re.compile(r"^# \[[VIWE]:onnxruntime:[A-Za-z]*, [^ ]+\.cc:\d+ [^\]]+\] (.*)$")


def _core_log_only(line: str) -> str | None:
    found = _LOG_LINE.match(line)
    if found is None:
        return line
    return found.group(1) if found.group(1) in CORE_LOG else None


DIFFERENCES = (
    Difference(
        runs=("killed", "garbage_ort"),
        stream="stderr",
        reason="words of the shell that waited for the process: mksh over adb there, this host's sh here",
        treated=_without_shell_words,
        of_true_program=True,
    ),
    Difference(
        runs=("runfail_onnx",),
        stream="stdout",
        reason="line numbers in onnxruntime's own source: recorded with library 1.21.0, run with the installed one",
        treated=_without_source_lines,
        of_true_program=False,
    ),
    Difference(
        runs=("runfail_onnx",),
        stream="stderr",
        reason="line numbers in onnxruntime's own source: recorded with library 1.21.0, run with the installed one",
        treated=_without_source_lines,
        of_true_program=False,
    ),
    Difference(
        runs=("verbose",),
        stream="stderr",
        reason="onnxruntime's own log: its optimizers, thread numbers, addresses and the order of lines from different "
        "threads differ by version and run; the form of every line and the lines of CORE_LOG are compared",
        treated=_core_log_only,
        of_true_program=True,
    ),
)

EITHER_STATUS = {"garbage_ort": {139, 255}}
"""A broken .ort is read before it is verified: what lies behind it in memory decides how that ends."""

TRACE_ARGS_OF_NEWER_LIBRARIES = "mem_"
"""Prefix of event arguments that libraries from 1.28 on add; the trace is the installed library's."""

TRACE_NAME = re.compile(r"^prof_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(?:_\d{3})?\.json$")
"""Libraries from 1.25 on add milliseconds to the trace's name."""

_INSERTED = re.compile(r"^ReorderOutput(?:_token_\d+)?(?=_kernel_time$)")


def trace_name(event_name: str) -> str:
    """Which of two nodes that onnxruntime inserts gets the number in its name differs by library version."""
    return _INSERTED.sub("ReorderOutput#", event_name)


def treated(run: str, stream: str, text: str, *, true_program: bool) -> list[str]:
    """Lines as they are compared."""
    lines: list[str] = [figures_masked(line) for line in text.split("\n")]
    for difference in DIFFERENCES:
        if run in difference.runs and stream == difference.stream and (difference.of_true_program or not true_program):
            lines = [kept for line in lines if (kept := difference.treated(line)) is not None]
    return lines

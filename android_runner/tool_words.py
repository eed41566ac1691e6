"""Pure: the words with which the tool, Abseil, getopt, the loader and the shell say why there is no measurement.

The texts are those of ONNX Runtime 1.8 to 1.31 (`test/perftest/*.cc`, `test/onnx/onnx_model_info.cc`), of getopt
(glibc and bionic), Abseil's flags, and of Android's, glibc's and musl's loaders. Exceptions are printed as
`<source path>:<line> <function signature> <message>`.
"""

from __future__ import annotations

import re

from android_runner.errors import BinaryUnusable, ModelRefused, RunnerError, SettingRefused, ToolCrashed

MAX_WORDS_CHARS = 300
MAX_SCAN_BYTES = 200_000
_MAX_SCAN_LINES = 2_000
_MAX_LINE_CHARS = 4_000

_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 31: "SIGSYS",
}  # fmt: skip
"""Linux's numbers on every architecture that phones have; the host's may differ."""

CRASHES = frozenset({"SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS"})
"""Signals that a process brings upon itself."""


_Rule = tuple[re.Pattern[str], type[RunnerError]]

_LOADER: tuple[_Rule, ...] = tuple(
    (re.compile(pattern), BinaryUnusable)
    for pattern in (
        r"CANNOT LINK EXECUTABLE",
        r"error while loading shared libraries",
        r"Error loading shared library",
        r"cannot locate symbol|symbol lookup error|Error relocating",
        r"version `VERS_[^']*' not found",
        r"has unexpected e_machine|is for EM_|wrong ELF class",
        r"not executable: |[Ee]xec format error|bad interpreter",
        r"only position independent executables \(PIE\)",
        r"The requested API version \[\d+\] is not available",
    )
)

_SAID: tuple[_Rule, ...] = (
    *_LOADER,
    (re.compile(r"^orch: cores can't be chosen"), SettingRefused),
    (re.compile(r"^taskset: .*(?:affinity|[Ii]nvalid argument|mask)"), SettingRefused),
    # Words that other rules' words contain come first.
    (re.compile(r"onnx model is not supported in this build"), ModelRefused),
    (re.compile(r"ORT format model version|ORT format models older than"), ModelRefused),
    (re.compile(r"(?:invalid|unknown) option(?: --|:)? "), SettingRefused),
    (re.compile(r"option requires an argument"), SettingRefused),
    (re.compile(r"ERROR: (?:Unknown command line flag|Illegal value|Missing the value)"), SettingRefused),
    (re.compile(r"is not supported in this build|not implemented in this build"), SettingRefused),
    (re.compile(r"This backend is not included in perf test runner"), SettingRefused),
    (re.compile(r"\[ERROR\] \[[A-Za-z]+\] "), SettingRefused),
    (re.compile(r"Both NNAPI_FLAG_CPU_DISABLED and NNAPI_FLAG_CPU_ONLY"), SettingRefused),
    (re.compile(r"Error parsing session configuration entries|duplicate session configuration entry"), SettingRefused),
    (re.compile(r"has been explicitly disabled by the user"), SettingRefused),
    (re.compile(r"cannot run using (?:the )?current set of target devices"), SettingRefused),
    (re.compile(r"See '[^']*--help'"), SettingRefused),
    (re.compile(r"std::bad_alloc|Failed to allocate memory"), ToolCrashed),
    (re.compile(r"protobuf parsing failed|Protobuf parsing failed|INVALID_PROTOBUF"), ModelRefused),
    (re.compile(r"Invalid ORT format model|Invalid fd was supplied|open file .* failed"), ModelRefused),
    (
        re.compile(r"there is no test (?:input )?data for|illegal input file name|test case dir doesn't exist"),
        ModelRefused,
    ),
    (re.compile(r"Run failed:|caught exception"), ModelRefused),
    (re.compile(r"\[ONNXRuntimeError\]|Load model from .* failed|is not supported\s*$"), ModelRefused),
)

USAGE = re.compile(r"^(?:[^\n:]{1,200}: )?(?:onnxruntime_)?perf_test \[options", re.MULTILINE)
"""Start of the usage text of every era; Abseil puts the program's name before it."""
_ANSI = re.compile(r"\x1b?\[[0-9;]{0,12}m")
_LOG = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+ \[([VIWEF]):[^\]]{0,300}\] ?")
_SOURCE = re.compile(r"^(?:[A-Za-z]:)?[\w./+-]{1,400}\.(?:cc|cpp|h|hpp|cxx):\d{1,7} ")
_FIGURE_LINE = re.compile(
    r"^(?:iteration:|Runs:|(?:Min|Max|P\d+) Latency:|Total inference|Average inference|Number of inferences)"
)


def _unsigned(line: str) -> str:
    """`line` without the C++ signature that stands before the message, found by its balanced parentheses."""
    depth, opened = 0, False
    for index, char in enumerate(line):
        depth += (char == "(") - (char == ")")
        opened = opened or char == "("
        if opened and depth <= 0:
            rest = line[index + 1 :].removeprefix(" const").strip()
            return rest or line
    return line


def cleaned(line: str) -> str:
    """One line of the tool without colours, log prefix, source position and signature; printable, ≤ 300 characters."""
    line = _LOG.sub("", _ANSI.sub("", line).strip())
    if prefix := _SOURCE.match(line):
        line = _unsigned(line[prefix.end() :])
    line = "".join(char if char.isprintable() else " " for char in line).strip()
    return line if len(line) <= MAX_WORDS_CHARS else line[: MAX_WORDS_CHARS - 1] + "…"


def text_of(stream: bytes) -> str:
    """The end of a stream, where errors stand, as text."""
    return stream[-MAX_SCAN_BYTES:].decode("utf-8", errors="replace")


def telling_lines(text: str) -> list[str]:
    """Lines that may be the tool's own words, last first: no figures, no log lines below an error."""
    kept = []
    for raw in reversed(text.splitlines()[-_MAX_SCAN_LINES:]):
        line = _ANSI.sub("", raw[:_MAX_LINE_CHARS]).strip()
        log = _LOG.match(line)
        if line and not _FIGURE_LINE.match(line) and not (log and log[1] in "VIW"):
            kept.append(line)
    return kept


def said_by(lines: list[str]) -> tuple[type[RunnerError], str] | None:
    """The first rule that one of the tool's lines meets, with that line."""
    for pattern, kind in _SAID:
        for line in lines:
            if pattern.search(line):
                return kind, cleaned(line)
    return None


def words(stdout: bytes, stderr: bytes) -> str:
    """The tool's last meaningful words, stderr first; empty when it said nothing."""
    for stream in (stderr, stdout):
        for line in telling_lines(text_of(stream)):
            return cleaned(line)
    return ""


def unusable_words(exit_code: int | None, stderr: bytes) -> str | None:
    """Why the phone could not start the program at all, in the loader's or shell's words; None when it did start."""
    lines = telling_lines(text_of(stderr))
    for pattern, _ in _LOADER:
        for line in lines:
            if pattern.search(line):
                return cleaned(line)
    if exit_code in (126, 127):
        why = {126: "found, but not executable there", 127: "not found, or its loader is not there"}[exit_code]
        return cleaned(lines[0]) if lines else f"exit code {exit_code}: {why}"
    return None


def signal_name(exit_code: int) -> str | None:
    """`SIGSEGV` for 139 and so on; None when the code tells of no signal."""
    return _SIGNALS.get(exit_code - 128)

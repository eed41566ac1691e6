"""Pure: the phone's log as `run_block.sh` kept it beside a trial, and which of its lines the trial's process wrote.

The script streams `logcat -v threadtime -s TAG:V… orch-mark:V chatty:V` into a file, writes a mark into the log until
it comes out at the other end, runs the trial, and does so again; the end mark names the process:

    11-21 07:18:02.120  4711  4711 I orch-mark: begin 0003-introspect-r1-ab12
    11-21 07:18:02.301  4712  4712 V onnxruntime:  [V:onnxruntime:Default, x.cc:76 F] Found devices [] in NNAPI
    11-21 07:18:03.009  4720  4720 I orch-mark: end 0003-introspect-r1-ab12 4712

What was lost in between is told: a mark that is missing, logd's own note that it dropped lines of this process (tag
`chatty`, Android 8-10; "identical" ones lose nothing), a second beginning of the buffer, what logcat said of a failed
read. Format: AOSP `liblog/logprint.cpp`, `logcat/logcat.cpp`, `logd/LogBufferElement.cpp`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LOG_BYTES = 64 * 1024 * 1024
"""What is read of a captured log."""
MAX_LINES = 1_000_000
MAX_LINE_CHARS = 8192
"""logd takes 4068 bytes a message at most."""
MARK = "orch-mark"

_LINE = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,9} +(\d{1,10}) +\d{1,10} ([VDIWEF]) ([^:]{0,200}): ?(.*)")
_DIVIDER = re.compile(r"-{9} (?:beginning of|switch to) ")
_BEGIN = re.compile(r"begin ([a-z0-9][a-z0-9-]{0,63})")
_END = re.compile(r"end ([a-z0-9][a-z0-9-]{0,63}) ([0-9]{1,10})")
_EXPIRED = re.compile(r"\bexpire \d+ lines?\b")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log: who wrote it, how grave it is (`V D I W E F`), under which tag, what."""

    pid: int
    level: str
    tag: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneLog:
    """What the trial's process (`pid`; None when the log does not say which) wrote between the two marks.

    `problems` say why something may be missing; without one, `lines` is all.
    """

    pid: int | None
    lines: tuple[LogLine, ...]
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing was lost."""
        return not self.problems


@dataclass(slots=True)
class _Read:
    lines: list[LogLine | None]
    """None stands for a divider: `--------- beginning of main`"""
    foreign: list[str]
    cut: bool = False


def read_phone_log(data: bytes) -> PhoneLog:
    """The trial's own lines. Never raises: whatever is wrong with the text is a problem in the answer."""
    read = _lines_of(data)
    problems = ["the log is longer than is read"] if read.cut else []
    problems += [f"logcat said: {line}" for line in read.foreign[:3]]
    begins = [(n, found[1]) for n, line in enumerate(read.lines) if (found := _marked(line, _BEGIN)) is not None]
    task_id = begins[-1][1] if begins else ""  # an older line of the log may stand before ours, never behind
    begin = next((n for n, name in begins if name == task_id), -1)
    if not begins:
        problems.append("the begin mark is missing: the log started after the process")
    ends = [(n, found) for n, line in enumerate(read.lines) if (found := _marked(line, _END)) is not None and n > begin]
    if not ends or ends[-1][1][1] != (task_id or ends[-1][1][1]):
        problems.append("the end mark is missing: the log stopped before the process ended, or the phone has none")
        return PhoneLog(pid=None, lines=(), problems=tuple(problems))
    end, ended = ends[-1]
    pid = int(ended[2])
    between = read.lines[begin + 1 : end]
    mine = [line for line in between if line is not None and line.pid == pid]
    if len(between) > len([line for line in between if line is not None]) and begin >= 0:
        problems.append("the log's buffer began anew while the process ran")
    if any(line.tag == "chatty" and _EXPIRED.search(line.text) for line in mine):
        problems.append("the phone dropped lines of this process (chatty: expire)")
    return PhoneLog(
        pid=pid,
        lines=tuple(line for line in mine if line.tag not in ("chatty", MARK)),
        problems=tuple(problems),
    )


def _marked(line: LogLine | None, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.fullmatch(line.text) if line is not None and line.tag == MARK else None


def _lines_of(data: bytes) -> _Read:
    read = _Read([], [], cut=len(data) > MAX_LOG_BYTES)
    raw = data[:MAX_LOG_BYTES].split(b"\n", MAX_LINES)
    if len(raw) > MAX_LINES:
        read.cut = True
        del raw[MAX_LINES:]
    for one in raw:
        text = one[: 4 * MAX_LINE_CHARS].decode("utf-8", errors="replace")[:MAX_LINE_CHARS].rstrip("\r")
        if (found := _LINE.fullmatch(text)) is not None:
            read.lines.append(LogLine(int(found[1]), found[2], found[3].rstrip(), found[4].rstrip()))
        elif _DIVIDER.match(text):
            read.lines.append(None)
        elif text.strip():
            read.foreign.append("".join(char if char.isprintable() else "?" for char in text[:200]))
    return read

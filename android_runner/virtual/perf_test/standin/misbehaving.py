"""What the phone's faults have this program do wrong: a word in a file that its daemon writes, taken away when done.

`crash-late` ends it by SIGSEGV behind its result, as drivers do when they are unloaded; `cut` leaves half of what it
wrote, with exit code 0; `flood` adds 48 MiB to its output, `garble` bytes that are no text and false figures.
"""

from __future__ import annotations

import os
from _signal import SIGSEGV  # type: ignore[import-not-found]

from android_runner.virtual.perf_test.standin.output import STDOUT, Output

TOOL_FAULT = "/dev/orch/tool_fault"
FLOOD_BYTES = 48 * 1024 * 1024
_GARBAGE = b"\x1b[2J\x1b]0;orch\x07\xff\xfe\xc3\x28\x00\nAverage inference time cost: nan ms\nP50 Latency: -1 s\n"


def misbehave(output: Output, argv: list[str]) -> None:
    """Do what the file says, behind the result; nothing where there is no such file."""
    path = f"{os.environ.get('ORCH_ROOT', '')}{TOOL_FAULT}"
    try:
        with open(path, encoding="ascii") as file:
            word = file.read().strip()
        os.unlink(path)
    except (OSError, UnicodeDecodeError):
        return
    output.flush()
    if word == "crash-late":
        os.kill(os.getpid(), SIGSEGV)
    elif word == "cut":
        for target in (STDOUT, argv[-1]):
            _halve(target)
    elif word in ("flood", "garble"):
        _say(_GARBAGE if word == "garble" else b"y" * FLOOD_BYTES)


def _halve(target: int | str) -> None:
    try:
        os.truncate(target, os.stat(target).st_size // 2)
    except OSError:
        return  # a pipe, or no result file: nothing to cut


def _say(data: bytes) -> None:
    while data:
        data = data[os.write(STDOUT, data) :]

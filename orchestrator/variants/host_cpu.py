"""What this host's CPU can do, as far as a model saved for `amd64` is laid out by it."""

from __future__ import annotations

import platform
from pathlib import Path

_DECIDES = ("avx", "f16c", "fma", "sse4_1", "amx")
"""MLAS chooses kernels, and so the width of NCHWc's blocks, by these (`core/mlas/lib/platform.cpp`)."""


def host_cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The machine and the features that decide, sorted: `x86_64 avx avx2 fma …`; the machine alone where the system
    does not tell."""
    flags: set[str] = set()
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as stream:
            line = next((line for line in stream if line.startswith(("flags", "Features"))), "")
        flags = {flag for flag in line.partition(":")[2].split() if flag.startswith(_DECIDES)}
    except OSError:
        pass
    return " ".join([platform.machine(), *sorted(flags)])

"""A perf_test with known truth: it sleeps a moment, and prints the latency that it was made with, nearly.

It computes nothing, so that a test knows which of two runs is faster, and by how much.
"""

from __future__ import annotations

from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test

_FULL_PACE_US = 105
_MARK = "# What it says fits together"


def known_perf_test(folder: Path, latency_ms: float, *, rule: str = "", slept_s: float = 0.01) -> Path:
    """An `onnxruntime_perf_test` whose inferences take `latency_ms`, ± 0.4 % by the moment at which it runs.

    `rule` is shell that may change `slow`, per mille of its own 0.105 ms; `$1` is the model's file on the phone.
    """
    program = sleeping_perf_test(folder, slept_s)
    slow = round(latency_ms * 1e6 / _FULL_PACE_US)
    lines = [f"slow={slow}", rule, "now", "slow=$((slow * (1000 + at * 7919 % 9 - 4) / 1000))", _MARK]
    text = program.read_text(encoding="utf-8")
    assert text.count(_MARK) == 1
    program.write_text(text.replace(_MARK, "\n".join(filter(None, lines))), encoding="utf-8")
    return program

"""How to build onnxruntime_perf_test for phones: the script that ships with the program."""

from __future__ import annotations

from importlib import resources


def build_script() -> str:
    """A POSIX sh script that builds a release for every ABI into one zip; its head says how it is used."""
    return (resources.files("orchestrator.app.binaries") / "build_perf_test.sh").read_text(encoding="utf-8")

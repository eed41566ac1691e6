"""What `orch run` loads before its first phone is asked: nothing that reports need, and it does not."""

from __future__ import annotations

import subprocess
import sys

LOADED = (
    "import sys, orchestrator.cli.live; print(*(name for name in ('pandas', 'numpy', 'scipy') if name in sys.modules))"
)


def test_a_run_begins_without_what_only_reports_need() -> None:
    """`orch replay` shares the module, reads frames first, and had every run wait for pandas."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

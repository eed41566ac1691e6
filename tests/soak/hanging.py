"""What one phone that hangs for ever costs the others: how long each is at work, with it and without."""

from __future__ import annotations

import time
from pathlib import Path

from orchestrator.store.ledger import Ledger
from tests.soak.lab import Lab
from tests.soak.lives import Lives

HANGS_AFTER_S = 5.0
ALLOWED = 0.05
END_S = 400.0


def cost(lab: Lab, lives: Lives, calm_home: Path, reference: str) -> tuple[list[str], str]:
    """Run the plan while the lab's last phone hangs; what is wrong, and the result in a line."""
    lives.go_on()
    until = time.monotonic() + END_S
    while lives.running() and not lab.processes_on(lab.serialnos[-1], "onnxruntime_perf_test"):
        time.sleep(0.1)
    time.sleep(HANGS_AFTER_S)
    lab.hang_for_ever(len(lab.serialnos) - 1)
    if not lives.finish(until - time.monotonic()):
        lives.kill()
        return [f"with a phone that hangs: no end in {END_S:.0f} s"], "a run with a phone that hangs does not end"
    lab.calm()
    calm, hung = (
        at_work(home, run_id) for home, run_id in ((calm_home, reference), (lab.home, next(iter(lives.runs()))))
    )
    others = [phone for phone in lab.serialnos[:-1] if phone in calm and phone in hung]
    share = sum(hung[phone] for phone in others) / sum(calm[phone] for phone in others) - 1.0
    worst = max(hung[phone] / calm[phone] - 1.0 for phone in others)
    line = (
        f"one of {len(lab.serialnos)} phones hangs for ever: the others take {share:+.1%} "
        f"(worst {worst:+.1%}, at most {ALLOWED:.0%} allowed)"
    )
    wrong = [*lives.surprises]
    if len(others) != len(lab.serialnos) - 1:
        wrong.append(f"with a phone that hangs: only {len(others)} others measured")
    if lives.codes[-1] != 3:
        wrong.append(f"with a phone that hangs: exit {lives.codes[-1]}, 3 was due: {lives.said()[-1500:]}")
    return wrong + ([line] if share > ALLOWED else []), line


def at_work(home: Path, run_id: str) -> dict[str, float]:
    """Seconds from a phone's first start to its last end, by phone."""
    ledger = Ledger.open(home)
    try:
        starts: dict[str, float] = {}
        ends: dict[str, float] = {}
        for one in ledger.attempts(run_id):
            if one.started_uptime_s is not None and one.ended_uptime_s is not None:
                starts[one.phone] = min(one.started_uptime_s, starts.get(one.phone, one.started_uptime_s))
                ends[one.phone] = max(one.ended_uptime_s, ends.get(one.phone, one.ended_uptime_s))
        return {phone: ends[phone] - starts[phone] for phone in starts}
    finally:
        ledger.close()

"""The small end of `known_truth`, from end to end: the same thing twice on one virtual phone, pinned to a core.

A case and its twin, which `orch run` measures on purpose, have a true ratio of 1.00. All is as in any run: vitals,
gate, verdicts, blocks, canary, rounds; the phone and all it runs has a core of its own, the host the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.lab import Lab, lab, mnist
from benchmarks.row import Row
from orchestrator.report.stats import speed_ratio

PROFILE = "pixel-8"
SECONDS = 1
ROUNDS = 6
TWIN = " again"


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """This process, and what it starts meanwhile, on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run() -> Row:
    """The row of the speed table."""
    cores = sorted(os.sched_getaffinity(0))
    phone_core, host_cores = {cores[-1]}, set(cores[:-1]) or {cores[-1]}
    with lab() as place:
        plan = place.files / "pair.toml"
        plan.write_text(
            f'name = "pair"\nmodels = ["{mnist(place.files / "models")}"]\nrounds = {ROUNDS}\nseconds = {SECONDS}\n'
            'seed = 1\n[[matrix]]\nrecipe = ["onnx"]\nthreads = [1]\narena = [true, false]\n'
        )
        with pinned(phone_core):
            place.orch("virtual", "up", PROFILE)
        with pinned(host_cores):
            took_s = place.orch("run", plan, "--device", f"virtual:{PROFILE}")
        rounds = _rounds(place, place.last_run())
    (twin,) = (name for name in rounds if name.endswith(TWIN))
    ratio = speed_ratio(rounds[twin.removesuffix(TWIN)], rounds[twin])
    low, high = (None, None) if ratio is None else (ratio.low, ratio.high)
    covers = low is not None and high is not None and low <= 1.0 <= high
    return Row(
        name="truth, phone",
        goal="the 95 % interval of a case against its twin holds 1.00",
        figure=f"{ratio.value:.4f} [{low:.4f}, {high:.4f}]" if ratio and low else "no interval",
        met=covers,
        detail=(
            f"one {PROFILE} on core {phone_core}, {took_s:.0f} s, valid rounds "
            f"{sorted(len(own) for own in rounds.values())} of {ROUNDS}"
        ),
    )


def _rounds(place: Lab, run_id: str) -> dict[str, dict[int, float]]:
    """By row and round the p50 of the attempt that counts."""
    rows = place.rows(
        "SELECT c.row_name, a.round, a.p50_s FROM trial t JOIN attempt a ON a.attempt_id = t.attempt_id "
        "JOIN run_case c ON c.run_id = t.run_id AND c.case_id = t.case_id "
        "WHERE t.run_id = ? AND t.purpose = 'time' AND t.state = 'measured'",
        run_id,
    )
    found: dict[str, dict[int, float]] = {}
    for row, round_, p50_s in rows:
        found.setdefault(row, {})[round_] = p50_s
    return found

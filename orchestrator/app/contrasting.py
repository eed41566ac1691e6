"""`orch compare`: two runs of a home, read from ledger and evidence, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from android_runner.trace import TraceTable
from orchestrator.app.standing import run_lock
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.measure.contrast import Word
from orchestrator.report.comparison.compare import AskedComparison, Met, compare
from orchestrator.report.comparison.meeting import Pair
from orchestrator.report.comparison.nouns import Comparison, OperatorChange
from orchestrator.report.comparison.sides import Side, SideCase, side_of
from orchestrator.report.comparison.work import Traced, operator_changes
from orchestrator.report.show import Target, parse_target
from orchestrator.report.source import text
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from orchestrator.variants.align import Step, align


@dataclass(frozen=True, slots=True)
class _Read:
    side: Side
    frames: RunFrames


def compare_runs(home: Home, base: str, new: str, asked: AskedComparison, *, unfinished: bool = False) -> Comparison:
    """NEW beside BASE, each RUN, RUN/PHONE or RUN/PHONE/ROW. Raises UsageError where they can't be compared, and
    StoreError where ledger or evidence can't be read. An unfinished run is refused unless `unfinished`."""
    targets = parse_target(base), parse_target(new)
    ledger = Ledger.open(home.root)
    try:
        read = [_read(ledger, home, target, unfinished=unfinished) for target in targets]
        met = compare(read[0].side, read[1].side, asked)
        found = _with_operators(met, read)
        _keep(ledger, met, [one.frames.run_id for one in read], asked)
        return found
    finally:
        ledger.close()


def _keep(ledger: Ledger, met: Met, runs: Sequence[str], asked: AskedComparison) -> None:
    """The raw files of what was held against each other stay."""
    numbers = [
        Number(run_id, case.cell.phone, case.cell.case)
        for pair in met.pairs
        for run_id, case in zip(runs, (pair.base, pair.new), strict=True)
    ]
    ledger.kept.keep(numbers, Use.GATED if asked.gates else Use.COMPARED, f"orch compare {runs[0]} {runs[1]}")


def _read(ledger: Ledger, home: Home, target: Target, *, unfinished: bool) -> _Read:
    run_id = ledger.find_run(target.run)
    if not unfinished:
        _require_finished(ledger, home, run_id)
    frames = RunFrames(ledger, EvidenceStore(home.root), run_id, lenient=True)
    side = side_of(frames, replace(target, run=run_id))
    if not side.cases and (target.phone or target.row):
        raise UsageError(
            Problem("/".join(filter(None, (run_id, target.phone, target.row))), "no such phone or row in this run",
                    f"orch show {run_id} lists them")
        )  # fmt: skip
    return _Read(side, frames)


def _require_finished(ledger: Ledger, home: Home, run_id: str) -> None:
    summary = ledger.summary(run_id)
    if summary.state is RunState.FINISHED:
        return
    left = summary.planned - summary.measured - summary.failed - summary.skipped
    living = run_lock(home, run_id).holder() is not None
    mend = "wait for its end" if living else f"orch resume {run_id}"
    what = f"unfinished ({summary.state.value}): {left} of {summary.planned} trials are open"
    raise UsageError(Problem(run_id, what, f"{mend}, or --unfinished compares what is there"))


def _with_operators(met: Met, read: Sequence[_Read]) -> Comparison:
    """The comparison with the operators of its traced cases; a trace that can't be read costs only them."""
    comparison = met.comparison
    base, new = (_traces(one.frames) for one in read)
    changes: list[OperatorChange] = []
    for pair, case in zip(met.pairs, comparison.cases, strict=True):
        old, now = base.get(_place(pair.base)), new.get(_place(pair.new))
        if old is not None and now is not None and case.verdict is not Word.SAME:
            steps = _steps(pair, read)
            changes += operator_changes(Traced(case.label, case.models, case.name, old, now, steps))
    unread = dict.fromkeys(words for one in read for words in one.frames.unread)
    return replace(comparison, operators=tuple(changes), notes=(*comparison.notes, *unread))


def _place(case: SideCase) -> tuple[str, str]:
    return case.cell.phone, case.cell.case


def _steps(pair: Pair, read: Sequence[_Read]) -> tuple[Step, ...]:
    """What became of each node of BASE's variant in NEW's, where both runs kept their graphs."""
    before, after = (
        one.frames.claim_graphs.get(case.cell.first("variant"))
        for one, case in zip(read, (pair.base, pair.new), strict=True)
    )
    return () if before is None or after is None else align(before, after)


def _traces(frames: RunFrames) -> Mapping[tuple[str, str], TraceTable]:
    """The last trace of each phone and case."""
    return {(text(head, "phone"), text(head, "case")): table for head, table in frames.traces()}

"""Whatever is called in whatever order: planned = measured + failed + skipped + open, and nothing counts twice."""

from __future__ import annotations

import tempfile
from pathlib import Path

import sample_run as sample
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from orchestrator.outcome import Failed, Measured, Outcome, Skipped, SkipReason
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import TrialState

CONTENTS = sample.contents(rounds=1)
TRIALS = CONTENTS.trials
ENDS: dict[str, Outcome] = {
    "failed": sample.FAILED,
    "skipped": Skipped(reason=SkipReason.DEADLINE),
}

which = st.integers(0, len(TRIALS) - 1)
tries = st.integers(0, 3)


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside a model of it: a state and the counting attempt for each trial."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.open(Path(self.folder.name))
        self.ledger.add_run(CONTENTS)
        self.states = ["planned"] * len(TRIALS)
        self.counted: list[str | None] = [None] * len(TRIALS)
        self.stored: dict[str, bool] = {}

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
            self.folder.cleanup()

    @rule(trial=which, name=tries, measures=st.booleans(), number=st.integers(0, 3))
    def attempt(self, trial: int, name: int, measures: bool, number: int) -> None:
        attempt_id = f"{trial}-{name}"
        outcome = sample.MEASURED if measures else sample.FAILED
        new = self.ledger.record_attempt(sample.attempt(TRIALS[trial], attempt_id, outcome, number=number))
        assert new == (attempt_id not in self.stored)
        if new:
            self.stored[attempt_id] = measures
            if measures and self.counted[trial] is None:
                self.states[trial], self.counted[trial] = "measured", attempt_id

    @rule(trial=which, state=st.sampled_from(["failed", "skipped"]))
    def end(self, trial: int, state: str) -> None:
        allowed = self.states[trial] in ("planned", state)
        try:
            self.ledger.end_trial(TRIALS[trial].trial_id(sample.RUN), ENDS[state])
        except ValueError:
            assert not allowed
        else:
            assert allowed
            self.states[trial] = state

    @rule(trials=st.sets(which))
    def reopen(self, trials: set[int]) -> None:
        again = [trial for trial in trials if self.states[trial] in ("failed", "skipped")]
        assert self.ledger.reopen(TRIALS[trial].trial_id(sample.RUN) for trial in trials) == len(again)
        for trial in again:
            self.states[trial] = "planned"

    @rule()
    def another_process(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(Path(self.folder.name))

    @invariant()
    def every_trial_is_accounted_for(self) -> None:
        if not hasattr(self, "ledger"):
            return
        rows = self.ledger.trials(sample.RUN)
        assert [row.state for row in rows] == self.states
        assert [row.attempt_id for row in rows] == self.counted
        counts = self.ledger.counts(sample.RUN)
        assert counts.planned == len(TRIALS) == counts.measured + counts.failed + counts.skipped + counts.open
        assert counts.open == self.states.count("planned")
        for row in rows:
            assert (row.state is TrialState.MEASURED) == isinstance(row.outcome, Measured)
            assert (row.state is TrialState.FAILED) == isinstance(row.outcome, Failed)
            assert (row.state is TrialState.PLANNED) == (row.outcome is None)

    @invariant()
    def every_attempt_is_there_once(self) -> None:
        if not hasattr(self, "ledger"):
            return
        attempts = self.ledger.attempts(sample.RUN)
        assert {one.attempt_id: isinstance(one.outcome, Measured) for one in attempts} == self.stored
        assert len({(one.trial_id, one.number) for one in attempts}) == len(attempts) == len(self.stored)
        assert all(one.number >= 1 for one in attempts)

    @invariant()
    def the_history_tells_the_state(self) -> None:
        if not hasattr(self, "ledger"):
            return
        folded = {trial.trial_id(sample.RUN): "planned" for trial in TRIALS}
        for event in self.ledger.events(sample.RUN):
            if event.trial_id is not None:
                word = event.kind.removeprefix("trial ")
                folded[event.trial_id] = "planned" if word == "reopened" else word
        assert list(folded.values()) == self.states


LedgerMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestLedgerMachine = LedgerMachine.TestCase

"""Pure: what the farm does next. `FarmState.handle(event)` returns commands; nothing here waits or touches the world.

A lane is one phone's serial queue. Each case of a lane is calibrated first (unless the plan fixes the iterations), then
the rounds follow in blocks: the first alone, for an early answer, later ones as `Rules` lets them share, each with a
canary before it. An attempt that was rejected is tried again in its place, in a block with a canary. Rounds end early
where precision is reached (`enough`) or the budget is spent. The second step of a plan that has one begins when the
first is over, with what pays (`second_step`). A trial ends `measured`, `failed` or `skipped`, exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Lane, LaneState, Rules, next_works, over_budget
from orchestrator.farm.enough import Enough
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    EndTrial,
    Event,
    Finish,
    FixIterations,
    PhoneGone,
    PhoneTaken,
    PhoneUp,
    Planned,
    RunBlock,
    StopAsked,
    StopPhone,
    WorkEnded,
)
from orchestrator.farm.second_step import FirstStep
from orchestrator.outcome import INVALID, Failed, Measured, Outcome, Skipped, SkipReason
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import iterations_for, next_calibration

MAX_ATTEMPTS = 3
"""Tries at one trial where trying again is honest."""
MAX_BARREN_BLOCKS = 3
"""Blocks in a row of which a phone started nothing, and said no reason, before it is given up."""


class FarmState:
    """All lanes of one run, and which trials have ended."""

    def __init__(
        self,
        trials: Iterable[Planned],
        rules: Rules,
        iterations: Mapping[tuple[str, str], int] | None = None,
        phones: Iterable[str] = (),
        measured: Iterable[tuple[Planned, Measured]] = (),
    ) -> None:
        """`iterations` by (case, phone), and what was `measured`, are known from before, when a run goes on."""
        self.rules = rules
        self.lanes: dict[str, Lane] = {phone: Lane(phone, []) for phone in phones}
        self.ended: dict[str, Outcome] = {}
        self.attempts: dict[str, int] = {}
        self.stopping = False
        self.first_step = FirstStep()
        self.enough = Enough(rules.precision)
        self._open = 0
        self._finished = False
        for trial in trials:
            self.lanes.setdefault(trial.phone, Lane(trial.phone, [])).waiting.append(trial)
            self._open += 1
        for (case_id, phone), count in (iterations or {}).items():
            if phone in self.lanes:
                self.lanes[phone].iterations[case_id] = count
        for lane in self.lanes.values():
            lane.reruns_left = rules.reruns_for(lane.waiting)
        for trial, outcome in measured:
            self._learn(trial, outcome)

    def handle(self, event: Event) -> list[Command]:
        """Take one event, return what to do now, in order."""
        commands: list[Command] = []
        match event:
            case PhoneUp(phone):
                self._phone_up(self.lanes[phone], commands)
            case PhoneGone(phone):
                self._phone_gone(self.lanes[phone], commands)
            case PhoneTaken(phone, why):
                self.lanes[phone].taken = why
                self._wind_down(self.lanes[phone], False, commands)
            case BlockEnded():
                self._block_ended(event, commands)
            case StopAsked(kill):
                self._stop(kill, commands)
        if not self._open and not self._finished and not any(lane.running for lane in self.lanes.values()):
            self._finished = True
            commands.append(Finish())
        return commands

    # --- events -------------------------------------------------------------------------------------------------

    def _phone_up(self, lane: Lane, commands: list[Command]) -> None:
        if lane.state is LaneState.DOWN:
            lane.state = LaneState.IDLE
        self._feed(lane, commands)

    def _phone_gone(self, lane: Lane, commands: list[Command]) -> None:
        lane.state = LaneState.GONE
        for work in lane.running:
            if work.trial is not None:
                lane.waiting.append(work.trial)
        lane.running = ()
        self._skip_waiting(lane, SkipReason.PHONE_LOST, commands)

    def _stop(self, kill: bool, commands: list[Command]) -> None:
        self.stopping = True
        for lane in self.lanes.values():
            self._wind_down(lane, kill, commands)

    def _wind_down(self, lane: Lane, kill: bool, commands: list[Command]) -> None:
        """Nothing more begins on a phone, for all phones' sake (`stopping`) or its own (`taken`)."""
        if lane.running:
            commands.append(StopPhone(lane.phone, kill))
        else:
            self._skip_waiting(lane, SkipReason.HELD if lane.taken else SkipReason.INTERRUPTED, commands)

    def _block_ended(self, event: BlockEnded, commands: list[Command]) -> None:
        lane = self.lanes[event.phone]
        if lane.state is LaneState.GONE:
            return
        lane.running = ()
        lane.state = LaneState.IDLE
        lane.at_s = max(lane.at_s, event.at_s)
        if timed := sum(ended.work.trial is not None for ended in event.ended):
            lane.trial_s = event.took_s / timed
        again = [trial for ended in event.ended for trial in self._work_ended(lane, ended, commands)]
        for work in event.not_started:
            if work.trial is not None and event.failure is not None:
                again += self._tried(lane, work.trial, event.failure, commands)
            elif work.trial is not None:
                again.append(work.trial)
            elif event.failure is not None and work.purpose is Purpose.CALIBRATE:
                self._calibrated(lane, WorkEnded(work, event.failure), commands)
        lane.waiting[:0] = sorted(again, key=lambda trial: trial.position)
        lane.barren_blocks = 0 if event.ended or event.failure else lane.barren_blocks + 1
        if lane.barren_blocks >= MAX_BARREN_BLOCKS:
            self._phone_gone(lane, commands)
        self._feed(lane, commands)

    def _work_ended(self, lane: Lane, ended: WorkEnded, commands: list[Command]) -> list[Planned]:
        """Take one process's end in; its trial where that is to be tried again."""
        if ended.work.trial is not None and ended.work.purpose is Purpose.SUSTAIN:
            self._end(ended.work.trial, ended.outcome, commands)  # never again: the phone has cooled down by then
            return []
        if ended.work.trial is not None:
            return self._tried(lane, ended.work.trial, ended.outcome, commands)
        if ended.work.purpose is Purpose.CALIBRATE:
            self._calibrated(lane, ended, commands)
        else:
            lane.mute |= isinstance(ended.outcome, Failed) and ended.outcome.retry is Retry.NEVER
        return []

    # --- decisions ----------------------------------------------------------------------------------------------

    def _calibrated(self, lane: Lane, ended: WorkEnded, commands: list[Command]) -> None:
        case_id = ended.work.case_id
        if isinstance(ended.outcome, Failed):
            tries = lane.calibration_tries.get(case_id, 0) + 1
            lane.calibration_tries[case_id] = tries
            if not _again(ended.outcome, tries):
                self._refuse(lane, case_id, ended.outcome, commands)
            return
        if ended.calibration is None:
            return
        done = lane.calibrations.setdefault(case_id, [])
        done.append(ended.calibration)
        if next_calibration(done) is None:
            lane.iterations[case_id] = iterations_for(done[-1], self.rules.length)
            commands.append(FixIterations(lane.phone, case_id, lane.iterations[case_id]))

    def _tried(self, lane: Lane, trial: Planned, outcome: Measured | Failed, commands: list[Command]) -> list[Planned]:
        tries = self.attempts.get(trial.trial_id, 0) + 1
        self.attempts[trial.trial_id] = tries
        if isinstance(outcome, Failed) and _again(outcome, tries) and self._may_rerun(lane, outcome):
            return [trial]
        self._end(trial, outcome, commands)
        if isinstance(outcome, Failed) and outcome.retry is Retry.NEVER and outcome.blame is not Blame.US:
            self._refuse(lane, trial.case_id, outcome, commands)
        return []

    def _may_rerun(self, lane: Lane, outcome: Failed) -> bool:
        """Whether the phone may try this once more: what was rejected costs its budget of re-runs."""
        if outcome.kind != INVALID:
            return True
        lane.reruns_left -= 1
        return lane.reruns_left >= 0

    def _refuse(self, lane: Lane, case_id: str, outcome: Failed, commands: list[Command]) -> None:
        """A setting that this phone will never take costs only itself: its other rounds are not asked for. Its
        introspection is: the log of a session that can't be made tells what was taken, and for which devices. Its twin
        goes with it."""
        of_case = [each for each in lane.waiting if case_id in (each.case_id, each.twin_of)]
        left = [each for each in of_case if each.purpose is not Purpose.INTROSPECT]
        gone = {trial.trial_id for trial in left}
        lane.waiting = [trial for trial in lane.waiting if trial.trial_id not in gone]
        for trial in left:
            self._end(trial, outcome, commands)

    def _feed(self, lane: Lane, commands: list[Command]) -> None:
        if self.stopping or lane.taken:
            self._wind_down(lane, False, commands)
        if lane.state is not LaneState.IDLE or not lane.waiting:
            return
        self._decide(lane, commands)
        self._leave_out(lane, commands)
        if not lane.waiting:
            return
        works = next_works(lane, self.rules)
        taken = {work.trial.trial_id for work in works if work.trial is not None}
        lane.waiting = [trial for trial in lane.waiting if trial.trial_id not in taken]
        lane.running = works
        lane.state = LaneState.RUNNING
        rounds = [work.round for work in works if work.trial is not None and work.purpose is Purpose.TIME]
        lane.last_round = max([lane.last_round, *rounds])
        coming = dict.fromkeys(trial.case_id for trial in lane.waiting)
        if self.rules.canary is not None and rounds and not lane.mute:
            coming[self.rules.canary.case_id] = None
        now = {work.case_id for work in works}
        commands.append(RunBlock(lane.phone, works, tuple(case for case in coming if case not in now)))

    def _decide(self, lane: Lane, commands: list[Command]) -> None:
        """When the first step has nothing left to time: end the trials of the second that would not pay, once."""
        if lane.decided or lane.in_first_step:
            return
        lane.decided = True
        waiting, lane.waiting = lane.waiting, []
        for trial in waiting:
            if reason := self.first_step.why_not(trial):
                self._end(trial, Skipped(reason=SkipReason.RESOLVED_EARLY, message=reason), commands)
            else:
                lane.waiting.append(trial)

    def _leave_out(self, lane: Lane, commands: list[Command]) -> None:
        """End the timed trials that precision does not need any more, or that the budget has no room for."""
        if needless := self.enough.needless(lane.waiting):
            waiting, lane.waiting = lane.waiting, [one for one in lane.waiting if one.trial_id not in needless]
            for trial in waiting:
                if why := needless.get(trial.trial_id):
                    self._end(trial, Skipped(reason=SkipReason.RESOLVED_EARLY, message=why), commands)
        if lane.waiting and over_budget(lane, self.rules):
            waiting, lane.waiting = lane.waiting, [one for one in lane.waiting if one.purpose is not Purpose.TIME]
            for trial in waiting:
                if trial.purpose is Purpose.TIME:
                    self._end(trial, Skipped(reason=SkipReason.BUDGET), commands)

    def _skip_waiting(self, lane: Lane, reason: SkipReason, commands: list[Command]) -> None:
        waiting, lane.waiting = lane.waiting, []
        message = lane.taken if reason is SkipReason.HELD else ""
        for trial in waiting:
            self._end(trial, Skipped(reason=reason, message=message), commands)

    def _end(self, trial: Planned, outcome: Outcome, commands: list[Command]) -> None:
        assert trial.trial_id not in self.ended, f"{trial.trial_id} ends twice"
        self.ended[trial.trial_id] = outcome
        self._learn(trial, outcome)
        self._open -= 1
        commands.append(EndTrial(trial, outcome))

    def _learn(self, trial: Planned, outcome: Outcome) -> None:
        self.first_step.learn(trial, outcome)
        self.enough.learn(trial, outcome)
        lane = self.lanes.get(trial.phone)
        if lane is not None and isinstance(outcome, Measured) and outcome.figures is not None:
            lane.mean_s.setdefault(trial.case_id, outcome.figures.mean_s)

    # --- invariants ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert what must hold after every event, of everything; costs a look at every trial."""
        seen: set[str] = set()
        for phone in self.lanes:
            ids = self.check_lane(phone)
            assert seen.isdisjoint(ids), f"{phone}: a trial of another lane stands here too"
            seen |= ids
        assert len(seen) == self._open, "open trials are counted wrong"
        assert all(tries <= MAX_ATTEMPTS for tries in self.attempts.values()), "too many attempts"

    def check_lane(self, phone: str) -> set[str]:
        """Assert what an event of one phone can touch, at the cost of its lane; its open trials by id."""
        lane = self.lanes[phone]
        listed = [trial.trial_id for trial in lane.waiting]
        listed += [work.trial.trial_id for work in lane.running if work.trial is not None]
        ids = set(listed)
        assert len(ids) == len(listed), f"{phone}: a trial stands twice"
        assert self.ended.keys().isdisjoint(ids), f"{phone}: an ended trial is still in its lane"
        assert (lane.state is LaneState.RUNNING) == bool(lane.running), f"{phone}: {lane.state}"
        assert not (lane.state is LaneState.IDLE and lane.waiting), f"{phone}: idle while a trial waits"
        assert not (lane.state is LaneState.GONE and lane.waiting), f"{phone}: gone with trials waiting"
        return ids


def _again(outcome: Failed, tries: int) -> bool:
    return outcome.retry in (Retry.HERE, Retry.LATER) and tries < MAX_ATTEMPTS

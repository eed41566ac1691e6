"""Pure: what becomes of every try at a trial: its row, another try, or another phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from android_runner.errors import Blame, Retry
from orchestrator.farm.blocks import Lane, Rules, over_budget
from orchestrator.farm.enough import Enough
from orchestrator.farm.moving import Moves
from orchestrator.farm.paired import Pairs
from orchestrator.farm.protocol import Command, EndTrial, FixIterations, MoveTrial, Planned, Work, WorkEnded
from orchestrator.farm.retry import MAX_ATTEMPTS, Again, again
from orchestrator.farm.second_step import FirstStep
from orchestrator.outcome import INVALID, Failed, Measured, Outcome, Skipped, SkipReason
from orchestrator.plan.case import Purpose
from orchestrator.plan.length import iterations_for, next_calibration


class Tries:
    """Every trial's tries and its one end; `open` counts those without. `hungry` are lanes that were given a trial by
    another; `moving` is whether that may still be."""

    def __init__(self, lanes: Mapping[str, Lane], rules: Rules) -> None:
        self.ended: dict[str, Outcome] = {}
        self.open = 0
        self.attempts: dict[str, int] = {}
        self.first_step = FirstStep()
        self.enough = Enough(rules.precision)
        self.pairs = Pairs(rules.looks)
        self.hungry: list[Lane] = []
        self.moving = True
        self._lanes = lanes
        self._rules = rules
        self._moves = Moves(lanes)

    def calibrated(self, lane: Lane, ended: WorkEnded, commands: list[Command]) -> None:
        """Take a calibration in: another follows, or the case has its iterations, or is refused."""
        case_id = ended.work.case_id
        if isinstance(ended.outcome, Failed):
            tries = lane.calibration_tries.get(case_id, 0) + 1
            lane.calibration_tries[case_id] = tries
            if again(ended.outcome, tries, others=False) is Again.NOWHERE:
                self.refuse(lane, case_id, ended.outcome, commands)
            return
        if ended.calibration is None:
            return
        done = lane.calibrations.setdefault(case_id, [])
        done.append(ended.calibration)
        if next_calibration(done) is None:
            lane.iterations[case_id] = iterations_for(done[-1], self._rules.length)
            commands.append(FixIterations(lane.phone, case_id, lane.iterations[case_id]))

    def none_ran(
        self, lane: Lane, works: Sequence[Work], failure: Failed, own: set[str], commands: list[Command]
    ) -> list[Planned]:
        """Take in why nothing of a block, or nothing more, could run; the trials to be tried again."""
        lane.strikes.block_failed(failure)
        again: list[Planned] = []
        for work in works:
            if work.trial is not None and work.trial.trial_id in own:
                again += self.tried(lane, work.trial, failure, commands)
            elif work.purpose is Purpose.CALIBRATE:
                self.calibrated(lane, WorkEnded(work, failure), commands)
        return again

    def work_ended(self, lane: Lane, ended: WorkEnded, own: set[str], commands: list[Command]) -> list[Planned]:
        """Take one process's end in; its trial where that is to be tried again."""
        work, outcome = ended.work, ended.outcome
        if isinstance(outcome, Measured):
            lane.strikes.went_well()
        else:
            lane.strikes.process_failed(work.case_id, outcome)
        if work.trial is not None and work.trial.trial_id not in own:
            self.came_late(work.trial, outcome, commands)
        elif work.trial is not None and work.purpose is Purpose.SUSTAIN:
            self.end(work.trial, outcome, commands)  # never again: the phone has cooled down by then
        elif work.trial is not None:
            return self.tried(lane, work.trial, outcome, commands)
        elif work.purpose is Purpose.CALIBRATE:
            self.calibrated(lane, ended, commands)
        else:
            lane.mute |= isinstance(outcome, Failed) and outcome.retry is Retry.NEVER
        return []

    def tried(self, lane: Lane, trial: Planned, outcome: Measured | Failed, commands: list[Command]) -> list[Planned]:
        """Take the end of one try in: the trial where it is to be tried again at once."""
        tries = self.attempts.get(trial.trial_id, 0) + 1
        self.attempts[trial.trial_id] = tries
        if isinstance(outcome, Measured):
            lane.refusals.went_well(trial.case_id)
            self.end(trial, outcome, commands)
            return []
        where = again(outcome, tries, others=self._other(trial) is not None)
        if where in (Again.HERE, Again.LATER) and not self._may_rerun(lane, outcome):
            where = again(outcome, MAX_ATTEMPTS, others=self._other(trial) is not None)
        if where is Again.HERE:
            return [trial]
        if where is Again.LATER:
            lane.put_behind(trial)
            return []
        self._elsewhere_or_end(trial, outcome, commands)
        never = outcome.retry is Retry.NEVER and outcome.blame is not Blame.US and where is Again.NOWHERE
        if never or (trial.purpose is Purpose.TIME and lane.refusals.failed(trial.case_id, outcome)):
            self.refuse(lane, trial.case_id, outcome, commands)
        return []

    def _may_rerun(self, lane: Lane, outcome: Failed) -> bool:
        """Whether the phone may try this once more: what was rejected costs its budget of re-runs."""
        if outcome.kind != INVALID:
            return True
        lane.reruns_left -= 1
        return lane.reruns_left >= 0

    def refuse(self, lane: Lane, case_id: str, outcome: Failed, commands: list[Command]) -> None:
        """A setting that this phone will never take costs only itself: its other rounds are not asked for. Its
        introspection is: the log of a session that can't be made tells what was taken, and for which devices. Its twin
        goes with it."""
        of_case = [each for each in lane.waiting if case_id in (each.case_id, each.twin_of)]
        left = [each for each in of_case if each.purpose is not Purpose.INTROSPECT]
        gone = {trial.trial_id for trial in left}
        lane.waiting = [trial for trial in lane.waiting if trial.trial_id not in gone]
        lane.refused[case_id] = outcome
        for trial in left:
            self._elsewhere_or_end(trial, outcome, commands)

    def not_started(self, lane: Lane, trial: Planned, commands: list[Command]) -> list[Planned]:
        """Take in that a trial was not begun: it waits on, unless its setting was refused meanwhile."""
        refused = lane.refused.get(trial.case_id) or lane.refused.get(trial.twin_of)
        if refused is None or trial.purpose is Purpose.INTROSPECT:
            return [trial]
        self._elsewhere_or_end(trial, refused, commands)
        return []

    def _elsewhere_or_end(self, trial: Planned, outcome: Failed, commands: list[Command]) -> None:
        """Done with on this phone: another takes it where that is honest, else this was its end."""
        if again(outcome, MAX_ATTEMPTS, others=True) is not Again.ELSEWHERE or not self.move(trial, commands):
            self.end(trial, outcome, commands)

    def _other(self, trial: Planned) -> Lane | None:
        return self._moves.target(trial) if self.moving else None

    def move(self, trial: Planned, commands: list[Command]) -> bool:
        """Give a trial that stands nowhere to another phone of its pool; whether there is one."""
        lane = self._other(trial)
        if lane is None:
            return False
        self.attempts.pop(trial.trial_id, None)
        commands.append(MoveTrial(self._moves.move(trial, lane), trial.phone))
        self.hungry.append(lane)
        return True

    def decide(self, lane: Lane, commands: list[Command]) -> None:
        """When the first step has nothing left to time: end the trials of the second that would not pay, once."""
        if lane.decided or lane.in_first_step:
            return
        lane.decided = True
        waiting, lane.waiting = lane.waiting, []
        for trial in waiting:
            if reason := self.first_step.why_not(trial):
                self.end(trial, Skipped(reason=SkipReason.RESOLVED_EARLY, message=reason), commands)
            else:
                lane.waiting.append(trial)

    def leave_out(self, lane: Lane, commands: list[Command]) -> None:
        """End the timed trials that precision, or a decided pair, does not need any more, or that the budget has no
        room for."""
        if needless := self.enough.needless(lane.waiting) | self.pairs.needless(lane.waiting):
            waiting, lane.waiting = lane.waiting, [one for one in lane.waiting if one.trial_id not in needless]
            for trial in waiting:
                if why := needless.get(trial.trial_id):
                    self.end(trial, Skipped(reason=SkipReason.RESOLVED_EARLY, message=why), commands)
        if lane.waiting and over_budget(lane, self._rules):
            waiting, lane.waiting = lane.waiting, [one for one in lane.waiting if one.purpose is not Purpose.TIME]
            for trial in waiting:
                if trial.purpose is Purpose.TIME:
                    self.end(trial, Skipped(reason=SkipReason.BUDGET), commands)

    def came_late(self, trial: Planned, outcome: Measured | Failed, commands: list[Command]) -> None:
        """A phone that was given up has ended a trial that was taken from it."""
        if trial.trial_id in self.ended or not isinstance(outcome, Measured):
            return
        waiting = self._moves.came_late(trial, outcome)
        if waiting is not None:
            self.end(waiting, outcome, commands)

    def skip_all(self, lane: Lane, reason: SkipReason, commands: list[Command], message: str = "") -> None:
        """End every open trial of a lane."""
        works, lane.running = lane.running, ()
        waiting, lane.waiting = lane.waiting, []
        for trial in [*(work.trial for work in works if work.trial is not None), *waiting]:
            self.end(trial, Skipped(reason=reason, message=message), commands)

    def end(self, trial: Planned, outcome: Outcome, commands: list[Command]) -> None:
        """Give a trial its row; what came late of it counts before a failure."""
        if not isinstance(outcome, Measured):
            outcome = self._moves.known_of(trial) or outcome
        assert trial.trial_id not in self.ended, f"{trial.trial_id} ends twice"
        self.ended[trial.trial_id] = outcome
        self.learn(trial, outcome)
        self.open -= 1
        commands.append(EndTrial(trial, outcome))

    def learn(self, trial: Planned, outcome: Outcome) -> None:
        """Take an end in, also one of long ago."""
        self.first_step.learn(trial, outcome)
        self.enough.learn(trial, outcome)
        self.pairs.learn(trial, outcome)
        lane = self._lanes.get(trial.phone)
        if lane is not None and isinstance(outcome, Measured) and outcome.figures is not None:
            lane.mean_s.setdefault(trial.case_id, outcome.figures.mean_s)

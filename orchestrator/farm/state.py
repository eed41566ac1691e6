"""Pure: what the farm does next. `FarmState.handle(event)` returns commands; nothing here waits or touches the world.

A lane is one phone's serial queue. Each case of a lane is calibrated first (unless the plan fixes the iterations), then
the rounds follow in blocks: the first alone, for an early answer, later ones as `Rules` lets them share, each with a
canary before it. An attempt that was rejected is tried again in its place, in a block with a canary. Rounds end early
where precision is reached (`enough`) or the budget is spent. The second step of a plan that has one begins when the
first is over, with what pays (`second_step`). A trial ends `measured`, `failed` or `skipped`, exactly once (`tries`).

What failed is tried again as the error itself says (`retry`): here, later, or on another phone of its pool (`moving`).
A phone that does not answer keeps its trials as long as other phones have something to do, and may come back; one that
fails again and again by the lab's fault is left alone. A phone may be added at any time. Where a search is `hunting`
for the best setting, a phone that has nothing left to do is asked for its next round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from android_runner.errors import Retry
from orchestrator.farm.ahead import cases_ahead
from orchestrator.farm.blocks import Lane, LaneState, Rules, next_works
from orchestrator.farm.hunting import Hunting
from orchestrator.farm.invariants import all_hold, lane_holds
from orchestrator.farm.protocol import (
    BlockEnded,
    Command,
    Event,
    Finish,
    GiveUp,
    Heard,
    PhoneAdded,
    PhoneGone,
    PhoneTaken,
    PhoneUp,
    Planned,
    RoundAdded,
    RunBlock,
    SiblingsLost,
    StopAsked,
    StopPhone,
    Tick,
)
from orchestrator.farm.retry import MAX_ATTEMPTS, pause_s
from orchestrator.farm.tries import Tries
from orchestrator.outcome import Measured, Outcome, SkipReason
from orchestrator.plan.case import Purpose

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
        hunting: Iterable[str] = (),
    ) -> None:
        """`iterations` by (case, phone), and what was `measured`, are known from before, when a run goes on."""
        self.rules = rules
        self.lanes: dict[str, Lane] = {phone: Lane(phone, []) for phone in phones}
        self.tries = Tries(self.lanes, rules)
        self.hunting = Hunting(hunting)
        self.closed: SkipReason | None = None
        self._away: set[str] = set()
        self._now_s = 0.0
        self._finished = False
        for trial in trials:
            self.lanes.setdefault(trial.phone, Lane(trial.phone, [])).waiting.append(trial)
            self.tries.open += 1
        for (case_id, phone), count in (iterations or {}).items():
            if phone in self.lanes:
                self.lanes[phone].iterations[case_id] = count
        for lane in self.lanes.values():
            lane.reruns_left = rules.reruns_for(lane.waiting)
        for trial, outcome in measured:
            self.tries.learn(trial, outcome)

    @property
    def ended(self) -> Mapping[str, Outcome]:
        """Every trial that has ended, by id."""
        return self.tries.ended

    def handle(self, event: Event) -> list[Command]:
        """Take one event, return what to do now, in order."""
        commands: list[Command] = []
        match event:
            case PhoneUp(phone):
                self._phone_up(self.lanes[phone], commands)
            case PhoneGone(phone, _, for_good):
                self._phone_gone(self.lanes[phone], commands, for_good=for_good)
            case PhoneTaken(phone, why):
                self.lanes[phone].taken = why
                self._wind_down(self.lanes[phone], False, commands)
            case PhoneAdded():
                self._phone_added(event)
            case RoundAdded(phone, trials, rest_s):
                self._round_added(self.lanes[phone], trials, rest_s)
            case BlockEnded():
                self._block_ended(event, commands)
            case StopAsked(kill):
                self._close(SkipReason.INTERRUPTED, kill, commands)
            case Heard() | SiblingsLost():
                self._noted(event, commands)
            case Tick(at_s):
                self._tick(at_s, commands)
        self._settle(commands)
        return commands

    def _settle(self, commands: list[Command]) -> None:
        """Feed who was given a trial by another; end the run when nothing is open, or only what is asked of phones
        that are away."""
        while self.tries.hungry:
            self._feed(self.tries.hungry.pop(), commands)
        hunting = self.closed is None and self.hunting.goes_on(self.lanes)
        if self._away and not hunting and self.tries.open == sum(self.lanes[phone].open for phone in self._away):
            for phone in sorted(self._away):
                self.tries.skip_all(self.lanes[phone], SkipReason.PHONE_LOST, commands)
        busy = (lane.state is LaneState.RUNNING for lane in self.lanes.values())
        if not (self.tries.open or hunting or self._finished or any(busy)):
            self._finished = True
            commands.append(Finish())

    def _noted(self, event: Heard | SiblingsLost, commands: list[Command]) -> None:
        if isinstance(event, SiblingsLost):
            for phone in event.phones:
                self.lanes[phone].strikes.went_well()
            return
        lane = self.lanes[event.phone]
        self._now_s = lane.heard_s = max(self._now_s, event.at_s)
        if lane.state is LaneState.AWAY:
            self._phone_up(lane, commands)

    # --- events -------------------------------------------------------------------------------------------------

    def _phone_up(self, lane: Lane, commands: list[Command]) -> None:
        away = lane.state is LaneState.AWAY and (lane.running or not lane.out)  # else its old block comes first
        if lane.state is LaneState.DOWN or away:
            self._away.discard(lane.phone)
            lane.state = LaneState.RUNNING if lane.running else LaneState.IDLE
        self._feed(lane, commands)

    def _phone_added(self, event: PhoneAdded) -> None:
        lane = self.lanes.setdefault(event.phone, Lane(event.phone, []))
        lane.waiting += event.trials
        self.tries.open += len(event.trials)
        lane.reruns_left = self.rules.reruns_for(lane.waiting)
        self._finished = False
        if lane.state is not LaneState.DOWN:
            self.tries.hungry.append(lane)

    def _round_added(self, lane: Lane, trials: Sequence[Planned], rest_s: float) -> None:
        self.hunting.told(lane.phone, more=bool(trials))
        lane.waiting += trials
        lane.rest_s = rest_s
        self.tries.open += len(trials)
        self.tries.hungry.append(lane)

    def wants_round(self, phone: str) -> bool:
        """Whether a round that was asked for may still be run."""
        lane = self.lanes[phone]
        return self.closed is None and not lane.taken and lane.state is LaneState.IDLE

    def _phone_gone(self, lane: Lane, commands: list[Command], *, for_good: bool) -> None:
        if for_good:
            self._leave(lane, SkipReason.PHONE_LOST, commands)
        elif lane.state is not LaneState.GONE:
            self._missed(lane, commands)

    def _tick(self, at_s: float, commands: list[Command]) -> None:
        """Time is up for the run, or for a phone of which nothing is heard."""
        self._now_s = max(self._now_s, at_s)
        if self.rules.deadline_s is not None and at_s >= self.rules.deadline_s and self.closed is None:
            self._close(SkipReason.DEADLINE, False, commands)
        for lane in self.lanes.values():
            if lane.state is LaneState.RUNNING and at_s - lane.heard_s > self.rules.silent_s:
                why = f"no sign of life for {at_s - lane.heard_s:.0f} s"
                commands.append(GiveUp(lane.phone, why))
                self._missed(lane, commands)

    def _close(self, reason: SkipReason, kill: bool, commands: list[Command]) -> None:
        """Hand out nothing more: what waits is skipped, what runs ends after its trial, or at once."""
        self.tries.moving = False
        self.closed = SkipReason.INTERRUPTED if SkipReason.INTERRUPTED in (reason, self.closed) else reason
        for lane in self.lanes.values():
            self._wind_down(lane, kill, commands)

    def _wind_down(self, lane: Lane, kill: bool, commands: list[Command]) -> None:
        """Nothing more begins on a phone, for all phones' sake (`closed`) or its own (`taken`)."""
        if lane.running:
            commands.append(StopPhone(lane.phone, kill))
        if lane.state is not LaneState.RUNNING:
            lane.waiting = [trial for trial in lane.waiting if not self.tries.move(trial, commands)]
            reason = SkipReason.HELD if lane.taken else self.closed or SkipReason.INTERRUPTED
            self.tries.skip_all(lane, reason, commands, lane.taken)

    def _block_ended(self, event: BlockEnded, commands: list[Command]) -> None:
        lane = self.lanes[event.phone]
        own = {work.trial.trial_id for work in lane.running if work.trial is not None}
        lane.running, lane.out = (), False
        self._now_s = max(self._now_s, event.at_s)
        lane.block_came(event.took_s, event.at_s)
        if lane.state is LaneState.GONE:
            for ended in event.ended:
                self.tries.work_ended(lane, ended, own, commands)
            return
        self._away.discard(lane.phone)
        lane.state = LaneState.IDLE
        if timed := sum(ended.work.trial is not None for ended in event.ended):
            lane.trial_s = event.took_s / timed
        again = [trial for ended in event.ended for trial in self.tries.work_ended(lane, ended, own, commands)]
        if event.failure is not None:
            again += self.tries.none_ran(lane, event.not_started, event.failure, own, commands)
        else:
            left = [work.trial for work in event.not_started if work.trial and work.trial.trial_id in own]
            again += [trial for one in left for trial in self.tries.not_started(lane, one, commands)]
        lane.waiting[:0] = sorted(again, key=lambda trial: trial.position)
        lane.put_off = lane.put_off + 1 if event.failure is not None and event.failure.retry is Retry.LATER else 0
        lane.barren_blocks = 0 if event.ended or event.failure else lane.barren_blocks + 1
        if why := lane.strikes.why_quarantine():
            commands.append(GiveUp(lane.phone, why, quarantine=True))
            self._leave(lane, SkipReason.QUARANTINED, commands)
        elif lane.barren_blocks >= MAX_BARREN_BLOCKS:
            commands.append(GiveUp(lane.phone, f"{MAX_BARREN_BLOCKS} blocks in a row of which it started nothing"))
            self._leave(lane, SkipReason.PHONE_LOST, commands)
        self._feed(lane, commands)

    # --- decisions ----------------------------------------------------------------------------------------------

    def _missed(self, lane: Lane, commands: list[Command]) -> None:
        """A phone does not answer: what other phones can do goes to them, the rest waits for it."""
        lane.state = LaneState.AWAY
        self._away.add(lane.phone)
        waiting, lane.waiting = lane.waiting, []
        lane.waiting = [trial for trial in waiting if not self.tries.move(trial, commands)]
        lane.running = tuple(
            work for work in lane.running if not (work.trial and self.tries.move(work.trial, commands))
        )

    def _leave(self, lane: Lane, reason: SkipReason, commands: list[Command]) -> None:
        """Nothing more is asked of a phone."""
        if lane.state is not LaneState.GONE:
            self._missed(lane, commands)
            self._away.discard(lane.phone)
            lane.state = LaneState.GONE
            self.tries.skip_all(lane, reason, commands)

    def _feed(self, lane: Lane, commands: list[Command]) -> None:
        if (self.closed is not None or lane.taken) and lane.state in (LaneState.IDLE, LaneState.DOWN):
            self._wind_down(lane, False, commands)
        if lane.state is not LaneState.IDLE or not lane.waiting:
            if self.wants_round(lane.phone):
                self.hunting.ask(lane, commands)
            return
        self.tries.decide(lane, commands)
        self.tries.leave_out(lane, commands)
        if not lane.waiting:
            return
        works = next_works(lane, self.rules)
        taken = {work.trial.trial_id for work in works if work.trial is not None}
        lane.waiting = [trial for trial in lane.waiting if trial.trial_id not in taken]
        lane.running, lane.out = works, True
        lane.state = LaneState.RUNNING
        lane.given_s = self._now_s if lane.last_round >= 0 else None
        lane.heard_s = self._now_s
        rounds = [work.round for work in works if work.trial is not None and work.purpose is Purpose.TIME]
        lane.last_round = max([lane.last_round, *rounds])
        later = cases_ahead(lane, works, self.rules)
        commands.append(RunBlock(lane.phone, works, later, max(lane.rest_s, pause_s(lane.put_off))))
        lane.rest_s = 0.0

    # --- invariants ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert what must hold after every event, of everything; costs a look at every trial."""
        all_hold(self.lanes, self.ended, self.tries.open)
        assert all(tries <= MAX_ATTEMPTS for tries in self.tries.attempts.values()), "too many attempts"

    def check_lane(self, phone: str) -> set[str]:
        """Assert what an event of one phone can touch, at the cost of its lane; its open trials by id."""
        return lane_holds(self.lanes[phone], self.ended)

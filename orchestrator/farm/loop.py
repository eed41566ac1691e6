"""The shell around the pure state: one queue of reports, one writer of the ledger, one thread a phone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from android_runner.deadline import Clock, Deadline
from android_runner.lease import epoch_above
from android_runner.recovery.ladder import FAILED_OFTEN_S
from orchestrator.farm.incidents import Trouble, write_down
from orchestrator.farm.joining import Joined
from orchestrator.farm.kit import task_id
from orchestrator.farm.lane import Lane
from orchestrator.farm.messages import (
    BlockOutcome,
    BlockTidied,
    HubLost,
    LaneBroken,
    NextRound,
    PutAside,
    Report,
    RungTried,
    ServerSeen,
    Staged,
    TrialSeen,
    TurnMissed,
    TurnTaken,
)
from orchestrator.farm.opening import open_block
from orchestrator.farm.probation import Probation
from orchestrator.farm.protocol import (
    AskRound,
    BlockEnded,
    Command,
    EndTrial,
    Event,
    Finish,
    FixIterations,
    GiveUp,
    Heard,
    MoveTrial,
    PhoneAdded,
    PhoneGone,
    PhoneTaken,
    RunBlock,
    SiblingsLost,
    StopAsked,
    StopPhone,
    Tick,
)
from orchestrator.farm.rounds import Rounds
from orchestrator.farm.sharing import Turn
from orchestrator.farm.state import FarmState
from orchestrator.farm.tally import Tally
from orchestrator.farm.watcher import Watcher
from orchestrator.store.ledger import Ledger

JOIN_S = 30.0
"""How long the end of a run waits for its lanes, all of them together."""
IDLE_S = 1.0
"""How long the loop waits for news before it says that there are none."""


class Farm:
    """One run: its state, its lanes, its ledger. `run()` returns when every planned trial has its row."""

    def __init__(self, run_id: str, state: FarmState, ledger: Ledger, watcher: Watcher, clock: Clock) -> None:
        self.run_id = run_id
        self.state = state
        self.ledger = ledger
        self.watcher = watcher
        self.clock = clock
        self.lanes: dict[str, Lane] = {}
        self.epochs: dict[str, int] = {}
        self.boot_ids: dict[str, str] = {}
        self.probation = Probation()
        self.tally = Tally()
        self.rounds = Rounds()
        self.left = False
        self.watches: Sequence[AbstractContextManager[object]] = ()
        """What watches this host while the run lasts, and reports to `post`."""
        self.blames_hub: Callable[[str], bool] = lambda _phone: False
        """Whether a phone is gone now, and that is its hub's doing."""
        self.turns: Mapping[str, Turn] = {}
        """The claims on phones that other runs may want, too."""
        self._waits: dict[str, RunBlock] = {}
        self._reports: SimpleQueue[Report | Joined | StopAsked | None] = SimpleQueue()
        self._blocks = 0
        self._begun_s = 0.0
        self._ticked_s = 0.0
        self._done = False

    def add_lane(self, lane: Lane, *, epoch: int, boot_id: str) -> None:
        """A phone of the run, before `run()`."""
        self.lanes[lane.kit.phone] = lane
        self.epochs[lane.kit.phone] = epoch
        self.boot_ids[lane.kit.phone] = boot_id

    def post(self, report: Report | Joined) -> None:
        """Hand a report in; safe from any thread."""
        self._reports.put(report)

    def ask_stop(self, *, kill: bool) -> None:
        """Stop handing out; with `kill`, end what runs too. Safe from a signal handler."""
        self.tally.interrupted = True
        self._reports.put(StopAsked(kill=kill))

    def leave(self) -> None:
        """Return from `run()` at once, whatever still runs on phones. Safe from a signal handler."""
        self.tally.interrupted = True
        self.left = True
        self._reports.put(None)

    def run(self) -> None:
        """Until every trial has its row."""
        self._begun_s = self.clock.monotonic_s()
        self.watcher.begun([trial for lane in self.state.lanes.values() for trial in lane.waiting])
        for lane in self.lanes.values():
            lane.start()
        self._done = not self.lanes
        while not self._done and not self.left:
            try:
                report = self._reports.get(timeout=IDLE_S)
            except Empty:
                self.watcher.idle()
                report = None
            if isinstance(report, Joined):
                self._join(report)
            elif report is not None:
                self._take(report)
            self._tick()
        for lane in self.lanes.values():
            lane.end()
        if not self.left:
            patience = Deadline.after(JOIN_S, self.clock)
            for lane in self.lanes.values():
                lane.join(patience.remaining_s())
            self.take_last()

    def take_last(self) -> None:
        """What is told at the end: what the lanes tidied up, what befell phones and hubs in the last seconds."""
        with suppress(Empty):
            while True:
                report = self._reports.get_nowait()
                if isinstance(report, BlockTidied | Trouble):
                    self._take(report)

    # --- reports in ---------------------------------------------------------------------------------------------

    def _at_s(self) -> float:
        """Seconds since the run's start."""
        return self.clock.monotonic_s() - self._begun_s

    def _tick(self) -> None:
        at_s = self._at_s()
        if at_s - self._ticked_s >= IDLE_S:
            self._ticked_s = at_s
            self._feed(Tick(at_s))
            self._give_idle_phones(at_s)

    def _give_idle_phones(self, at_s: float) -> None:
        """Let others have the phones that this run has nothing for; who waits for its own turn is not silent."""
        for phone in list(self._waits):
            self._feed(Heard(phone, at_s))
        for phone, turn in self.turns.items():
            lane = self.state.lanes[phone]
            if not lane.running and not lane.waiting and turn.idle():
                turn.give(self.lanes[phone])

    def _take(self, report: Report | StopAsked) -> None:
        match report:
            case Staged() | TrialSeen():
                self._heard(report)
            case LaneBroken(phone, error):
                self.tally.bugs.append(error)
                self._feed(PhoneGone(phone, f"bug: {error!r}", for_good=True))
            case BlockOutcome():
                self._store(report)
            case RungTried() | ServerSeen() | HubLost() | PutAside():
                self._trouble(report)
            case BlockTidied(_, block_id):
                self.ledger.block_tidied(block_id, self.clock.now())
            case NextRound():
                wanted = self.state.wants_round(report.phone)
                self._feed(self.rounds.add(report, self.run_id, self.ledger, self.watcher, self.clock, wanted=wanted))
            case TurnTaken() | TurnMissed():
                self._turn_ended(report)
            case PhoneTaken(phone, why):
                self.watcher.phone_taken(phone, why)
                self._feed(report)
            case PhoneGone(phone, why):
                self.watcher.phone_gone(phone, why)
                self._feed(report)
            case _:
                self._feed(report)

    def _heard(self, report: Staged | TrialSeen) -> None:
        if isinstance(report, Staged):
            self.watcher.staged(report.phone, report.pushed_bytes)
        else:
            self.watcher.trial_seen(report.phone, report.task_id)
        self._feed(Heard(report.phone, self._at_s()))

    def _store(self, report: BlockOutcome) -> None:
        self.ledger.record_attempts(report.attempts)
        self.rounds.saw(report.attempts)
        self.ledger.close_block(report.block_id, report.ending, self.clock.now())
        self.lanes[report.event.phone].stored(report.block_id)
        self.watcher.block_stored(report)
        self._feed(replace(report.event, at_s=self._at_s()))

    def _trouble(self, report: Trouble) -> None:
        if isinstance(report, PutAside) and self.blames_hub(report.phone):
            return
        if words := write_down(report, self.run_id, self.ledger, self.clock.now()):
            self.watcher.trouble(words)
        if isinstance(report, RungTried):
            self._feed(Heard(report.phone, self._at_s()))
        elif isinstance(report, HubLost):
            self._feed(SiblingsLost(report.incident.phones))

    def _turn_ended(self, report: TurnTaken | TurnMissed) -> None:
        """Another run's turn is over, or ours will not come."""
        phone, command = report.phone, self._waits.pop(report.phone)
        if isinstance(report, TurnMissed):
            self._feed(BlockEnded(phone, (), command.works, at_s=self._at_s()))
            return
        self.epochs[phone] = self.ledger.next_epoch(phone, at_least=epoch_above(report.epoch))
        self._run_block(command)

    def _join(self, new: Joined) -> None:
        """Everything that is asked of a new phone is in the ledger before it is told anything."""
        self.ledger.join_run(self.run_id, new.contents, self.clock.now())
        self.watcher.phone_joined(new.contents)
        self.add_lane(new.lane, epoch=new.epoch, boot_id=new.boot_id)
        self._feed(PhoneAdded(new.lane.kit.phone, new.planned))
        new.lane.start()

    def _feed(self, event: Event) -> None:
        judged = self.probation.see(event)
        if judged.released:
            self.ledger.phones.release(judged.released, self.run_id, "it measured on probation")
        if judged.failed:
            self._trouble(PutAside(judged.failed, judged.why, "", FAILED_OFTEN_S))
        for command in (*judged.proof, *(one for passed in judged.events for one in self.state.handle(passed))):
            self._carry_out(command)

    # --- commands out -------------------------------------------------------------------------------------------

    def _carry_out(self, command: Command) -> None:
        match command:
            case RunBlock():
                self._run_block(command)
            case AskRound(phone):
                self.rounds.ask(self.lanes[phone], self.post)
            case EndTrial():
                self._end_trial(command)
            case FixIterations(phone, case_id, iterations):
                self.ledger.set_iterations(self.run_id, case_id, phone, iterations)
            case StopPhone():
                self._stop_phone(command)
            case MoveTrial(trial, left):
                self.ledger.move_trial(trial.trial_id, trial.phone)
                self.watcher.trial_moved(trial, left)
            case GiveUp(phone, why, quarantine):
                self.watcher.phone_gone(phone, why)
                if quarantine and not self.blames_hub(phone):
                    self._trouble(PutAside(phone, why, "", FAILED_OFTEN_S))
            case Finish():
                self._done = True

    def _stop_phone(self, command: StopPhone) -> None:
        self.lanes[command.phone].control.stop()
        if command.kill:
            self.lanes[command.phone].control.kill()

    def _end_trial(self, command: EndTrial) -> None:
        self.tally.count(command.outcome)
        self.rounds.learn(command.trial, command.outcome)
        self.ledger.end_trial(command.trial.trial_id, command.outcome)
        self.watcher.trial_ended(command)

    def _run_block(self, command: RunBlock) -> None:
        phone = command.phone
        if (turn := self.turns.get(phone)) is not None and not turn.begins_block():
            self._waits[phone] = command
            self.watcher.phone_shared(phone, turn.next_one())
            lane = self.lanes[phone]
            lane.between(lambda: self.post(turn.pass_on(lane, lane.over)))
            return
        self._blocks += 1
        order = open_block(
            command, self.run_id, self.ledger, self._blocks,
            epoch=self.epochs[phone], boot_id=self.boot_ids[phone], now=self.clock.now(),
        )  # fmt: skip
        self.watcher.block_given(phone, {task_id(index, work): work for index, work in enumerate(command.works)})
        self.lanes[phone].give(order)

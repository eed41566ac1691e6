"""A run so far, as its watcher is told of it: what each phone does, how far all is, a provisional answer.

Nothing here waits or touches the world; the moment comes with each call, in seconds of a clock that never goes back.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.farm.messages import BlockOutcome
from orchestrator.farm.protocol import Planned, Work
from orchestrator.outcome import Measured, Outcome, Skipped
from orchestrator.plan.case import Purpose, Side, Trial
from orchestrator.report.progress import LaneProgress, RunProgress, provisional
from orchestrator.store.records import PhoneRecord, RunContents
from orchestrator.variants.tolerance import within

MAX_ANSWERS = 2
"""More provisional answers than this do not fit a line; the first stand for all."""
MAX_NAME_CHARS = 14
"""A phone's label up to this long has its device model beside it."""
BASELINE = "default"


@dataclass(slots=True)
class _Lane:
    """One phone. `at` is the task of the present block that was heard of last, -1 before the first.

    `timed_since_s` is the moment of the first timed block (the others are over sooner), `open_then` how many trials
    were open then, `heard_s` the moment of the last news.
    """

    name: str
    total: int
    open: int = 0
    skipped: int = 0
    tasks: tuple[tuple[str, Work], ...] = ()
    at: int = -1
    timed_since_s: float | None = None
    open_then: int = 0
    heard_s: float = 0.0
    battery_c: float | None = None
    clock_ghz: float | None = None
    gone: str = ""
    waits: str = ""
    validity: str = ""

    @property
    def work(self) -> Work | None:
        """What runs now, as far as is known."""
        return self.tasks[max(self.at, 0)][1] if self.tasks and not self.gone else None

    @property
    def state(self) -> str:
        """A word for how it stands."""
        if self.gone or not self.open:
            return "lost" if self.gone else "stopped" if self.skipped else "done"
        if self.work is None:
            return "waits"
        if self.at < 0:
            return "stages"
        validity = self.validity if self.validity not in ("", "valid") else "ok"
        return validity if self.work.purpose is Purpose.TIME else self.work.purpose.value

    @property
    def left(self) -> int:
        """Trials that have not ended; those of the present block that the phone is done with have."""
        return max(0, self.open - sum(work.trial is not None for _, work in self.tasks[: max(self.at, 0)]))

    @property
    def done(self) -> int:
        """Trials that were tried to their end."""
        return self.total - self.left - self.skipped

    def left_s(self, now_s: float) -> float | None:
        """Seconds until its last trial ends, at the pace so far; None before one has ended."""
        ended = self.open_then - self.left
        if not self.open or self.gone:
            return 0.0
        if self.timed_since_s is None or ended <= 0:
            return None
        each_s = (self.heard_s - self.timed_since_s) / ended
        return max(0.0, each_s * self.left - (now_s - self.heard_s))


@dataclass(slots=True)
class _Figures:
    """One model on one phone: medians by case, and how many trials of its first round are still open."""

    first_round_open: int
    p50s_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


class SoFar:
    """What the farm's watcher knows. The methods have the names and the order of `orchestrator.farm.loop.Watcher`."""

    def __init__(self) -> None:
        self.name = ""
        self._rows: dict[str, str] = {}
        self._models: dict[str, str] = {}
        self._twins: set[str] = set()
        self._bases: set[str] = {BASELINE}
        self._variants: dict[str, str] = {}
        self._refused: frozenset[str] = frozenset()
        self._several = False
        self._first_round: Counter[tuple[str, str]] = Counter()
        self._lanes: dict[str, _Lane] = {}
        self._figures: dict[tuple[str, str], _Figures] = {}

    def expect(self, contents: RunContents) -> None:
        """A run is about to start, or to go on; the other methods tell of its phones and trials."""
        self.name = contents.run.plan_name
        self._rows = {case.case_id: case.row for case in contents.cases}
        self._models = {case.case_id: case.model_name for case in contents.cases}
        self._twins = {case.case_id for case in contents.cases if case.twin_of}
        self._bases |= {case.row for case in contents.cases if case.side is Side.A}
        self._variants = {case.case_id: case.variant_id for case in contents.cases}
        self._refused = frozenset(
            one.variant_id for one in contents.variants if one.numerics is not None and not within(one.numerics)
        )
        self._several = len({self._models[trial.case_id] for trial in contents.trials}) > 1
        self._first_round = Counter(self._place(trial) for trial in contents.trials if self._is_first(trial))
        total = Counter(trial.phone for trial in contents.trials)
        self._lanes = {one.phone: _Lane(_name(one), total[one.phone]) for one in contents.phones}

    def begun(self, still_open: Iterable[Planned]) -> None:
        """The farm sets out with these trials.

        What an earlier process measured is not known here, so that a model and phone that it began with have no
        provisional answer.
        """
        first: Counter[tuple[str, str]] = Counter()
        for trial in still_open:
            self._lanes[trial.phone].open += 1
            first[self._place(trial)] += self._is_first(trial)
        self._figures = {key: _Figures(count) for key, count in first.items() if count == self._first_round[key]}

    def block_given(self, phone: str, tasks: Mapping[str, Work], now_s: float) -> None:
        """A phone was given a block."""
        lane = self._lanes[phone]
        lane.gone = lane.waits = ""
        lane.tasks, lane.at, lane.heard_s = tuple(sorted(tasks.items())), -1, now_s
        if lane.timed_since_s is None and any(work.purpose is Purpose.TIME for work in tasks.values()):
            lane.timed_since_s, lane.open_then = now_s, lane.open

    def trial_seen(self, phone: str, task_id: str, now_s: float) -> None:
        """A phone said something new of a process: it started, or it ended."""
        lane = self._lanes[phone]
        lane.gone = ""
        places = [at for at, (name, _) in enumerate(lane.tasks) if name == task_id]
        if places and places[0] >= lane.at:
            lane.at, lane.heard_s = places[0], now_s

    def block_stored(self, outcome: BlockOutcome) -> None:
        """A block's attempts are in the ledger: the figures they measured, the vitals they ended with."""
        self._lanes[outcome.event.phone].tasks = ()
        for attempt in outcome.attempts:
            lane = self._lanes[attempt.phone]
            lane.validity = attempt.validity if attempt.purpose == Purpose.TIME.value else lane.validity
            if attempt.after is not None:
                fastest_khz = max(attempt.after.current_freq_khz, default=0)
                lane.battery_c = attempt.after.battery_c
                lane.clock_ghz = fastest_khz / 1e6 if fastest_khz else None
            known = self._figures.get((attempt.phone, self._models[attempt.case_id]))
            if known is None or attempt.purpose != Purpose.TIME.value or attempt.case_id in self._twins:
                continue
            match attempt.outcome:
                case Measured(figures=figures) if figures is not None and not attempt.rejected:
                    known.p50s_s[attempt.case_id].append(figures.p50_s)

    def trial_ended(self, trial: Planned, outcome: Outcome, now_s: float) -> None:
        """A planned trial has its row."""
        lane = self._lanes[trial.phone]
        lane.heard_s = now_s
        lane.open -= 1
        lane.skipped += isinstance(outcome, Skipped)
        known = self._figures.get(self._place(trial))
        if known is not None and self._is_first(trial):
            known.first_round_open -= 1

    def trial_moved(self, trial: Planned, left: str) -> None:
        """A planned trial is asked of `trial.phone` now."""
        for phone, change in ((left, -1), (trial.phone, 1)):
            self._lanes[phone].open += change
            self._lanes[phone].total += change
            if self._is_first(trial):
                place = (phone, self._models[trial.case_id])
                self._figures.setdefault(place, _Figures(0)).first_round_open += change

    def joined(self, contents: RunContents) -> None:
        """A phone came while the run lasts; these contents are its own."""
        self._rows |= {case.case_id: case.row for case in contents.cases}
        self._models |= {case.case_id: case.model_name for case in contents.cases}
        self._twins |= {case.case_id for case in contents.cases if case.twin_of}
        self._variants |= {case.case_id: case.variant_id for case in contents.cases}
        for one in contents.phones:
            self._lanes[one.phone] = _Lane(_name(one), len(contents.trials), open=len(contents.trials))
        first = Counter(self._place(trial) for trial in contents.trials if self._is_first(trial))
        self._figures |= {place: _Figures(count) for place, count in first.items()}

    def round_added(self, trials: Iterable[Planned]) -> None:
        """A phone is asked for more than was planned before."""
        for trial in trials:
            lane = self._lanes[trial.phone]
            lane.total += 1
            lane.open += 1
            if trial.round == 1:
                self._figures.setdefault(self._place(trial), _Figures(0)).first_round_open += 1

    def phone_gone(self, phone: str, why: str) -> None:
        """A phone is given up."""
        self._lanes[phone].gone = why or "lost"

    def waits(self, phone: str, what: str) -> None:
        """A phone waits until it is given its next block: somebody has it, or another run its turn."""
        if phone in self._lanes:
            self._lanes[phone].waits = what

    def refuse(self, variant_id: str) -> None:
        """A variant is out of tolerance: its cases are no answer. Safe from any thread."""
        self._refused |= {variant_id}

    def view(self, now_s: float) -> RunProgress:
        """The run at a moment."""
        lanes = self._lanes.values()
        left = [seconds for lane in lanes if (seconds := lane.left_s(now_s)) is not None]
        return RunProgress(
            plan_name=self.name,
            done=sum(lane.done for lane in lanes),
            total=sum(lane.total for lane in lanes),
            left_s=max(left) if len(left) == len(self._lanes) and left else None,
            so_far=self.answer(),
            lanes=tuple(self._lane(lane, now_s) for lane in lanes),
        )

    def answer(self) -> str:
        """The provisional answer: by phone and model the best row against the default, once a round has ended."""
        words = []
        for (phone, model), known in self._figures.items():
            if known.first_round_open or not known.p50s_s:
                continue
            middle_s = {
                self._rows[case]: statistics.median(values)
                for case, values in known.p50s_s.items()
                if self._variants[case] not in self._refused
            }
            if not middle_s:
                continue
            best = min(middle_s, key=middle_s.__getitem__)
            base = next((row for row in middle_s if row in self._bases), best)
            ratio = middle_s[base] / middle_s[best] if best != base else None
            label = self._lanes[phone].name
            words.append(provisional(f"{label} {model}" if self._several else label, best, ratio))
        return "; ".join(words[:MAX_ANSWERS]) + (" …" if len(words) > MAX_ANSWERS else "")

    def _what(self, work: Work) -> str:
        row = self._rows[work.case_id]
        return f"{row} · {self._models[work.case_id]}" if self._several else row

    def _is_first(self, trial: Planned | Trial) -> bool:
        """Whether the first answer waits for a trial. It waits for no twin, which is tried after it."""
        return trial.purpose is Purpose.TIME and trial.round == 1 and trial.case_id not in self._twins

    def _place(self, trial: Planned | Trial) -> tuple[str, str]:
        return trial.phone, self._models[trial.case_id]

    def _lane(self, lane: _Lane, now_s: float) -> LaneProgress:
        work = lane.work
        return LaneProgress(
            name=lane.name,
            done=lane.done,
            total=lane.total,
            what=lane.gone or (self._what(work) if work is not None else lane.waits if lane.open else ""),
            round=work.round if work is not None and work.trial is not None else None,
            battery_c=lane.battery_c,
            clock_ghz=lane.clock_ghz,
            state=lane.state,
            left_s=lane.left_s(now_s) if lane.open and not lane.gone else None,
        )


def _name(phone: PhoneRecord) -> str:
    model = phone.facts.device_model
    return f"{phone.label} {model}" if model and len(phone.label) <= MAX_NAME_CHARS else phone.label

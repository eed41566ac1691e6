"""Pure: what becomes of work that failed, by the error's own words: who must act, and where trying again is honest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from android_runner.errors import Blame, LeaseLost, Retry
from orchestrator.outcome import INVALID, Failed

MAX_ATTEMPTS = 3
"""Tries at one trial on one phone where trying again is honest."""
SAME_ROUNDS = 2
"""Rounds that a setting must lose in the same way, its first ones on a phone, until it is not asked again there."""
MAX_STRIKES = 6
"""Failures of the lab's kind in a row, nothing having gone well between, after which a phone is left alone."""
BLOCK_STRIKES = 2
"""As many of those is a block of which nothing could run."""
LATER_S = 5.0
LONGEST_LATER_S = 300.0
NOT_THE_PHONES = frozenset({INVALID, LeaseLost.kind})
"""Kinds that say nothing against a phone: it was hot, or busy for somebody else."""


class Again(StrEnum):
    """Where a trial that failed goes next."""

    HERE = "here"
    LATER = "later"
    ELSEWHERE = "elsewhere"
    NOWHERE = "nowhere"


def again(outcome: Failed, tries: int, *, others: bool) -> Again:
    """Where a trial goes after its `tries`-th try on its phone; `others`: another phone may take it.

    What the lab spoilt on one phone may go well on another, also where the words are "never": that is said of a phone.
    """
    if outcome.retry is Retry.HERE and tries < MAX_ATTEMPTS:
        return Again.HERE
    if outcome.retry is Retry.LATER and tries < MAX_ATTEMPTS:
        return Again.LATER
    if others and (outcome.retry is Retry.ELSEWHERE or outcome.blame is Blame.LAB):
        return Again.ELSEWHERE
    return Again.NOWHERE


def pause_s(failures: int) -> float:
    """Seconds until a phone is asked again, of which whole blocks failed with "later" so often in a row."""
    return min(LONGEST_LATER_S, LATER_S * 4.0 ** (failures - 1)) if failures else 0.0


@dataclass(slots=True)
class Refusals:
    """How each setting's first rounds on one phone ended, by case: their kinds until one was measured."""

    _kinds: dict[str, list[str] | None] = field(default_factory=dict)

    @property
    def undecided(self) -> bool:
        """Whether a setting has lost its first round, so that its second one should be seen before a third is asked."""
        return any(kinds is not None and len(kinds) == 1 for kinds in self._kinds.values())

    def went_well(self, case_id: str) -> None:
        """A round of it was measured: what fails from now on is no refusal."""
        self._kinds[case_id] = None

    def failed(self, case_id: str, outcome: Failed) -> bool:
        """Take a lost round in; whether its first rounds were lost in the same way, none of them by the lab."""
        if outcome.blame is Blame.LAB:
            return False
        kinds = self._kinds.setdefault(case_id, [])
        if kinds is None:
            return False
        kinds.append(outcome.kind)
        return len(kinds) == SAME_ROUNDS and len(set(kinds)) == 1


@dataclass(slots=True)
class Strikes:
    """A phone's failures of the lab's kind since something last went well there."""

    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    cases: set[str] = field(default_factory=set)

    def went_well(self) -> None:
        """A process ended as it should."""
        if self.count:
            self.count = 0
            self.kinds.clear()
            self.cases.clear()

    def process_failed(self, case_id: str, outcome: Failed) -> None:
        """One process failed; what a plan, a model or a runtime is to blame for is no strike, and no success."""
        if outcome.blame is Blame.LAB and outcome.kind not in NOT_THE_PHONES:
            self.count += 1
            self.kinds[outcome.kind] += 1
            self.cases.add(case_id)

    def block_failed(self, outcome: Failed) -> None:
        """Nothing of a block could run."""
        if outcome.blame is Blame.LAB and outcome.kind not in NOT_THE_PHONES:
            self.count += BLOCK_STRIKES
            self.kinds[outcome.kind] += 1
            self.cases |= {"", outcome.kind}  # blames no case

    def why_quarantine(self) -> str:
        """Why the phone should be left alone, in words; "" while it should not. One case alone proves nothing."""
        if self.count < MAX_STRIKES or len(self.cases) < 2:
            return ""
        seen = ", ".join(f"{kind} {times}×" for kind, times in sorted(self.kinds.items()))
        return f"nothing went well since {seen}"

"""Pure nouns: what a run's searches have found: the best setting on each phone, how surely, what the answer lacks."""

from __future__ import annotations

from dataclasses import dataclass

GOES_ON = "it goes on"
"""How a search ended that has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePlace:
    """A setting in the answer. `figure`: the median of its own `rounds`, in seconds (of memory: in bytes). It is
    `behind` the winner by that share, from `behind_low` to `behind_high` with 95 %; `chance`: that it is the best."""

    row: str
    case: str
    rounds: int
    figure: float | None
    behind: float
    behind_low: float
    behind_high: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Settings that were not tried, how many, and why."""

    why: str
    settings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneAnswer:
    """One model on one phone. Of several objectives `front` is the answer: its settings are better in something than
    any other; figures are those of the first objective.

    `confidence`: that nothing is better than the winner by more than was asked; `known`: that this is sure enough.
    `end`: how the search ended, in words. `settings` there were, of which `tried` ran in `processes`; `spoiled` ones
    count for nothing. `spent_s` of the phone's `budget_s` seconds.
    """

    model: str
    phone: str
    label: str
    device_model: str
    virtual: bool
    winner: TunePlace | None
    runner_up: TunePlace | None
    front: tuple[TunePlace, ...]
    confidence: float
    known: bool
    end: str
    settings: int
    tried: int
    processes: int
    spoiled: int
    spent_s: float
    budget_s: float
    lacks: tuple[Lack, ...]

    @property
    def name(self) -> str:
        """`B3 Pixel 8`: what a person calls the phone."""
        return " ".join(part for part in (self.label or self.phone, self.device_model) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """What was looked for, `within` what share of the best, and what was found, real phones first."""

    objectives: tuple[str, ...]
    within: float
    answers: tuple[TuneAnswer, ...]

"""Pure: a series over nights as people look at it: a point a night, marks where something was changed, steps.

Steps are those that `orchestrator.measure.steps` finds looking back over all nights; the word on each night is the one
that was said then (`orchestrator.nights.rule`). A step that nobody was told of may be one that came slowly.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from orchestrator.measure.steps import steps
from orchestrator.nights.changes import What, changes
from orchestrator.nights.nouns import CaseNight, Judged, Verdict
from orchestrator.nights.rule import judge_each, nights_of

MARKED = (
    What.MODEL, What.BINARY, What.SETTINGS, What.CONVERTER, What.GRAPH, What.NNAPI, What.SYSTEM, What.SCRIPT, What.ORCH,
)  # fmt: skip
"""Changes that stand as marks on the line: versions and digests, not what a phone does by itself."""
LEAST_STEP = 0.01
"""A step that is smaller is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendMark:
    """Something was another from this night on."""

    what: What
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One night: median, least and most of its rounds' p50s in seconds, None without figures (`ended` says why not);
    `again_s` is the median of what was asked again in it. `verdict` is None where nobody judged."""

    run: str
    night: str
    level_s: float | None
    low_s: float | None
    high_s: float | None
    rounds: int
    again_s: float | None
    ended: str
    verdict: Verdict | None
    reason: str
    marks: tuple[TrendMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPiece:
    """Nights at one level: the first and the last of them (as indexes of points), and the level in seconds."""

    first: int
    last: int
    level_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendStep:
    """A step between two pieces: the first night and run after it; `ratio` above 1 is slower."""

    night: str
    run: str
    before_s: float
    after_s: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A series over nights. `label` is what its phone is called; `judged` is the newest word, None without nights."""

    phone: str
    label: str
    model: str
    recipe: str
    row: str
    points: tuple[TrendPoint, ...]
    pieces: tuple[TrendPiece, ...]
    steps: tuple[TrendStep, ...]
    judged: Judged | None


def trend(nights: Sequence[CaseNight], judged: Sequence[Judged] | None = None, *, label: str = "") -> Trend:
    """The trend of a series' nights, which stand in their order (at least one).

    `judged`: the word after each night that is no confirming run; None: as the rule says it.
    Raises ValueError without nights, or with another number of words.
    """
    if not nights:
        raise ValueError("a series without nights has no trend")
    asked = nights_of(nights)
    said = judge_each(nights) if judged is None else judged
    if len(said) != len(asked):
        raise ValueError(f"{len(said)} words on {len(asked)} nights")
    points = []
    before: CaseNight | None = None
    for one, word in zip(asked, said, strict=True):
        again = [value for run in one.again for value in run.rounds_s]
        points.append(_point(one.own, before, word, statistics.median(again) if again else None))
        before = one.own if one.own.rounds_s else before
    pieces = _pieces(points)
    key = nights[0].key
    return Trend(
        phone=key.phone,
        label=label or key.phone,
        model=key.model_name,
        recipe=key.recipe_name,
        row=key.row_name,
        points=tuple(points),
        pieces=pieces,
        steps=_steps(points, pieces),
        judged=said[-1] if said else None,
    )


def _point(own: CaseNight, before: CaseNight | None, word: Judged, again_s: float | None) -> TrendPoint:
    found = changes(before, own) if before is not None else ()
    rounds = own.rounds_s
    return TrendPoint(
        run=own.run_id,
        night=own.night,
        level_s=statistics.median(rounds) if rounds else None,
        low_s=min(rounds, default=None),
        high_s=max(rounds, default=None),
        rounds=len(rounds),
        again_s=again_s,
        ended=own.ended,
        verdict=word.verdict,
        reason=word.reason,
        marks=tuple(TrendMark(what=one.what, words=one.words) for one in found if one.what in MARKED),
    )


def _pieces(points: Sequence[TrendPoint]) -> tuple[TrendPiece, ...]:
    """The pieces between steps that are worth being shown."""
    known = [(at, point.level_s) for at, point in enumerate(points) if point.level_s is not None]
    found = [
        TrendPiece(first=known[one.first][0], last=known[one.end - 1][0], level_s=math.exp(one.level))
        for one in steps([math.log(level) for _, level in known])
    ]
    kept: list[TrendPiece] = []
    for piece in found:
        if kept and abs(math.log(piece.level_s / kept[-1].level_s)) < LEAST_STEP:
            last = kept.pop()
            levels = [level for at, level in known if last.first <= at <= piece.last]
            piece = TrendPiece(first=last.first, last=piece.last, level_s=statistics.median(levels))  # noqa: PLW2901
        kept.append(piece)
    return tuple(kept)


def _steps(points: Sequence[TrendPoint], pieces: Sequence[TrendPiece]) -> tuple[TrendStep, ...]:
    return tuple(
        TrendStep(
            night=points[after.first].night,
            run=points[after.first].run,
            before_s=before.level_s,
            after_s=after.level_s,
            ratio=after.level_s / before.level_s,
        )
        for before, after in pairwise(pieces)
    )

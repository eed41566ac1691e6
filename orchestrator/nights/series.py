"""Pure: what a series' nights have told so far: its levels, its misses, its canary. The rule asks it, and adds to it.

Levels and misses are natural logarithms of seconds. A *miss* is by how much a night stood above what the nights before
it let expect; misses of two nights together are kept apart from those of one, since neighbours resemble each other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.nights.noise import freedom_of, level_of, round_error, scale_of, short_base, t_above
from orchestrator.nights.nouns import CaseNight

LEAST_SCALE = 0.0005
"""No series is as quiet as that: 0.05 %."""
SHARE_STRAYS = 0.5
"""What slows a phone slows each case by more or less than its canary: by so much of the share a limit is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the rule goes by. `base` nights must stand before the first that is judged, `window` are held against it; a
    change below `least` is none, however sure; `suspicion` and `alarm` are chances of one night's miss (one side)."""

    window: int = 14
    base: int = 7
    least: float = 0.01
    suspicion: float = 1 / 100
    alarm: float = 1 / 4000


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Night:
    """A night of a series: its own run, and the runs that asked it again."""

    own: CaseNight
    again: tuple[CaseNight, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A night that was judged: its level without the phone's share, the standard error by its rounds, that share."""

    value: float
    error: float | None
    night: CaseNight
    share: float = 0.0
    suspected: bool = False


@dataclass(frozen=True, slots=True)
class Miss:
    """By how much a night, or two, stand above the base; how far the series strays by itself, and how well that is
    known."""

    value: float
    scale: float
    freedom: float
    slack: float = 0.0

    def limit(self, chance: float, least: float) -> float:
        """What a miss has to pass to be rarer than `chance`, and more than `least`."""
        return max(math.log1p(least), t_above(chance, self.freedom) * self.scale) + self.slack


@dataclass(frozen=True, slots=True)
class Fallen:
    """A regression that lasts: the level before it, how far it went, and the nights around the step."""

    base: float
    step: float
    before: tuple[Level, ...]
    last_good: CaseNight | None
    first_bad: CaseNight


@dataclass(frozen=True, slots=True)
class Series:
    """What is known of a series. `canaries` are (binary, level of the phone's canary), without nights of a slow one."""

    limits: Limits = LIMITS
    nights: int = 0
    levels: tuple[Level, ...] = ()
    misses: tuple[float, ...] = ()
    pairs: tuple[float, ...] = ()
    canaries: tuple[tuple[str, float], ...] = ()
    canary_misses: tuple[float, ...] = ()
    fallen: Fallen | None = None
    last: CaseNight | None = None
    """The newest night that had figures."""

    @property
    def doubtful(self) -> bool:
        """Whether the last night was suspected: then it is no part of the base yet."""
        return len(self.levels) > 1 and self.levels[-1].suspected

    def base(self, *, without_last: bool) -> tuple[float, int]:
        """What a night is expected to be, and from how many nights."""
        used = (self.levels[:-1] if without_last else self.levels)[-self.limits.window :]
        return statistics.median(one.value for one in used), len(used)

    def one(self, level: Level) -> Miss:
        """How a night misses."""
        expected, count = self.base(without_last=self.doubtful)
        return self._miss(level.value - expected, self.misses, count, level.share)

    def pair(self, level: Level) -> Miss | None:
        """How the last night and this one miss together; None where too little is known."""
        if len(self.levels) < 2 or len(self.pairs) < 2:
            return None
        expected, count = self.base(without_last=True)
        last = self.levels[-1]
        share = (last.share + level.share) / 2
        return self._miss((last.value + level.value) / 2 - expected, self.pairs, count, share)

    def both(self, pair: Miss, value: float, *, up: bool) -> bool:
        """Whether two nights are surely slower (`up`) or faster, each by at least half of what both show together."""
        sign = 1.0 if up else -1.0
        expected, _ = self.base(without_last=True)
        least = min(sign * (one - expected) for one in (self.levels[-1].value, value))
        size = sign * pair.value
        return size > pair.limit(self.limits.alarm, self.limits.least) and least > size / 2

    def _miss(self, value: float, misses: Sequence[float], nights: int, share: float) -> Miss:
        rounds = [one.error for one in self.levels[-self.limits.window :] if one.error is not None]
        floor = max(LEAST_SCALE, statistics.median(rounds) if rounds else 0.0)
        scale = max(scale_of(misses), floor) * short_base(nights, self.limits.window)
        return Miss(value, scale, freedom_of(len(misses)), SHARE_STRAYS * share)

    def share(self, own: CaseNight) -> float:
        """How much of a night is the phone's: by how much its canary is surely slower than under the same binary so
        far; 0 where it is not, or nothing is known."""
        now = own.circumstances.canary_p50_s
        before = self._canaries_of(own)
        if not now or now <= 0.0 or len(before) < self.limits.base or len(self.canary_misses) < 2:
            return 0.0
        miss = math.log(now) - statistics.median(before)
        scale = max(scale_of(self.canary_misses), LEAST_SCALE)
        sure = t_above(self.limits.suspicion, freedom_of(len(self.canary_misses))) * scale
        return miss if miss > max(sure, math.log1p(self.limits.least)) else 0.0

    def _canaries_of(self, own: CaseNight) -> list[float]:
        binary = own.circumstances.binary_digest
        return [level for had, level in self.canaries if had == binary][-self.limits.window :]

    def level(self, own: CaseNight, share: float) -> Level:
        """A night's level without the phone's share."""
        return Level(level_of(own.rounds_s) - share, round_error(own.rounds_s), own, share)

    def with_night(self, level: Level) -> Series:
        """With a night that is as those before: a level more, a canary more, and its misses are noise."""
        misses, pairs, window = self.misses, self.pairs, self.limits.window
        if len(self.levels) > 1 and level.share == 0.0:
            expected, count = self.base(without_last=self.doubtful)
            misses = (*misses, (level.value - expected) / short_base(count, window))
            expected, count = self.base(without_last=True)
            pairs = (*pairs, ((self.levels[-1].value + level.value) / 2 - expected) / short_base(count, window))
        return replace(self._with_canary(level), levels=(*self.levels, level), misses=misses, pairs=pairs)

    def moved(self, bad: int, level: Level, fallen: Fallen | None) -> Series:
        """On a new level: this night, and the last `bad` before it. What those missed was no noise."""
        kept = -bad if bad and len(self.misses) > bad + 2 else None
        return replace(
            self._with_canary(level),
            levels=(*(self.levels[-bad:] if bad else ()), level),
            misses=self.misses[:kept],
            pairs=self.pairs[:kept],
            fallen=fallen,
        )

    def _with_canary(self, level: Level) -> Series:
        own = level.night
        now, before = own.circumstances.canary_p50_s, self._canaries_of(own)
        canaries, misses = self.canaries, self.canary_misses
        if now and now > 0.0 and level.share == 0.0:
            if len(before) > 1:
                misses = (*misses, math.log(now) - statistics.median(before))
            canaries = (*canaries, (own.circumstances.binary_digest, math.log(now)))
        return replace(self, nights=self.nights + 1, canaries=canaries, canary_misses=misses, last=own)

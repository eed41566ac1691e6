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
FEWEST = 3
"""Fewer misses tell nothing of the noise."""
FLAT_CANARY = 0.03
"""A canary of which little is known yet is slow, or fast, from here on."""
SHARE_STRAYS = 0.5
"""What slows a phone slows each case by more or less than its canary: by so much of the share a limit is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the rule goes by. `base` nights must stand before the first that is judged, `window` are held against it; a
    change below `least` is none, however sure; `suspicion` and `alarm` are chances of one night's miss (one side)."""

    window: int = 10
    base: int = 7
    least: float = 0.01
    suspicion: float = 1 / 100
    alarm: float = 1 / 2500


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Night:
    """A night of a series: its own run, and the runs that asked it again."""

    own: CaseNight
    again: tuple[CaseNight, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A night that was judged: its level without the phone's share, the standard error by its rounds, that share;
    whether the phone was well; whether it was suspected after all that was asked; of how many runs it is."""

    value: float
    error: float | None
    night: CaseNight
    share: float = 0.0
    well: bool = True
    suspected: bool = False
    runs: int = 1


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
    doubted: tuple[float, ...] = ()
    """What the last night missed, alone and with the one before, if it was suspected."""
    canaries: tuple[tuple[str, float], ...] = ()
    canary_misses: tuple[float, ...] = ()
    fallen: Fallen | None = None
    last: CaseNight | None = None
    """The newest night that had figures."""

    @property
    def knows_noise(self) -> bool:
        """Whether there are misses to judge by."""
        return len(self.misses) >= FEWEST

    def base(self, *, without_last: bool) -> tuple[float, int]:
        """What a night is expected to be, and from how many nights: those when the phone was well, where there are any.
        What was suspected only a night ago may yet be a regression, and is left out."""
        levels = (
            self.levels[:-1] if without_last or (len(self.levels) > 1 and self.levels[-1].suspected) else self.levels
        )
        used = ([one for one in levels if one.well] or levels)[-self.limits.window :]
        return statistics.median(one.value for one in used), len(used)

    def one(self, level: Level) -> Miss:
        """How a night misses."""
        expected, count = self.base(without_last=False)
        miss = self._miss(level.value - expected, self.misses, count, level.share)
        return self._of_runs(miss, 1.0, 1 - 1 / level.runs)

    def pair(self, level: Level) -> Miss | None:
        """How the last night and this one miss together; None where too little is known."""
        if len(self.levels) < 2 or len(self.pairs) < FEWEST:
            return None
        expected, count = self.base(without_last=True)
        last = self.levels[-1]
        share = (last.share + level.share) / 2
        miss = self._miss((last.value + level.value) / 2 - expected, self.pairs, count, share)
        return self._of_runs(miss, 1 / 2, 1 - (1 / last.runs + 1 / level.runs) / 2)

    def _of_runs(self, miss: Miss, part: float, less: float) -> Miss:
        """A miss of nights that were asked again: of `part` of the rounds' own variance there is so much less. What a
        night adds to all of its runs stays."""
        rounds = min(part * (self._rounds_error() / miss.scale) ** 2, 1.0)
        return replace(miss, scale=miss.scale * math.sqrt(1 - rounds * less))

    def _rounds_error(self) -> float:
        errors = [one.error for one in self.levels[-self.limits.window :] if one.error is not None]
        return statistics.median(errors) if errors else 0.0

    def both(self, pair: Miss, value: float, *, up: bool) -> bool:
        """Whether two nights are surely slower (`up`) or faster, each by at least half of what both show together."""
        sign = 1.0 if up else -1.0
        expected, _ = self.base(without_last=True)
        least = min(sign * (one - expected) for one in (self.levels[-1].value, value))
        size = sign * pair.value
        return size > pair.limit(self.limits.alarm, self.limits.least) and least > size / 2

    def _miss(self, value: float, misses: Sequence[float], nights: int, share: float) -> Miss:
        scale = max(scale_of(misses), self._rounds_error(), LEAST_SCALE) * short_base(nights, self.limits.window)
        return Miss(value, scale, freedom_of(len(misses)), SHARE_STRAYS * share)

    def share(self, own: CaseNight) -> float:
        """How much of a night is the phone's: by how much its canary is surely slower than under the same binary so
        far; 0 where it is not, or nothing is known."""
        now = own.circumstances.canary_p50_s
        before = self._canaries_of(own)
        if not now or now <= 0.0 or not before:
            return 0.0
        miss, sure = math.log(now) - statistics.median(before), math.log1p(FLAT_CANARY)
        if len(self.canary_misses) >= self.limits.base:
            scale = max(scale_of(self.canary_misses), LEAST_SCALE)
            sure = t_above(self.limits.suspicion, freedom_of(len(self.canary_misses))) * scale
        return miss if miss > max(sure, math.log1p(self.limits.least)) else 0.0

    def was_slow(self, own: CaseNight) -> bool:
        """Whether the phone was slow in the nights so far, as its canary is far faster now."""
        now, before = own.circumstances.canary_p50_s, self._canaries_of(own)
        if not now or now <= 0.0 or not before:
            return False
        return math.log(now) - statistics.median(before) < -math.log1p(FLAT_CANARY)

    def _canaries_of(self, own: CaseNight) -> list[float]:
        binary = own.circumstances.binary_digest
        return [level for had, level in self.canaries if had == binary][-self.limits.window :]

    def level(self, own: CaseNight, *, share: bool) -> Level:
        """A night's level, with or without the phone's share."""
        slow = self.share(own)
        taken = 0.0 if share else slow
        return Level(level_of(own.rounds_s) - taken, round_error(own.rounds_s), own, taken, slow == 0.0)

    def with_night(self, level: Level) -> Series:
        """With a night that is as those before: a level more, a canary more, and its misses are noise; those of a
        suspected night only when the next night is there, and it was no regression."""
        misses, pairs, new = (*self.misses, *self.doubted[:1]), (*self.pairs, *self.doubted[1:]), self._misses_of(level)
        doubted: tuple[float, ...] = new if level.suspected else ()
        if not level.suspected:
            misses, pairs = (*misses, *new[:1]), (*pairs, *new[1:])
        known = self._with_canary(level)
        return replace(known, levels=(*self.levels, level), misses=misses, pairs=pairs, doubted=doubted)

    def _misses_of(self, level: Level) -> tuple[float, ...]:
        """What a night missed, alone and with the one before, as from a whole window; () where that tells no noise."""
        if len(self.levels) < 2 or not level.well:
            return ()
        window = self.limits.window
        expected, count = self.base(without_last=False)
        alone = (level.value - expected) / short_base(count, window)
        expected, count = self.base(without_last=True)
        return alone, ((self.levels[-1].value + level.value) / 2 - expected) / short_base(count, window)

    def moved(self, bad: int, level: Level, fallen: Fallen | None) -> Series:
        """On a new level: this night, and the last `bad` before it. What those missed was no noise."""
        kept = -bad if bad and not self.levels[-1].suspected and len(self.misses) >= bad + FEWEST else None
        return replace(
            self._with_canary(level),
            levels=(*(self.levels[-bad:] if bad else ()), level),
            misses=self.misses[:kept],
            pairs=self.pairs[:kept],
            doubted=(),
            fallen=fallen,
        )

    def on_another_base(self, *, keep_noise: bool) -> Series:
        """Without any level; how far it strays, and its canary, is still known where asked for."""
        if not keep_noise:
            return Series(limits=self.limits)
        return Series(limits=self.limits, misses=self.misses, pairs=self.pairs, canary_misses=self.canary_misses)

    def _with_canary(self, level: Level) -> Series:
        own = level.night
        now, before = own.circumstances.canary_p50_s, self._canaries_of(own)
        canaries, misses = self.canaries, self.canary_misses
        if now and now > 0.0 and level.well:
            if len(before) > 1:
                misses = (*misses, math.log(now) - statistics.median(before))
            canaries = (*canaries, (own.circumstances.binary_digest, math.log(now)))
        return replace(self, nights=self.nights + 1, canaries=canaries, canary_misses=misses, last=own)

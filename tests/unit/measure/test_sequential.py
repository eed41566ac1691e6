"""When pairs have decided between A and B: the looks, the spending, and what the stopping rule promises."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ab import DELTA, TRUTHS, compare, covers, is_wrong, most
from orchestrator.measure.interval import MIN_ROUNDS, Method, interval
from orchestrator.measure.sequential import ALPHA, FIRST_LOOK, Finding, Looks, interval_at, pair_logs

COMPARISONS = 500


def noisy(mean: float, spread: float, n: int, seed: int = 1) -> list[float]:
    """Values whose sample mean is exactly `mean`, and whose sample spread is exactly `spread`."""
    dice = random.Random(seed)
    drawn = [dice.gauss(0, 1) for _ in range(n)]
    centre, width = statistics.fmean(drawn), statistics.stdev(drawn)
    return [mean + spread * (one - centre) / width for one in drawn]


@given(st.integers(3, 1000))
def test_looks_grow_geometrically_and_end_at_the_limit(cap: int) -> None:
    at = Looks(DELTA, cap).at
    assert at[-1] == cap
    assert list(at) == sorted(set(at))
    assert all(look >= FIRST_LOOK for look in at[:-1])
    assert all(after >= 1.2 * before for before, after in itertools.pairwise(at))
    assert len(at) <= 2 + math.log(max(cap / FIRST_LOOK, 1.0), 1.4)


@given(st.integers(3, 200), st.integers(1, 200))
def test_a_stage_ends_with_a_look(cap: int, number: int) -> None:
    looks = Looks(DELTA, cap)
    ends_here = number in looks.at
    assert (looks.stage(number + 1) > looks.stage(number)) == ends_here


def test_one_look_is_student_s_interval() -> None:
    logs = noisy(0.05, 0.01, FIRST_LOOK)
    told = Looks(DELTA, FIRST_LOOK).decide(logs)
    student = interval(logs)
    assert told.interval is not None
    assert told.interval.method is Method.LOOKS
    assert (told.interval.low, told.interval.high) == pytest.approx((student.low, student.high))


def test_nothing_is_said_before_the_first_look() -> None:
    looks = Looks(DELTA, 30)
    told = looks.decide(noisy(0.5, 0.001, FIRST_LOOK - 1))
    assert (told.finding, told.interval, told.resolved) == (Finding.UNDECIDED, None, False)


def test_two_pairs_never_say_anything() -> None:
    told = Looks(DELTA, 30).decide([0.5, 0.5], over=True)
    assert (told.finding, told.interval, told.resolved) == (Finding.UNDECIDED, None, False)


@pytest.mark.parametrize(
    ("mean", "spread", "finding", "resolved"),
    [
        (0.10, 0.010, Finding.FASTER, True),  # all of it beyond δ
        (-0.10, 0.010, Finding.SLOWER, True),
        (0.000, 0.002, Finding.SAME, True),  # all of it within
        (0.005, 0.001, Finding.SAME, True),  # surely not 0, and yet within what matters
        (0.030, 0.010, Finding.FASTER, False),  # surely above 0; whether above δ is not told yet
        (0.000, 0.050, Finding.UNDECIDED, False),
    ],
)
def test_the_words_of_a_look(mean: float, spread: float, finding: Finding, resolved: bool) -> None:
    told = Looks(DELTA, 30).decide(noisy(mean, spread, FIRST_LOOK))
    assert (told.finding, told.resolved) == (finding, resolved)


def test_pairs_behind_the_look_that_decided_change_nothing() -> None:
    looks, first = Looks(DELTA, 30), noisy(0.1, 0.01, FIRST_LOOK)
    assert looks.decide([*first, *noisy(-0.1, 0.01, 7)], over=True) == looks.decide(first)


def test_the_last_look_resolves_whatever_it_finds() -> None:
    looks = Looks(DELTA, 30)
    told = looks.decide(noisy(0.0, 0.2, 30))
    assert (told.finding, told.resolved) == (Finding.UNDECIDED, True)
    assert looks.decide(noisy(0.0, 0.2, 29)).resolved is False


@given(st.integers(3, 200), st.integers(0, 200))
def test_the_shares_are_spent_once(cap: int, n: int) -> None:
    """All looks passed, and the one that counts, spend 5 % and no more."""
    looks = Looks(DELTA, cap)
    told = looks.decide(noisy(0.0, 0.5, n) if n > 1 else [0.0] * n, over=True)
    if n < MIN_ROUNDS:
        assert told.interval is None
        return
    shares = {look: ALPHA * look / sum(looks.at) for look in looks.at}
    passed = sum(share for look, share in shares.items() if look < min(n, cap))
    assert 1.0 - told.level + passed == pytest.approx(ALPHA)


def test_a_run_that_was_cut_off_spends_what_is_left() -> None:
    looks, logs = Looks(DELTA, 30), noisy(0.0, 0.05, 8)
    going_on, over = looks.decide(logs), looks.decide(logs, over=True)
    assert going_on.interval is not None
    assert over.interval is not None
    assert (going_on.interval.n, going_on.resolved) == (FIRST_LOOK, False)
    assert (over.interval.n, over.resolved) == (8, True)
    assert over.interval == interval_at(logs, 1.0 - over.level)


def test_pairs_are_common_rounds() -> None:
    assert pair_logs({3: 0.02, 1: 0.01, 2: 9.0}, {1: 0.01, 3: 0.01, 4: 9.0}) == pytest.approx([0.0, math.log(2)])


@pytest.mark.parametrize("part", TRUTHS)
def test_stopping_early_makes_no_error_likelier(part: float) -> None:
    """The experiment of `python -m benchmarks ab`, smaller."""
    looks = Looks(DELTA, 30)
    told = [compare(f"small/{part}/{seed}", part * math.log1p(DELTA), looks) for seed in range(COMPARISONS)]
    assert sum(is_wrong(one, one.rule.finding) for one in told) / COMPARISONS <= most(ALPHA, COMPARISONS)
    assert sum(not covers(one) for one in told) / COMPARISONS <= most(ALPHA, COMPARISONS)


def test_looking_after_every_pair_would() -> None:
    """What the rule is for: the habit that it replaces cries wolf several times as often as one time in twenty."""
    told = [compare(f"naive/{seed}", 0.0, Looks(DELTA, 30), naive=True) for seed in range(200)]
    assert sum(one.naive in (Finding.FASTER, Finding.SLOWER) for one in told) / len(told) > 3 * ALPHA


def test_clear_differences_end_soon() -> None:
    told = [compare(f"clear/{seed}", 0.2, Looks(DELTA, 30)) for seed in range(200)]
    assert statistics.fmean(one.rule.interval.n for one in told if one.rule.interval) < 10

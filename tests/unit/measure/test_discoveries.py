"""False discoveries over a matrix: the rule itself, what is out of reach, and known truth in a small simulation."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.measure.contrast import Sides, Word, contrasts
from orchestrator.measure.discoveries import Told, discoveries, rounds_to_tell
from orchestrator.measure.rank_tests import RankTest, least_signed, least_sum

shares = st.floats(1e-6, 1.0)


@settings(max_examples=100, deadline=None)
@given(st.lists(shares, min_size=1, max_size=12))
def test_discoveries_are_those_of_benjamini_and_hochberg(ps: list[float]) -> None:
    adjusted = stats.false_discovery_control(ps)
    told = discoveries([RankTest(p, 0.0) for p in ps])
    assert [one is Told.DISCOVERY for one in told] == [bool(one <= 0.05) for one in adjusted]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=10))
def test_out_of_reach_is_what_the_least_p_would_not_have_changed(pairs: list[tuple[float, float]]) -> None:
    tests = [RankTest(max(one, other), min(one, other)) for one, other in pairs]
    for at, (test, told) in enumerate(zip(tests, discoveries(tests), strict=True)):
        best = [*tests[:at], RankTest(test.least, test.least), *tests[at + 1 :]]
        could = discoveries(best)[at] is Told.DISCOVERY
        assert (told is Told.OUT_OF_REACH) == (not could)


def test_nothing_asked_nothing_told() -> None:
    assert discoveries([]) == []
    assert contrasts([]) == []


@pytest.mark.parametrize("cases", [1, 12, 300])
def test_rounds_to_tell_are_the_least_that_do(cases: int) -> None:
    for paired, least in ((False, lambda n: least_sum(n, n)), (True, least_signed)):
        n = rounds_to_tell(cases, paired=paired)
        assert least(n) <= 0.05 / cases < least(n - 1)
        told = discoveries([RankTest(least(n), least(n)), *[RankTest(1.0, least(n))] * (cases - 1)])
        assert told[0] is Told.DISCOVERY


def rounds(dice: random.Random, n: int, log_ratio: float = 0.0, spread: float = 0.01) -> dict[int, float]:
    return {at: 0.01 * math.exp(log_ratio + dice.gauss(0, spread)) for at in range(1, n + 1)}


def words(*sides: Sides) -> list[str]:
    return [one.word for one in contrasts(sides)]


def test_the_words() -> None:
    dice = random.Random(5)
    slower = Sides(base=rounds(dice, 8), new=rounds(dice, 8, 0.1))
    faster = Sides(base=rounds(dice, 8), new=rounds(dice, 8, -0.1))
    same = Sides(base=rounds(dice, 8, spread=0.002), new=rounds(dice, 8, spread=0.002))
    wide = Sides(base=rounds(dice, 8, spread=0.3), new=rounds(dice, 8, spread=0.3))
    thin = Sides(base=rounds(dice, 2), new=rounds(dice, 8, 0.1))
    few = Sides(base=rounds(dice, 3), new=rounds(dice, 3, 0.1))
    close = Sides(base=rounds(dice, 3, spread=1e-4), new=rounds(dice, 3, spread=1e-4))
    assert words(slower, faster, same, wide, thin, few, close) == [
        Word.SLOWER, Word.FASTER, Word.SAME, Word.UNDECIDED, Word.INSUFFICIENT, Word.INSUFFICIENT, Word.SAME,
    ]  # fmt: skip


def test_pairs_of_one_run_lose_what_they_met_together() -> None:
    dice = random.Random(6)
    heat = {at: math.exp(0.2 * at) for at in range(1, 11)}
    base = {at: value * heat[at] for at, value in rounds(dice, 10).items()}
    new = {at: value * heat[at] for at, value in rounds(dice, 10, 0.05).items()}
    assert words(Sides(base=base, new=new, paired=True)) == [Word.SLOWER]
    assert words(Sides(base=base, new=new)) == [Word.UNDECIDED]
    shifted = {at + 8: value for at, value in new.items()}  # two rounds in common
    assert words(Sides(base=base, new=shifted, paired=True)) == [Word.INSUFFICIENT]


def test_a_single_difference_among_many_needs_rounds() -> None:
    dice = random.Random(7)
    for n, word in ((5, Word.INSUFFICIENT), (rounds_to_tell(100), Word.SLOWER)):
        sides = [Sides(base=rounds(dice, n, spread=0.05), new=rounds(dice, n, spread=0.05)) for _ in range(99)]
        told = contrasts([Sides(base=rounds(dice, n), new=rounds(dice, n, 0.3)), *sides])
        assert told[0].word is word


def test_few_of_what_is_said_of_known_truth_is_false() -> None:
    """The large one is `python -m benchmarks discoveries`."""
    dice = random.Random(8)
    shares_false, found, there = [], 0, 0
    for _ in range(40):
        truths = [dice.choice((0.0, 0.0, 0.0, 0.05, -0.05)) for _ in range(60)]
        sides = [Sides(base=rounds(dice, 7, spread=0.03), new=rounds(dice, 7, truth, spread=0.03)) for truth in truths]
        said = [(one.word, truth) for one, truth in zip(contrasts(sides), truths, strict=True)]
        claims = [(word, truth) for word, truth in said if word in (Word.FASTER, Word.SLOWER)]
        false = sum((word is Word.SLOWER) != (truth > 0) or truth == 0 for word, truth in claims)
        shares_false.append(false / max(1, len(claims)))
        found += len(claims) - false
        there += sum(truth != 0 for truth in truths)
    assert sum(shares_false) / len(shares_false) <= 0.05
    assert found / there > 0.3

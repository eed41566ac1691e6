"""Exact rank tests against all ways counted one by one, and against scipy where nothing is tied."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orchestrator.measure.rank_tests import EXACT_ROUNDS, least_signed, least_sum, rank_sum, signed_ranks

values = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(values, values)
def test_the_rank_sum_is_the_share_of_all_deals(first: list[float], second: list[float]) -> None:
    pool = [*first, *second]
    ranks = stats.rankdata(pool)
    mean = ranks.mean() * len(first)
    seen = abs(sum(ranks[: len(first)]) - mean)
    deals = list(itertools.combinations(range(len(pool)), len(first)))
    far = sum(abs(sum(ranks[at] for at in deal) - mean) >= seen - 1e-9 for deal in deals)
    assert rank_sum(first, second).p == pytest.approx(far / len(deals))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8))
def test_signed_ranks_are_the_share_of_all_signs(differences: list[float]) -> None:
    told = [one for one in differences if one]
    if not told:
        assert signed_ranks(differences).p == 1.0
        return
    ranks = stats.rankdata([abs(one) for one in told])
    seen = abs(sum(rank for rank, one in zip(ranks, told, strict=True) if one > 0) - ranks.sum() / 2)
    ways = list(itertools.product((0, 1), repeat=len(told)))
    far = sum(abs(sum(r * w for r, w in zip(ranks, way, strict=True)) - ranks.sum() / 2) >= seen - 1e-9 for way in ways)
    assert signed_ranks(differences).p == pytest.approx(far / len(ways))


@pytest.mark.parametrize(("n", "m"), [(3, 3), (6, 4), (9, 9), (40, 40)])
def test_scipy_says_the_same_where_nothing_is_tied(n: int, m: int) -> None:
    dice = random.Random(f"{n} {m}")
    first, second = [dice.gauss(0.4, 1) for _ in range(n)], [dice.gauss(0, 1) for _ in range(m)]
    assert rank_sum(first, second).p == pytest.approx(stats.mannwhitneyu(first, second, method="exact").pvalue)
    assert signed_ranks(first).p == pytest.approx(stats.wilcoxon(first, method="exact").pvalue)


def test_many_rounds_are_nearly_exact() -> None:
    dice = random.Random(3)
    n = EXACT_ROUNDS + 5
    first, second = [dice.gauss(0.4, 1) for _ in range(n)], [dice.gauss(0, 1) for _ in range(n)]
    assert rank_sum(first, second).p == pytest.approx(
        stats.mannwhitneyu(first, second, method="exact").pvalue, rel=0.02
    )
    assert signed_ranks(first).p == pytest.approx(stats.wilcoxon(first, method="exact").pvalue, rel=0.02)
    assert rank_sum([1.0] * n, [1.0] * n).p == 1.0


def test_the_least_is_what_agreement_gives() -> None:
    for n, m in ((1, 1), (3, 3), (4, 6), (8, 8)):
        told = rank_sum(list(range(n)), list(range(n, n + m)))
        assert told.p == pytest.approx(told.least) == pytest.approx(least_sum(n, m))
    for n in (1, 3, 8):
        told = signed_ranks([float(at + 1) for at in range(n)])
        assert told.p == pytest.approx(told.least) == pytest.approx(least_signed(n))


def test_ties_between_the_sides_are_no_difference() -> None:
    assert rank_sum([1.0, 1.0, 2.0], [1.0, 1.0, 2.0]).p == 1.0

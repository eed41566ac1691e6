import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report import stats
from orchestrator.report.stats import Rank, Sureness

P50 = st.floats(min_value=1e-6, max_value=10.0)
ROUNDS = st.dictionaries(st.integers(1, 9), P50, min_size=3, max_size=9)


def by_round(*values):
    return dict(enumerate(values, start=1))


def test_figure_is_the_median_of_rounds_and_not_their_mean():
    assert stats.case_figure([1.0, 1.1, 9.0]).p50_s == 1.1


def test_interval_equals_a_hand_calculation():
    # logs 0, 0.1, 0.2: mean 0.1, sd 0.1, t(2, 0.975) = 4.302653
    figure = stats.case_figure([1.0, math.exp(0.1), math.exp(0.2)])
    half = 4.302652729911275 * 0.1 / math.sqrt(3)
    assert figure.low_s == pytest.approx(math.exp(0.1 - half))
    assert figure.high_s == pytest.approx(math.exp(0.1 + half))
    assert figure.half_width_s == pytest.approx(figure.high_s - figure.p50_s)


@pytest.mark.parametrize("n", [1, 2])
def test_below_three_rounds_there_is_no_interval(n):
    figure = stats.case_figure([1.0] * n)
    assert (figure.low_s, figure.high_s, figure.half_width_s, figure.n) == (None, None, None, n)


def test_the_interval_covers_the_true_value_in_95_of_100_runs():
    dice = random.Random(20260412)
    for n in (3, 5, 10):
        covered = 0
        for _ in range(1500):
            figure = stats.case_figure([5e-3 * math.exp(dice.gauss(0, 0.05)) for _ in range(n)])
            covered += figure.low_s <= 5e-3 <= figure.high_s
        assert 0.932 <= covered / 1500 <= 0.968  # 95 % ± 3.2 standard errors


def test_the_ratio_is_paired_by_round_so_that_a_common_drift_goes():
    drift = [1.0, 1.3, 0.8, 1.6, 1.1]
    base = by_round(*(2.0 * d for d in drift))
    row = by_round(*(1.0 * d for d in drift))
    ratio = stats.speed_ratio(base, row)
    assert ratio.value == pytest.approx(2.0)
    assert ratio.half_width == pytest.approx(0.0, abs=1e-9)
    assert ratio.surely_faster
    assert not ratio.surely_slower


def test_rounds_that_only_one_has_do_not_count():
    ratio = stats.speed_ratio({1: 2.0, 2: 2.0, 3: 2.0, 4: 100.0}, {1: 1.0, 2: 1.0, 3: 1.0, 9: 1e-6})
    assert (ratio.n, ratio.value) == (3, pytest.approx(2.0))
    assert ratio.paired
    assert stats.speed_ratio({1: 1.0}, {2: 1.0}) is None
    assert stats.speed_ratio({1: 2.0}, {1: 1.0}).low is None


@given(ROUNDS, ROUNDS)
def test_a_ratio_turned_round_is_its_inverse(first, second):
    ratio, inverse = stats.speed_ratio(first, second), stats.speed_ratio(second, first)
    if ratio is not None:
        assert ratio.value * inverse.value == pytest.approx(1.0)
        assert ratio.surely_faster == inverse.surely_slower
        if ratio.low is not None:
            # an interval of three wild rounds can be wider than a float: its ends are then 0 and infinity
            assert ratio.low <= ratio.value <= ratio.high


@given(st.lists(ROUNDS, min_size=1, max_size=8))
def test_ranks_are_places_shared_only_with_what_does_not_surely_beat_the_row(rows):
    rows.sort(key=lambda rounds: statistics.median(rounds.values()))
    places = stats.ranks(rows)
    assert places[0].place == 1
    for at, rank in enumerate(places):
        assert rank.place <= at + 1
        assert not stats.is_surely_slower(rows[at], rows[rank.place - 1])
        assert rank.shared == ([other.place for other in places].count(rank.place) > 1)
        leaders = [place - 1 for place in {other.place for other in places[:at]} if place < rank.place]
        assert all(stats.is_surely_slower(rows[at], rows[leader]) for leader in leaders)


@given(st.lists(ROUNDS, min_size=1, max_size=6), st.floats(0.001, 1000))
def test_ranks_do_not_depend_on_the_unit(rows, scale):
    rows.sort(key=lambda rounds: statistics.median(rounds.values()))
    scaled = [{at: value * scale for at, value in row.items()} for row in rows]
    # a ratio whose interval ends exactly at 1 may turn with the last bit of the arithmetic
    edges = [stats.speed_ratio(a, b) for a in rows for b in rows if a is not b]
    near = any(r and r.low and r.high and min(abs(math.log(r.low)), abs(math.log(r.high))) < 1e-8 for r in edges)
    assert near or stats.ranks(rows) == stats.ranks(scaled)


def test_a_chain_of_near_neighbours_does_not_lift_the_last():
    jitter = [0.0, 0.01, -0.01, 0.005, -0.005]
    first = by_round(*(1.00 + d for d in jitter))
    second = by_round(*(1.008 - d for d in jitter))
    third = by_round(*(1.02 + d for d in jitter))
    assert not stats.is_surely_slower(second, first)
    assert not stats.is_surely_slower(third, second)
    assert stats.is_surely_slower(third, first)
    assert stats.ranks([first, second, third]) == [Rank(1, True), Rank(1, True), Rank(3, False)]


def test_equal_rounds_tie():
    assert stats.ranks([by_round(1, 1, 1), by_round(1, 1, 1)]) == [Rank(1, True), Rank(1, True)]


def test_what_failed_in_different_rounds_does_not_make_two_cases_equal():
    slow, fast = {1: 9.0, 2: 9.1, 3: 8.9}, {3: 1.0, 4: 1.01, 5: 0.99}
    ratio = stats.speed_ratio(slow, fast)
    assert (ratio.n, ratio.paired) == (3, False)
    assert ratio.value == pytest.approx(9.0, rel=0.01)
    assert stats.is_surely_slower(slow, fast)
    assert not stats.is_surely_slower({1: 9.0, 2: 9.1}, fast)
    assert stats.speed_ratio({1: 9.0, 2: 9.1}, fast) is None


def test_where_rounds_decided_their_number_the_first_six_make_the_interval():
    row = by_round(1.0, 1.02, 1.0, 1.02, 1.0, 1.02, 1.01, 1.01)
    base = by_round(*[1.0] * 8)
    spread = math.log(1.02) * math.sqrt(6 / 4 / 5)
    half = 2.570582 * spread / math.sqrt(8)
    ratio = stats.speed_ratio(base, row, first=6)
    assert ratio.resolves == pytest.approx(math.expm1(half), rel=1e-5)
    assert stats.speed_ratio(base, row).resolves < ratio.resolves
    figure = stats.case_figure(list(row.values()), first=6)
    assert math.log(figure.high_s / figure.low_s) == pytest.approx(2 * half, rel=1e-5)


def test_a_row_resolves_what_half_of_its_intervals_are_wide():
    noise = random.Random(4)
    base, row, calm = (by_round(*(math.exp(noise.gauss(0, cv)) for _ in range(6))) for cv in (0.01, 0.03, 0.001))
    assert stats.row_resolves(row, [base]) == stats.speed_ratio(base, row).resolves
    both = sorted(stats.speed_ratio(base, other).resolves for other in (row, calm))
    assert stats.row_resolves(base, [row, calm]) == pytest.approx(sum(both) / 2)
    assert stats.row_resolves(row, [{1: 1.0}]) is None
    assert stats.row_resolves(row, []) is None


def test_resolvable_difference_is_the_typical_half_width():
    noise = random.Random(3)
    rows = [by_round(*(math.exp(noise.gauss(0, 0.01)) for _ in range(5))) for _ in range(8)]
    found = stats.resolvable_difference(rows)
    # sd of a difference 0.014, t(4) 2.776: 2.776 × 0.0141 / √5 = 1.76 %
    assert found == pytest.approx(0.0176, rel=0.4)
    assert stats.resolvable_difference(rows[:1]) is None


def test_twins_differ_by_their_ratio_whichever_comes_first():
    fast, slow = by_round(1.0, 1.0, 1.0), by_round(1.02, 1.02, 1.02)
    assert stats.false_difference(fast, slow) == pytest.approx(0.02)
    assert stats.false_difference(slow, fast) == pytest.approx(0.02)
    assert stats.false_difference({1: 1.0}, {1: 1.0}) is None


ONE, TWO = Rank(1, False), Rank(2, False)
SHARED = Rank(1, True)


@pytest.mark.parametrize(
    ("places", "base", "word", "ties"),
    [
        ([ONE, TWO], 1, Sureness.SURE, 0),
        ([ONE, TWO], 0, Sureness.SURE, 0),
        ([SHARED, SHARED, Rank(3, False)], 2, Sureness.SURE, 1),
        ([SHARED, SHARED, Rank(3, False)], 1, Sureness.TIE, 1),
        ([SHARED, SHARED], 0, Sureness.TIE, 1),
        ([SHARED, SHARED], None, Sureness.TIE, 1),
        ([ONE, TWO], None, Sureness.SURE, 0),
        ([ONE], 0, Sureness.NO_ANSWER, 0),
        ([], None, Sureness.NO_ANSWER, 0),
    ],
)
def test_verdict(places, base, word, ties):
    found = stats.verdict(places, base)
    assert (found.sureness, found.ties) == (word, ties)
    assert (found.reason == "") == (word is Sureness.SURE)

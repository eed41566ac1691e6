import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from orchestrator.measure.interval import FIRST_STAGE, Method, difference, interval, t_quantile
from orchestrator.measure.stopping import rounds_needed

RUNS = 3000
TOLERANCE = 3.5 * math.sqrt(0.95 * 0.05 / RUNS)
"""3.5 standard errors of a share of 0.95."""


def test_a_fixed_number_is_student_as_scipy_has_it():
    logs = [0.3, -0.1, 0.25, 0.9, -0.6]
    low, high = scipy_stats.t.interval(0.95, 4, loc=np.mean(logs), scale=scipy_stats.sem(logs))
    found = interval(logs)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert (found.n, found.freedom, found.method) == (5, 4, Method.STUDENT)


def test_two_stages_take_the_spread_of_the_first_rounds_and_the_mean_of_all():
    logs = [0.0, 0.2, 0.0, 0.2, 0.0, 0.2, 0.11, 0.09]
    found = interval(logs, first=6)
    assert found.centre == pytest.approx(np.mean(logs))
    assert found.half == pytest.approx(2.5705818 * np.std(logs[:6], ddof=1) / math.sqrt(8))
    assert (found.freedom, found.method) == (5, Method.STEIN)


def test_a_phone_that_gets_restless_later_has_the_wider_interval():
    logs = [0.0, 0.2, 0.0, 0.2, 0.0, 0.2, 5.0, -5.0]
    assert interval(logs, first=6) == interval(logs)


def test_before_the_second_stage_both_are_the_same():
    logs = [0.3, -0.1, 0.25, 0.9, -0.6, 0.1]
    assert interval(logs, first=6) == interval(logs)
    assert interval(logs[:4], first=6) == interval(logs[:4])


def test_an_unpaired_difference_is_welch_as_scipy_has_it():
    first, second = [0.3, -0.1, 0.25, 0.9], [1.2, 3.1, 2.2, 0.1, 0.4]
    told = scipy_stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    found = difference(first, second)
    assert (found.low, found.high) == (pytest.approx(told.low), pytest.approx(told.high))
    assert found.n == 4
    assert difference([1.0] * 3, [0.5] * 3).half == 0.0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_two_values_have_no_interval(n):
    with pytest.raises(ValueError, match="needs 3 rounds"):
        interval([0.0] * n)
    with pytest.raises(ValueError, match="needs 3 rounds"):
        difference([0.0] * n, [0.0] * 3)


def stopped(dice, spread, *, plain):
    """One case stopped by its own spread: its interval around a truth of 0."""
    logs = list(dice.normal(0.0, spread, 400))
    logs = logs[: rounds_needed(logs, 0.01, cap=400)]
    return interval(logs) if plain else interval(logs, first=FIRST_STAGE)


@pytest.mark.parametrize("spread", [0.006, 0.01, 0.013, 0.02])
def test_after_stopping_the_interval_covers_in_95_of_100(spread):
    dice = np.random.default_rng(20261121)
    covered = sum(
        abs(found.centre) <= found.half for found in (stopped(dice, spread, plain=False) for _ in range(RUNS))
    )
    assert 0.95 - TOLERANCE <= covered / RUNS <= 0.96 + TOLERANCE


def looked_at_each_round(dice, spread):
    """What is not done here: Student's t after every round until it is narrow enough."""
    logs = list(dice.normal(0.0, spread, 3))
    while (found := interval(logs)).half > 0.01 and len(logs) < 200:
        logs.append(dice.normal(0.0, spread))
    return found


def test_the_plain_way_of_stopping_would_fail_the_same_test():
    dice = np.random.default_rng(1)
    found = [looked_at_each_round(dice, 0.01) for _ in range(1500)]
    assert sum(abs(one.centre) <= one.half for one in found) / 1500 < 0.93


def test_the_ratio_of_two_cases_each_stopped_by_itself_covers_too():
    dice = np.random.default_rng(7)
    covered = 0
    for _ in range(RUNS):
        heat = dice.normal(0.0, 0.01, 400)
        pair = [dice.normal(0.0, spread, 400) + heat for spread in (0.005, 0.015)]
        n = min(rounds_needed(list(logs), 0.01, cap=400) for logs in pair)
        found = interval(list((pair[0] - pair[1])[:n]), first=FIRST_STAGE)
        covered += abs(found.centre) <= found.half
    assert 0.95 - TOLERANCE <= covered / RUNS <= 0.96 + TOLERANCE


def test_quantiles_are_those_of_the_tables():
    assert t_quantile(2) == pytest.approx(4.302653, abs=1e-6)
    assert t_quantile(5) == pytest.approx(2.570582, abs=1e-6)

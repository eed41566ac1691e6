import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.measure.interval import FIRST_STAGE, SECOND_LOOK, t_quantile, variance
from orchestrator.measure.stopping import fixed_rounds, rounds_needed, rounds_of_cases

LOGS = st.lists(st.floats(-8.0, 2.0), min_size=0, max_size=20)


def test_the_number_is_the_one_of_a_hand_calculation():
    # spread 0.06 over 6 values; t(5) = 2.570582: (2.570582 * 0.06 / log 1.05)² = 9.99
    logs = [0.06 * x / math.sqrt(1.2) for x in (1, -1, 1, -1, 1, -1)]
    assert rounds_needed(logs, 0.05, cap=100) == 10
    assert rounds_needed(logs, 0.05, cap=8) == 8


def test_a_noisy_case_is_looked_at_again_after_twice_the_first_rounds():
    # spread 0.1 over 6 values asks for 27.76, so 12 decide; t(11) = 2.200985: (2.200985 * 0.1 / log 1.05)² = 20.35
    first = [0.1 * x / math.sqrt(1.2) for x in (1, -1, 1, -1, 1, -1)]
    second = [0.1 * x / math.sqrt(12 / 11) for x in (1, -1) * 6]
    assert rounds_needed(first, 0.05, cap=100) == 100, "not decided yet: none may be left out"
    assert rounds_needed(second, 0.05, cap=100) == 21
    assert rounds_needed(second, 0.05, cap=20) == 20
    assert rounds_needed([*first, *[0.0] * 6], 0.05, cap=100) == 12, (
        "what the second look finds needless is not taken back"
    )
    assert rounds_needed(first, 0.05, cap=12) == 12


def test_rounds_that_agree_need_no_more_than_the_first():
    assert rounds_needed([0.0] * 6, 0.01, cap=50) == 6
    assert rounds_needed([0.0, 0.5], 0.01, cap=50) == 6
    assert rounds_needed([0.0, 0.5], 0.01, cap=4) == 4


@pytest.mark.parametrize(("target", "first"), [(0.0, 6), (-0.1, 6), (math.nan, 6), (0.1, 2)])
def test_what_has_no_meaning_is_refused(target, first):
    with pytest.raises(ValueError, match="are needed"):
        rounds_needed([0.0] * 6, target, first=first, cap=9)


@given(LOGS, LOGS, st.floats(0.001, 0.5), st.integers(1, 60))
def test_later_rounds_never_change_the_number(logs, more, target, cap):
    needed = rounds_needed(logs, target, cap=cap)
    assert min(FIRST_STAGE, cap) <= needed <= cap
    if len(logs) >= FIRST_STAGE * SECOND_LOOK:
        assert rounds_needed([*logs, *more], target, cap=cap) == needed


@given(st.lists(st.floats(-8.0, 2.0), min_size=12, max_size=12), st.floats(0.001, 0.5))
def test_the_interval_at_that_number_is_as_narrow_as_asked(logs, target):
    needed = rounds_needed(logs, target, cap=10_000_000)
    if needed < 3000:
        stages = [logs[:6]] if needed < 12 else [logs] if needed > 12 else [logs[:6], logs]  # 12 may be either's answer
        half = min(t_quantile(len(one) - 1) * math.sqrt(variance(one)) / math.sqrt(needed) for one in stages)
        assert half <= math.log1p(target) * (1 + 1e-6)


def test_what_all_cases_meet_in_a_round_is_no_reason_for_more():
    heat = [1.0, 1.2, 1.4, 1.5, 1.55, 1.56]
    rounds = {name: {at: speed * h for at, h in enumerate(heat)} for name, speed in (("base", 1.0), ("row", 0.9))}
    assert rounds_of_cases(rounds, "base", 0.01, cap=50) == {"row": 6, "base": 6}
    assert rounds_of_cases(rounds, None, 0.01, cap=50) == {"row": 50, "base": 50}


def test_the_baseline_lasts_as_long_as_the_noisiest():
    dice = random.Random(5)
    rounds = {
        name: {at: math.exp(dice.gauss(0.0, spread)) for at in range(6)}
        for name, spread in (("base", 0.001), ("calm", 0.001), ("noisy", 0.03))
    }
    needed = rounds_of_cases(rounds, "base", 0.02, cap=50)
    assert needed["calm"] == 6
    assert needed["noisy"] == needed["base"] > 6


def test_a_case_that_missed_rounds_of_the_baseline_is_judged_alone():
    rounds = {"base": {at: 1.0 for at in range(6)}, "row": {at: 1.0 for at in (0, 1, 2, 3, 4, 9)}}
    assert rounds_of_cases(rounds, "base", 0.01, cap=50) == {"row": 6, "base": 6}


@pytest.mark.parametrize("spread", [0.0, 0.003, 0.02, 0.05])
def test_a_fixed_number_is_the_least_that_is_precise_enough(spread):
    from scipy.stats import t

    n = fixed_rounds(spread, 0.01)
    assert t.ppf(0.975, n - 1) * spread / math.sqrt(n) <= math.log1p(0.01)
    assert n == 3 or t.ppf(0.975, n - 2) * spread / math.sqrt(n - 1) > math.log1p(0.01)

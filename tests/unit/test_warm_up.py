import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from android_runner.warm_up import LEAST_DROPPED, WarmUp, warm_up


def noisy(count, cv=0.01, level_s=0.004):
    return level_s * np.exp(np.random.default_rng(count).normal(0.0, cv, count))


@pytest.mark.parametrize(("count", "dropped"), [(1, 0), (7, 0), (8, 3), (15, 3)])
def test_a_few_iterations_tell_nothing(count, dropped):
    assert warm_up(noisy(count)) == WarmUp(dropped, None)


@pytest.mark.parametrize("count", [16, 50, 500, 20_000])
@pytest.mark.parametrize("cv", [0.0, 0.01, 0.3])
def test_a_process_that_is_flat_at_once_loses_the_least(count, cv):
    assert warm_up(noisy(count, cv)) == WarmUp(LEAST_DROPPED, True)


@pytest.mark.parametrize("slow", [10, 40])
def test_a_slow_beginning_is_dropped_whole(slow):
    latencies = noisy(400)
    latencies[:slow] *= 1.5
    found = warm_up(latencies)
    # the running median of 20 is flat as soon as more than half of it lies behind the slow ones
    assert slow - 10 <= found.dropped <= slow + 4
    assert found.flat


def test_a_process_that_slows_down_all_along_is_never_flat():
    latencies = noisy(400) * np.linspace(1.0, 1.4, 400)
    assert warm_up(latencies) == WarmUp(LEAST_DROPPED, False)


def test_a_step_in_the_middle_is_no_warm_up():
    latencies = noisy(400)
    latencies[250:] *= 1.25
    assert warm_up(latencies).flat is False


def test_a_few_late_outliers_are_no_warm_up():
    latencies = noisy(400)
    latencies[300:310] *= 20
    assert warm_up(latencies) == WarmUp(LEAST_DROPPED, True)


@given(hnp.arrays(np.float64, st.integers(0, 400), elements=st.floats(0.0, 1e6)))
def test_whatever_a_phone_sends_more_than_a_third_is_left(latencies):
    found = warm_up(latencies)
    assert 0 <= found.dropped <= max(LEAST_DROPPED, latencies.size // 2)
    assert latencies.size - found.dropped >= latencies.size / 3
    if not found.flat:
        assert found.dropped in (0, LEAST_DROPPED)

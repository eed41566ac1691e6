"""Steps of known series, against the definition of the fit and against what is true of the series."""

from __future__ import annotations

import math
import random
import statistics
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.measure import steps as module
from orchestrator.measure.steps import Piece, steps


def noisy(seed: int, levels: list[tuple[int, float]], spread: float, rho: float = 0.0) -> list[float]:
    dice = random.Random(seed)
    values, last = [], 0.0
    for count, level in levels:
        for _ in range(count):
            last = rho * last + math.sqrt(1 - rho**2) * dice.gauss(0.0, spread)
            values.append(level + last)
    return values


def where(values: list[float]) -> list[int]:
    return [one.first for one in steps(values)][1:]


def test_few_values_are_one_piece() -> None:
    assert steps([]) == ()
    assert steps([3.0]) == (Piece(first=0, end=1, level=3.0, spread=0.0),)
    assert steps([1.0, 2.0]) == (Piece(first=0, end=2, level=1.5, spread=0.5),)
    assert steps([1.0] * 50) == (Piece(first=0, end=50, level=1.0, spread=0.0),)


@pytest.mark.parametrize("at", [5, 45, 85])
def test_a_step_is_found_where_it_is(at: int) -> None:
    for seed in range(10):
        found = steps(noisy(seed, [(at, 0.0), (90 - at, 0.05)], 0.008))
        assert [one.first for one in found] == [0, at]
        assert found[1].level - found[0].level == pytest.approx(0.05, abs=0.015)


def test_several_steps_up_and_down() -> None:
    for seed in range(5):
        values = noisy(seed, [(20, 0.0), (20, 0.06), (20, -0.04), (20, 0.02)], 0.006)
        assert where(values) == [20, 40, 60]


def test_no_step_in_noise_also_where_neighbours_resemble_each_other() -> None:
    assert sum(bool(where(noisy(seed, [(90, 0.0)], 0.01))) for seed in range(20)) <= 1
    assert sum(bool(where(noisy(seed, [(90, 0.0)], 0.01, rho=0.4))) for seed in range(20)) <= 4


def test_one_odd_night_is_no_step() -> None:
    for seed in range(5):
        values = noisy(seed, [(60, 0.0)], 0.005)
        values[30] += 0.2
        assert where(values) == []


def brute(values: list[float], cuts: int) -> float:
    """The least sum of distances of all ways to cut so often, pieces of two and more."""
    best = math.inf
    for places in combinations(range(1, len(values)), cuts):
        edges = [0, *places, len(values)]
        pieces = [values[a:b] for a, b in pairwise(edges)]
        if all(len(piece) >= module.LEAST for piece in pieces):
            told = sum(abs(v - statistics.median(piece)) for piece in pieces for v in piece)
            best = min(best, told)
    return best


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-20, 20).map(float), min_size=4, max_size=9))
def test_each_fit_is_the_best_of_all(values: list[float]) -> None:
    fits = module._fit(values, module.distances(values), 12)
    assert len(fits) == len(values) // 2
    for cuts in fits:
        edges = [0, *cuts, len(values)]
        told = sum(abs(v - statistics.median(values[a:b])) for a, b in pairwise(edges) for v in values[a:b])
        assert told == pytest.approx(brute(values, len(cuts)), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_pieces_cover_the_series_in_order(values: list[float]) -> None:
    found = steps(values)
    assert [one.first for one in found] == [0, *[one.end for one in found[:-1]]]
    assert found[-1].end == len(values)
    assert all(min(values) <= one.level <= max(values) for one in found)

"""The regression experiment in small: series are what they are said to be, both rules see what can't be missed."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest

from benchmarks.asv_rule import Potts, regressions
from benchmarks.regressions import Score, Total, asv_name, asvs, judged, ours, quiet_of, rows
from benchmarks.simulated_nights import NIGHTS, SIZES, Truth, phones


@pytest.fixture(scope="module")
def quiet() -> list[Truth]:
    (first,) = phones(0.005, 0.05, 1)
    return first


def test_series_are_drawn_as_they_are_described(quiet: list[Truth]) -> None:
    (again,) = phones(0.005, 0.05, 1)
    assert again == quiet
    for truth in quiet:
        assert truth.step_at is not None
        assert (len(truth.nights), len(truth.asked_again)) == (NIGHTS, NIGHTS)
        assert len(set(truth.systems[truth.step_at - 15 :])) == 1
        assert len({one.circumstances.fingerprint for one in truth.nights}) == truth.systems[-1] + 1
    noise = [
        statistics.stdev(
            math.log(statistics.median(b.rounds_s) / statistics.median(a.rounds_s))
            for a, b in zip(truth.nights, truth.nights[1:], strict=False)
            if a.rounds_s and b.rounds_s
        )
        for phone in phones(0.03, 0.0, 2)
        for truth in phone
    ]
    assert 0.025 < statistics.median(noise) < 0.05


def test_the_rule_is_scored_by_what_is_true(quiet: list[Truth]) -> None:
    scores = [ours(one) for one in quiet]
    total = Total.of(scores)
    assert total.steps == len(quiet)
    assert total.found >= 8
    assert total.false <= 2
    blind = [replace(one, step_at=20) for one in quiet]
    assert Total.of([ours(one) for one in blind]).found <= 2, "a step that is not there is not found"
    nowhere = [ours(replace(one, step_at=None)) for one in quiet]
    assert [one.found for one in nowhere] == [None] * len(quiet)
    assert Total.of(nowhere).false >= 8, "a step that nobody knows of is a false alarm"


def test_asvs_rule_sees_a_step_that_is_larger_than_its_threshold() -> None:
    values = [10.0, 10.2, 9.9, 10.1, 9.8, 10.0, 10.1] * 3 + [11.0, 11.2, 10.9, 11.1, 11.3, 11.0]
    potts = Potts(values)
    assert [(one.first, one.end) for one in potts.pieces(len(values))] == [(0, 21), (21, 27)]
    assert regressions(potts.pieces(len(values))) == [21]
    assert regressions(potts.pieces(len(values)), threshold=0.2) == []
    assert regressions(potts.pieces(21)) == []
    undone = Potts([*values, *values[:10]])
    assert regressions(undone.pieces(len(values) + 10)) == []


def test_asvs_rule_is_scored_like_ours(quiet: list[Truth]) -> None:
    total = Total.of([asvs(one, 0.01) for one in quiet[:3]])
    assert total.steps == 3
    assert total.nights > 60


def test_the_table_has_a_line_for_each_noise_and_a_column_for_each_step() -> None:
    told = {
        (noise, step): {
            "ours": [Score(nights=100, false=0, asked=1, found=None if step == 0 else noise <= 0.01)],
            asv_name(0.05): [Score(nights=100, false=1, found=None if step == 0 else False)],
            asv_name(0.01): [Score(nights=100, false=1, found=None if step == 0 else False)],
        }
        for noise in SIZES
        for step in (0.0, *SIZES)
    }
    alarms, steps = rows(told, told)
    assert (alarms.met, alarms.figure, steps.met, steps.figure) == (True, "0.00", True, "100.0%")
    assert quiet_of(told).steps == 2
    assert " 1.0%         0.00         100%     100%     100%     100%     100%" in alarms.detail
    assert "all          10.00    (30 in 3,000 case-nights, 0 of them while the phone was slow)" in steps.detail
    cell, rules = judged(((0.005, 0.05), 1, 5))
    assert (cell, len(rules["ours"]), len(rules[asv_name(0.05)])) == ((0.005, 0.05), 10, 0)

"""The experiment of `python -m benchmarks tuning`, smaller: its pairs, its phone, its ways."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.tuning import one_pair, rows_of, space_of_pair
from benchmarks.tuning_phone import TuningPhone, regret
from benchmarks.tuning_truth import FEWEST_CELLS, SPACES, draw_pair
from orchestrator.tuning.attempts import How
from orchestrator.tuning.goal import Objective


def test_pairs_are_large_differ_and_stay_what_they_are() -> None:
    pairs = [draw_pair(f"test/{seed}") for seed in range(30)]
    assert {pair.kind for pair in pairs} == set(SPACES)
    for pair in pairs:
        assert FEWEST_CELLS <= len(pair.cells) == len(space_of_pair(pair))
        assert np.isfinite(pair.log_s).all()
        assert regret(pair, int(np.where(pair.fails, np.inf, pair.log_s).argmin())) == 0.0
        assert regret(pair, None) == math.inf
    again = draw_pair("test/0")
    assert (again.log_s == pairs[0].log_s).all()
    assert len({pair.best for pair in pairs}) == 30


def test_there_are_interactions() -> None:
    """No sum of effects of single axes explains a pair."""
    for seed in range(5):
        pair = draw_pair(f"test/{seed}")
        columns = [pair.cells[:, [axis]] == np.arange(len(levels)) for axis, levels in enumerate(pair.axes.values())]
        design = np.hstack(columns).astype(float)
        left = pair.log_s - design @ np.linalg.lstsq(design, pair.log_s, rcond=None)[0]
        assert left.std() > 0.02


def test_the_phone_pays_for_everything_and_fails_where_it_must() -> None:
    seed = next(f"test/{n}" for n in range(200) if draw_pair(f"test/{n}").fails.any())
    pair = draw_pair(seed)
    phone = TuningPhone(pair, seed)
    failing, working = int(pair.fails.argmax()), int(np.flatnonzero(~pair.fails)[0])
    attempts = phone.run([failing, working], 1, rest_s=10.0)
    assert [one.how for one in attempts] == [How.FAILED, How.MEASURED]
    assert phone.spent_s == pytest.approx(sum(one.took_s for one in attempts))
    assert phone.spent_s > 10.0 + 2.0
    found = attempts[1].figures[Objective.P50] / math.exp(pair.log_s[working])
    assert 0.7 < found < 1.5


def test_one_pair_of_the_experiment() -> None:
    seen = one_pair(1, ["random search", "halving"], name="test")
    assert seen.regrets["ours"] <= 0.05  # 2 % are promised of 95 in 100 pairs, not of each
    assert seen.share <= 0.15
    found, cost = rows_of([seen], ["random search", "halving"])
    assert found.met == (seen.regrets["ours"] <= 0.02)
    assert cost.met
    assert "halving" in found.detail

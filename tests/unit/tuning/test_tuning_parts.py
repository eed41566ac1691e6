"""The search's parts: fraction, surrogate, front, spaces of plans."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from android_runner.ort import ExecutionProvider, NnapiFlag
from android_runner.settings import SessionSettings
from orchestrator.plan.case import Case
from orchestrator.tuning.attempts import Attempt, How
from orchestrator.tuning.cases import space_of_cases
from orchestrator.tuning.fraction import fraction, fraction_size
from orchestrator.tuning.front import front_of, known_share, possible_fronts
from orchestrator.tuning.goal import Goal, Objective
from orchestrator.tuning.search import Ended, Search
from orchestrator.tuning.space import Space, space_of
from orchestrator.tuning.surrogate import Data, Surrogate, _Problem


def product(*sizes: int) -> Space:
    words = [{f"axis{at}": str(level) for at, level in enumerate(row)} for row in itertools.product(*map(range, sizes))]
    return space_of([" ".join(said.values()) for said in words], words)


def test_a_fraction_has_all_levels_about_equally_often_and_most_pairs_of_them() -> None:
    space = product(5, 4, 3, 2, 2)
    size = fraction_size(space)
    chosen = fraction(space, size, seed=1)
    assert len(set(chosen)) == size < len(space)
    for axis, knob in enumerate(space.axes):
        counts = Counter(space.cells[cell][axis] for cell in chosen)
        assert len(counts) == len(knob.levels)
        assert max(counts.values()) - min(counts.values()) <= 3
    pairs = {(space.cells[cell][0], space.cells[cell][1]) for cell in chosen}
    assert len(pairs) == 20
    assert fraction(space, 7, seed=1, without=chosen[:5])[:1] != chosen[:1]
    assert not set(fraction(space, 7, seed=1, without=chosen[:5])) & set(chosen[:5])
    assert fraction(space, 7, seed=2) != chosen[:7]
    assert len(fraction(product(2), 9, seed=0)) == 2


def some_data(space: Space, seed: int, count: int = 40) -> Data:
    dice = np.random.default_rng(seed)
    cells = dice.integers(0, len(space), count)
    levels = np.array(space.cells)
    logs = dice.normal(0, 0.4, 5)[levels[cells, 0]] + dice.normal(0, 0.01, count)
    return Data(cells=cells, at_s=np.arange(count) * 3.0, logs=logs)


def test_the_slope_of_the_evidence_is_that_of_its_values() -> None:
    space = product(3, 4, 2)
    levels = np.array(space.cells)
    data = some_data(space, 1)
    prior = np.random.default_rng(5).normal(size=len(space))
    problem = _Problem(levels[data.cells], prior[data.cells], data, data.logs - data.logs.mean())
    at = Surrogate(levels, prior, 0.5)._centre()
    _, slope = problem.evidence(at)
    for place in range(len(at)):
        step = np.zeros(len(at))
        step[place] = 1e-5
        found = (problem.evidence(at + step)[0] - problem.evidence(at - step)[0]) / 2e-5
        assert math.isclose(found, slope[place], rel_tol=1e-4, abs_tol=1e-5)


def test_what_is_believed_is_what_the_normal_distribution_says() -> None:
    """By brute force: the mean and covariance of all cells given the processes, from their joint distribution."""
    space = product(3, 2)
    levels = np.array(space.cells)
    data = some_data(space, 2, 9)
    model = Surrogate(levels)
    theta = model.fitted(data, 0)
    belief = model.believed(theta, data, len(space))
    c, effects, (residual, drift, noise, _) = math.exp(theta[0]), np.exp(theta[1:3]), np.exp(theta[3:])

    def shared(one: int, two: int) -> float:
        found = c
        for axis in range(2):
            found *= 1 + effects[axis] * (levels[one, axis] == levels[two, axis])
        return float(found + residual * (one == two) + 1.0)

    cells, count = data.cells.tolist(), len(data)
    apart = np.abs(data.at_s[:, None] - data.at_s[None, :]) * math.sqrt(3) / 240.0
    own = np.array([[shared(a, b) for b in cells] for a in cells])
    own += drift * (1 + apart) * np.exp(-apart) + noise * np.eye(count)
    cross = np.array([[shared(a, b) for b in cells] for a in range(len(space))])
    among = np.array([[shared(a, b) for b in range(len(space))] for a in range(len(space))])
    weights = cross @ np.linalg.inv(own)
    assert np.allclose(belief.mean, data.logs.mean() + weights @ (data.logs - data.logs.mean()), atol=1e-8)
    assert np.allclose(belief.covariance, among - weights @ cross.T, atol=1e-8)
    few = model.believed(theta, data, 2, without=[int(belief.mean.argmin())])
    assert len(few.cells) == 2
    assert int(belief.mean.argmin()) not in few.cells


logs_of = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.integers(0, 5).map(float))


@given(logs_of)
def test_a_front_is_what_nobody_beats(logs: np.ndarray) -> None:
    front = front_of(logs)
    for at in range(logs.shape[1]):
        beaten = any(
            (logs[:, o] <= logs[:, at]).all() and (logs[:, o] < logs[:, at]).any() for o in range(logs.shape[1])
        )
        if beaten:
            assert at not in front
        else:
            assert any((logs[:, one] == logs[:, at]).all() for one in front)
    assert known_share(logs[:, None, :], front, 0.0) == 1.0
    assert list(possible_fronts(logs[:, None, :])) == [front]


def test_how_often_a_front_is_known() -> None:
    draws = np.array([[[0.0, 0.01], [0.0, -0.05]]])  # one objective, two possible truths, two cells
    assert known_share(draws, [0], 0.02) == 0.5
    two = np.array([[[0.0, 1.0, 0.5]], [[1.0, 0.0, 0.5]]])
    assert known_share(two, [0, 1], 0.02) == 0.0
    assert known_share(two, [0, 1, 2], 0.02) == 1.0


def test_latency_and_memory_have_a_front() -> None:
    """Threads cost memory and save time; spinning does neither."""
    words = [{"threads": str(n), "spinning": word} for n in (1, 2, 3, 4, 6, 8) for word in ("on", "off")]
    space = space_of([" ".join(said.values()) for said in words], words)
    goal = Goal(budget_s=900.0, trial_s=3.0, objectives=(Objective.P50, Objective.MEMORY))
    search, attempts = Search(space, goal), []
    dice = np.random.default_rng(4)
    while not isinstance(step := search.next_step(attempts), Ended):
        for cell in step.cells:
            threads, spins = int(words[cell]["threads"]), words[cell]["spinning"] == "on"
            noise = np.exp(dice.normal(0, 0.01, 2))
            p50_s, memory = (0.1 / threads + (0 if spins else 0.02)) * noise[0], (4e7 + 1e7 * threads) * noise[1]
            attempts.append(
                Attempt(
                    cell=cell,
                    round=step.number,
                    at_s=3.0 * len(attempts),
                    took_s=3.0,
                    how=How.MEASURED,
                    figures={Objective.P50: p50_s, Objective.MEMORY: memory},
                )
            )
    standing = search.standing(attempts)
    assert standing is not None
    spinning = {at for at, said in enumerate(words) if said["spinning"] == "on"}
    assert spinning <= set(standing.front)
    assert standing.confidence >= 0.98
    # Of those that don't spin some lie within the noise of one thread more: no front is worse by more than 2 %.


def case(row: str, **settings: object) -> Case:
    return Case(
        model_name="m",
        variant_id=f"v-{row}",
        graph_digest="g",
        recipe_name="onnx",
        settings=SessionSettings(**settings),  # type: ignore[arg-type]
        binary_digest="b",
        inputs_digest="i",
        row=row,
    )


def test_a_plan_s_cases_are_a_space() -> None:
    cases = [
        case("default"),
        case("cpu 4t", intra_op_threads=4),
        case("nnapi fp16", provider=ExecutionProvider.NNAPI, nnapi_flags=(NnapiFlag.FP16,)),
        case("no arena", arena=False),
        replace(case("default again"), twin_of="default", again=True),
        replace(case("cpu (trace)"), timed=False, traced=True),
    ]
    space, ids = space_of_cases(cases, barred={cases[2].case_id: "out of tolerance: 3 % off"})
    assert space.names == ("default", "cpu 4t", "nnapi fp16", "no arena")
    assert ids == tuple(one.case_id for one in cases[:4])
    assert {axis.name: axis.levels for axis in space.axes} == {
        "ep": ("cpu", "nnapi fp16"),
        "threads": ("default", "4"),
        "arena": ("on", "off"),
    }
    assert space.baseline == 0
    assert dict(space.barred) == {2: "out of tolerance: 3 % off"}


def test_effects_that_drown_the_noise_are_no_end_of_it() -> None:
    space = product(3, 4, 2)
    levels = np.array(space.cells)
    data = some_data(space, 3)
    same = replace(data, cells=np.zeros_like(data.cells))
    problem = _Problem(levels[same.cells], np.zeros(len(data)), same, data.logs)
    value, slope = problem.evidence(np.array([50.0, 5, 5, 5, -40, -40, -60, 0]))
    assert math.isfinite(value)
    assert np.isfinite(slope).all()
    belief = Surrogate(levels).believed(np.array([12.0, 9, 9, 9, -40, -40, -60, 0]), same, len(space))
    assert np.isfinite(belief.mean).all()

"""What a run's searches found, in words and as fields."""

from __future__ import annotations

import math

import pytest

from android_runner.settings import SessionSettings
from orchestrator.plan.case import Case
from orchestrator.report.blocks import Words
from orchestrator.report.lines import rendered
from orchestrator.report.searched import tune_report
from orchestrator.report.tune import TuneReport
from orchestrator.report.tune_text import tune_headline, tune_lines, tune_section
from orchestrator.store.hunts import Hopeless, Hunt
from orchestrator.tuning.attempts import Attempt, How
from orchestrator.tuning.goal import Goal, Objective

PHONE = {"phone": "A", "label": "B3", "device_model": "Pixel 8", "virtual": False}
SKIPPED = [{"phone": "A", "state": "skipped", "reason": "phone lost"}]


def hunt(*objectives: Objective, barred: tuple[str, ...] = ()) -> Hunt:
    cases = [
        Case(
            model_name="mnist", variant_id=f"v{at}", graph_digest="g", recipe_name=f"r{at}",
            settings=SessionSettings(), binary_digest="b", inputs_digest="i", row=f"row {at}",
        )
        for at in range(4)
    ]  # fmt: skip
    goal = Goal(budget_s=60.0, trial_s=1.0, objectives=objectives or (Objective.P50,))
    return Hunt("A", cases, goal, barred)


def attempts(rounds: int, figures: dict[int, tuple[float, float]], *, took_s: float = 1.0) -> list[Attempt]:
    return [
        Attempt(
            cell=cell, round=number, at_s=100.0 + number * 4 + cell, took_s=took_s, how=How.MEASURED,
            figures={
                Objective.P50: p50_s * math.exp(0.001 * (number % 3)),
                Objective.MEMORY: n_bytes * math.exp(0.001 * (number % 2)),
            },
        )
        for number in range(1, rounds + 1)
        for cell, (p50_s, n_bytes) in figures.items()
    ]  # fmt: skip


CLEAR = {0: (0.004, 5e7), 1: (0.005, 4e7), 2: (0.006, 6e7), 3: (0.007, 7e7)}


def report(one: Hunt, told: list[Attempt], state: str = "finished", trials: tuple = ()) -> TuneReport:
    found = tune_report([(one, told)], {"A": PHONE}, trials, state)
    assert found is not None
    return found


def test_nothing_was_searched_for() -> None:
    assert tune_report([], {}, (), "finished") is None


def test_the_best_is_known() -> None:
    found = report(hunt(), attempts(8, CLEAR))
    (answer,) = found.answers
    assert answer.known
    assert answer.winner is not None
    assert (answer.winner.row, answer.winner.rounds, answer.end) == ("row 0", 8, "the best is known")
    assert answer.runner_up is not None
    assert answer.runner_up.row == "row 1"
    assert answer.runner_up.behind == pytest.approx(0.25, abs=0.02)
    assert tune_headline(found).startswith("mnist on B3 Pixel 8: row 0, 4.00 ms, is the best of 4 settings (")
    said = rendered(tune_lines(found, 80), colour=False)
    assert max(map(len, said.splitlines())) <= 80
    assert "tried 4 of 4 settings in 32 processes, 32 s of 1 min 0 s: the best is known" in " ".join(said.split())


def test_the_budget_is_gone() -> None:
    found = report(hunt(), attempts(1, CLEAR, took_s=15.0))
    (answer,) = found.answers
    assert not answer.known
    assert answer.end == "the budget is gone"
    assert "leads 4 settings, not surely" in tune_headline(found)


def test_a_lost_phone_says_so_and_what_lacks() -> None:
    found = report(hunt(barred=("v3",)), attempts(2, {0: CLEAR[0], 1: CLEAR[1]}), trials=tuple(SKIPPED))
    (answer,) = found.answers
    assert answer.end == "cut off: phone lost"
    assert {lack.why: lack.settings for lack in answer.lacks} == {
        "out of tolerance": 1, "not run: what others showed says enough of them": 1,
    }  # fmt: skip
    (words,) = tune_section(found)
    assert isinstance(words, Words)
    assert "Lacks 1 setting: out of tolerance." in words.text


def test_where_no_setting_may_win_there_is_no_answer() -> None:
    one = Hopeless(phone="A", model="mnist", settings=4, why="no cell may win: out of tolerance", goal=hunt().goal)
    found = tune_report([(one, [])], {"A": PHONE}, (), "finished")
    assert found is not None
    assert tune_headline(found) == "mnist on B3 Pixel 8: no answer: no cell may win: out of tolerance."
    assert found.answers[0].lacks[0].settings == 4


def test_a_search_that_goes_on_and_one_without_figures() -> None:
    assert report(hunt(), attempts(1, {0: CLEAR[0]}), "running").answers[0].end == "it goes on"
    found = report(hunt(), [], trials=tuple(SKIPPED))
    assert tune_headline(found) == "mnist on B3 Pixel 8: no answer: cut off: phone lost."


def test_a_front_names_all_that_can_not_be_bettered() -> None:
    found = report(hunt(Objective.P50, Objective.MEMORY), attempts(8, CLEAR))
    (answer,) = found.answers
    assert {one.row for one in answer.front} == {"row 0", "row 1"}
    assert "2 settings of 4 can't be bettered in p50, memory (" in tune_headline(found)

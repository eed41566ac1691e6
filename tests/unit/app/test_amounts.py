"""Limits that are typed: over the plan's, by their names, with every problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.validity import Limits
from orchestrator.app.amounts import limits_of_words
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import Problem, UsageError


def test_what_is_typed_goes_over_the_plan_and_the_rest_stays(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('models = ["m.onnx"]\n[limits]\nmax_battery_c = 41.0\nmax_load = 1.5\n')
    typed = ("max_battery_c=39.5", "max_load=off", "gate_timeout_s=5", "max_battery_c = 40")
    wish = wish_of(RunOptions(things=(str(plan),), limit=typed))
    assert wish.plan.limits.changes() == {"max_battery_c": 40, "max_load": False, "gate_timeout_s": 5}
    limits = wish.plan.limits.over(Limits())
    assert (limits.max_battery_c, limits.max_load, limits.gate_timeout_s) == (40, None, 5)
    assert wish_of(RunOptions(things=(str(plan),))).plan.limits.changes() == {"max_battery_c": 41.0, "max_load": 1.5}


@pytest.mark.parametrize(
    "text",
    ["max_heat=3", "max_load", "max_load=", "max_load=warm", "max_load=[1]", "max_load=1\ny=2", "max_load=true",
     "max_load=-1", "gate_timeout_s=off", "gate_timeout_s=1.5", "max_battery_c=nan", "=3", "min_battery_level=101"],
)  # fmt: skip
def test_what_is_no_limit_is_said(text: str) -> None:
    problems: list[Problem] = []
    assert limits_of_words([text], problems).changes() == {}
    assert len(problems) == 1
    with pytest.raises(UsageError, match="--limit"):
        wish_of(RunOptions(things=("m.onnx",), limit=(text,)))

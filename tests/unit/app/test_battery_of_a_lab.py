"""`[battery]` of the lab's file: levels that make sense, over the lab's by phone, below the plan's."""

from __future__ import annotations

import pytest

from orchestrator.app.kept import Kept, kept_from_text, kept_to_text
from orchestrator.errors import UsageError
from orchestrator.lab import Battery, parse_lab

LAB = """
[battery]
hold_below = 40
resume_above = 60
[phones."R58"]
battery.hold_below = 20
battery.keep_level = 80
"""


def test_a_phones_levels_go_over_the_labs() -> None:
    lab = parse_lab(LAB, "lab.toml")
    assert lab.battery_of("other") == Battery(hold_below=40, resume_above=60)
    assert lab.battery_of("R58") == Battery(hold_below=20, resume_above=60, keep_level=80)
    assert lab.battery_of("R58").limits() == {"min_battery_level": 20, "battery_hysteresis": 40}
    assert parse_lab("", "lab.toml").battery_of("R58") == Battery()
    assert Battery().limits() == {}
    assert Battery(hold_below=40).limits() == {"min_battery_level": 40}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[battery]\nhold_below = 40\nresume_above = 30", "battery.resume_above"),
        ("[battery]\nresume_above = 30", "battery.resume_above"),
        ("[battery]\nhold_below = 40\nkeep_level = 39", "battery.keep_level"),
        ("[battery]\nhold_below = 60\nkeep_level = 50", "battery.keep_level"),
        ("[battery]\nhold_below = 0", "battery.hold_below"),
        ("[battery]\nhold_bellow = 40", "hold_below"),
        ('[phones."R58"]\nbattery.resume_above = 30', "phones.R58.battery.resume_above"),
    ],
)
def test_levels_that_make_no_sense_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_lab(text, "lab.toml")
    assert said in str(told.value)


def test_a_run_keeps_them_and_its_plan_goes_over_them() -> None:
    kept = Kept(
        rounds=6, seconds=2.0, iterations=None, seed=1, trace=False, devices=(), inputs={}, command="",
        limits={"min_battery_level": False}, lab_limits={"R58": {"min_battery_level": 20, "battery_hysteresis": 40}},
    )  # fmt: skip
    again = kept_from_text(kept_to_text(kept))
    assert again == kept
    assert again.limits_on("R58") == {"min_battery_level": False, "battery_hysteresis": 40}
    assert again.limits_on("other") == {"min_battery_level": False}

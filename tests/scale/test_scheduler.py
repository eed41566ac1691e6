"""The scheduler with many lanes: every story ends with one row a trial, whatever the lab does."""

from __future__ import annotations

import pytest

from benchmarks.scheduler import Story, trials_of
from orchestrator.farm.protocol import PhoneUp


@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_lanes_end_every_trial_once(seed: int) -> None:
    trials = trials_of(lanes=100, cases=10, rounds=5)
    told = Story(trials, seed).tell()
    assert told.finished
    assert set(told.rows) == {trial.trial_id for trial in trials}
    assert set(told.rows.values()) >= {"Measured", "Failed"}


def test_phones_that_come_and_go_at_random_leave_no_trial_without_its_one_row() -> None:
    stories = [Story(trials_of(lanes=100, cases=10, rounds=5), seed, plug=0.5).tell() for seed in range(5)]
    assert all(told.finished for told in stories)
    assert all(len(told.rows) == told.asked for told in stories)
    assert all(told.plugged > 20 for told in stories)
    assert sum(told.moved for told in stories) > 0


@pytest.mark.parametrize("stop_at", [0, 1, 99, 150, 333])
def test_a_stop_at_any_event_leaves_no_trial_without_its_row(stop_at: int) -> None:
    trials = trials_of(lanes=100, cases=5, rounds=5)
    told = Story(trials, 7, stop_at=stop_at).tell()
    assert told.finished
    assert len(told.rows) == len(trials)
    assert "Skipped" in told.rows.values()


def test_each_command_costs_what_its_lane_holds_not_what_the_farm_holds() -> None:
    """Counted, not timed: trials looked at by one event do not grow with the number of lanes."""

    def looks(lanes: int) -> int:
        story = Story(trials_of(lanes=lanes, cases=4, rounds=3), 1)
        counting = _Counting(story.state.lanes["phone0"].waiting)
        others = [_Counting(lane.waiting) for lane in story.state.lanes.values() if lane.phone != "phone0"]
        for lane, counted in zip(story.state.lanes.values(), [counting, *others], strict=True):
            lane.waiting = counted
        story.state.handle(PhoneUp("phone0"))
        assert all(other.looks == 0 for other in others)
        return counting.looks

    assert looks(1) == looks(50) > 0


def test_a_broken_state_is_noticed() -> None:
    story = Story(trials_of(lanes=3, cases=2, rounds=2), 1)
    lane = story.state.lanes["phone1"]
    lane.waiting.append(story.state.lanes["phone0"].waiting[0])
    with pytest.raises(AssertionError, match="another lane"):
        story.state.check()
    lane.waiting[-1] = lane.waiting[0]
    with pytest.raises(AssertionError, match="stands twice"):
        story.state.check_lane("phone1")


class _Counting(list):  # type: ignore[type-arg]
    """A list that counts how often it is gone through."""

    looks = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.looks += 1
        return super().__iter__()

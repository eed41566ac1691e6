"""Pure: what must hold of the farm's state after every event."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from orchestrator.farm.blocks import Lane, LaneState


def lane_holds(lane: Lane, ended: Collection[str]) -> set[str]:
    """Assert what an event of one phone can touch, at the cost of its lane; its open trials by id."""
    phone = lane.phone
    listed = [trial.trial_id for trial in lane.waiting]
    listed += [work.trial.trial_id for work in lane.running if work.trial is not None]
    ids = set(listed)
    assert len(ids) == len(listed), f"{phone}: a trial stands twice"
    assert not any(one in ended for one in ids), f"{phone}: an ended trial is still in its lane"
    assert all(trial.phone == phone for trial in lane.waiting), f"{phone}: a trial of another lane stands here too"
    assert lane.state is LaneState.AWAY or (lane.state is LaneState.RUNNING) == bool(lane.running), (
        f"{phone}: {lane.state}"
    )
    assert not (lane.state is LaneState.IDLE and lane.waiting), f"{phone}: idle while a trial waits"
    assert not (lane.state is LaneState.GONE and lane.waiting), f"{phone}: gone with trials waiting"
    return ids


def all_hold(lanes: Mapping[str, Lane], ended: Collection[str], open_trials: int) -> None:
    """Assert it of everything; costs a look at every trial."""
    seen: set[str] = set()
    for phone, lane in lanes.items():
        ids = lane_holds(lane, ended)
        assert seen.isdisjoint(ids), f"{phone}: a trial of another lane stands here too"
        seen |= ids
    assert len(seen) == open_trials, "open trials are counted wrong"

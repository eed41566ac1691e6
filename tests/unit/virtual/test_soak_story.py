"""The story of a soak: the same for the same seed, and as full as it must be."""

from __future__ import annotations

import pytest

from android_runner.virtual.fault_kinds import CATALOGUE
from tests.soak.story import FULL, NOT_DRAWN, SHORT, HostKilled, ServerKilled, Size, story


@pytest.mark.parametrize("size", [FULL, SHORT])
def test_the_same_seed_tells_the_same_story(size: Size) -> None:
    assert story(size, 11) == story(size, 11)
    assert story(size, 11) != story(size, 12)


@pytest.mark.parametrize("size", [FULL, SHORT])
def test_a_story_has_more_of_everything_than_must_have_been(size: Size) -> None:
    told = story(size, 5)
    kinds = [fault.kind for faults in told.faults for fault in faults]
    assert len(kinds) >= size.least[0]
    assert size.early_kills + sum(isinstance(one, HostKilled) for one in told.events) >= size.least[1]
    assert sum(isinstance(one, ServerKilled) for one in told.events) >= size.least[2]
    assert all(fault.step is None or fault.step in CATALOGUE[fault.kind].steps for one in told.faults for fault in one)
    assert all(0.0 <= one.at_s <= size.story_s for one in told.events)


def test_a_long_story_has_every_kind_that_may_be_drawn() -> None:
    told = story(FULL, 5)
    drawn = {fault.kind for faults in told.faults for fault in faults}
    assert len(frozenset(CATALOGUE) - NOT_DRAWN - drawn) <= 2, "the seldom ones may miss a story, no others"

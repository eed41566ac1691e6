"""Which epoch comes after what a phone's lease says."""

from __future__ import annotations

import pytest

from android_runner.lease import HIGHEST_EPOCH, epoch_above


@pytest.mark.parametrize(("there", "next_one"), [(0, 1), (1, 2), (41, 42)])
def test_an_epoch_is_above_what_the_phone_holds(there: int, next_one: int) -> None:
    assert epoch_above(there) == next_one


@pytest.mark.parametrize("there", [HIGHEST_EPOCH, HIGHEST_EPOCH - 1, HIGHEST_EPOCH + 7, -3])
def test_a_number_that_nobody_counted_to_does_not_use_up_the_epochs(there: int) -> None:
    """It once made every later epoch of a phone one that no lease takes."""
    assert epoch_above(there) == 1

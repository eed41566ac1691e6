"""Which rung comes next, in words that a lab's rules are made of."""

from __future__ import annotations

import itertools

import pytest

from android_runner.recovery.ladder import MENDS, next_rung, quarantine_s
from android_runner.recovery.rungs import Allowed, Means, Rung, Seen

EVERYTHING = Allowed(usb_reset=True, reboot=True, hub_power=True)
ALL_MEANS = Means(on_bus=True, hub_port=True, server_to_blame=True)
ENDS = (Rung.QUARANTINE, Rung.LEAVE)
INVASIVE = {Rung.USB_RESET, Rung.REBOOT, Rung.HUB_POWER, Rung.SERVER_RESTART}


def path(seen: Seen, allowed: Allowed = EVERYTHING, means: Means = ALL_MEANS) -> list[Rung]:
    """The rungs in their order when nothing helps."""
    tried: list[Rung] = []
    while not tried or tried[-1] not in ENDS:
        tried.append(next_rung(seen, tried, allowed, means))
    return tried


def test_a_phone_that_hangs_is_tried_with_everything_mildest_first() -> None:
    assert path(Seen.HUNG) == [
        Rung.WAIT, Rung.RECONNECT, Rung.USB_RESET, Rung.REBOOT, Rung.HUB_POWER, Rung.SERVER_RESTART, Rung.QUARANTINE,
    ]  # fmt: skip


def test_without_a_word_in_the_lab_s_file_a_phone_is_only_waited_for_and_reconnected() -> None:
    for seen in Seen:
        if seen is not Seen.ANSWERS:
            assert not INVASIVE & set(path(seen, Allowed(), Means(on_bus=True, hub_port=True)))


@pytest.mark.parametrize(
    ("allowed", "rung"),
    [
        (Allowed(usb_reset=True), Rung.USB_RESET),
        (Allowed(reboot=True), Rung.REBOOT),
        (Allowed(hub_power=True), Rung.HUB_POWER),
    ],
)
def test_each_word_allows_its_own_rung_and_no_other(allowed: Allowed, rung: Rung) -> None:
    assert INVASIVE & set(path(Seen.HUNG, allowed, Means(on_bus=True, hub_port=True))) == {rung}


def test_what_is_allowed_and_cannot_be_done_here_is_left_out() -> None:
    assert path(Seen.HUNG, EVERYTHING, Means()) == [Rung.WAIT, Rung.RECONNECT, Rung.REBOOT, Rung.QUARANTINE]


@pytest.mark.parametrize("seen", [Seen.UNAUTHORIZED, Seen.NO_PERMISSION, Seen.AMBIGUOUS, Seen.HELD, Seen.BOOTLOADER])
def test_where_a_person_must_act_nothing_is_tried_but_waiting(seen: Seen) -> None:
    assert path(seen) == [Rung.WAIT, Rung.LEAVE]


def test_another_phone_at_its_place_is_not_touched() -> None:
    assert path(Seen.STRANGER) == [Rung.LEAVE]


def test_an_updated_phone_waits_for_a_person_s_word_in_quarantine() -> None:
    assert path(Seen.UPDATED) == [Rung.QUARANTINE]
    assert quarantine_s(Seen.UPDATED) is None
    assert quarantine_s(Seen.HUNG) == 1800.0


def test_no_climb_tries_a_rung_twice_whatever_is_seen_on_the_way() -> None:
    """What is seen may change after every rung; a climb still ends."""
    views = [seen for seen in Seen if seen is not Seen.ANSWERS]
    for first, second in itertools.product(views, views):
        tried: list[Rung] = []
        for seen in itertools.islice(itertools.cycle([first, second]), 20):
            rung = next_rung(seen, tried, EVERYTHING, ALL_MEANS)
            if rung in ENDS:
                break
            assert rung not in tried
            tried.append(rung)
        else:
            pytest.fail(f"{first}, {second}: no end after {tried}")


def test_every_state_has_a_mend() -> None:
    assert set(MENDS) == set(Seen) - {Seen.ANSWERS}

"""Climbs in simulated time: what is tried, when, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from android_runner.deadline import Deadline
from android_runner.errors import LinkLost
from android_runner.recovery.climb import Climb, Climbed
from android_runner.recovery.rungs import Allowed, Means, Result, Rung, Seen, Sighting, Step
from android_runner.recovery.usb import RungFailed

HUNG, GONE, WELL = Sighting(Seen.HUNG, "silent"), Sighting(Seen.GONE, "away"), Sighting(Seen.ANSWERS)


class FakeClock:
    def __init__(self) -> None:
        self.at_s = 0.0

    def monotonic_s(self) -> float:
        return self.at_s

    def now(self) -> datetime:
        return datetime(2026, 4, 12, tzinfo=UTC) + timedelta(seconds=self.at_s)

    def sleep(self, seconds_s: float) -> None:
        self.at_s += max(0.01, seconds_s)


@dataclass
class World:
    """A phone as a function of time and of what was done to it; a look takes a second."""

    phone: Callable[[float, list[Rung]], Sighting]
    clock: FakeClock = field(default_factory=FakeClock)
    able: Means = field(default_factory=Means)
    done: list[Rung] = field(default_factory=list)
    broken: tuple[Rung, ...] = ()

    def look(self, deadline: Deadline) -> Sighting:
        self.clock.at_s += 1.0
        return self.phone(self.clock.at_s, self.done)

    def means(self, seen: Seen) -> Means:
        return self.able

    def act(self, rung: Rung, deadline: Deadline) -> str:
        if rung in self.broken:
            raise RungFailed(f"no {rung} here") if rung is not Rung.RECONNECT else LinkLost("gone meanwhile")
        self.done.append(rung)
        return f"{rung} done"

    def climb(self, allowed: Allowed | None = None, stop: Callable[[], bool] = lambda: False) -> Climbed:
        told: list[Step] = []
        found = Climb(self, allowed or Allowed(), self.clock, told.append, stop).run()
        assert list(found.steps) == told
        return found


def tried(found: Climbed) -> list[tuple[Rung, Result]]:
    return [(step.rung, step.result) for step in found.steps]


def test_a_phone_that_answers_at_once_costs_no_rung() -> None:
    found = World(lambda _at, _done: WELL).climb()
    assert (found.back, tried(found)) == (True, [])


def test_a_blip_is_waited_for_and_no_longer() -> None:
    world = World(lambda at, _done: WELL if at > 20 else GONE)
    found = world.climb()
    assert tried(found) == [(Rung.WAIT, Result.BACK)]
    assert 20 < world.clock.at_s < 23


def test_a_phone_that_stays_away_is_left_after_the_wait_and_one_reconnect_each_with_its_own_time() -> None:
    world = World(lambda _at, _done: GONE)
    found = world.climb()
    assert tried(found) == [
        (Rung.WAIT, Result.IN_VAIN), (Rung.RECONNECT, Result.IN_VAIN), (Rung.LEAVE, Result.ENDED),
    ]  # fmt: skip
    assert world.clock.at_s < 2 * (60 + 5 + 5) + 5
    assert "not attached" in found.why()
    assert "cable" in found.why()


def test_a_hung_phone_is_rebooted_where_that_is_allowed_and_waited_for_while_it_boots() -> None:
    boots = Sighting(Seen.BOOTING, "boots")

    def phone(at: float, done: list[Rung]) -> Sighting:
        return HUNG if Rung.REBOOT not in done else boots if at < 400 else WELL

    world = World(phone)
    found = world.climb(Allowed(reboot=True, boot_timeout_s=600.0))
    assert tried(found)[-1] == (Rung.REBOOT, Result.BACK)
    assert found.rebooted
    assert world.clock.at_s >= 400
    vain = World(lambda _at, done: boots if Rung.REBOOT in done else HUNG).climb(
        Allowed(reboot=True, boot_timeout_s=100.0)
    )
    assert tried(vain)[-1] == (Rung.QUARANTINE, Result.ENDED)


OLD, NEW = "0" * 36, "1" * 36


def rebooting(at_s: float, boot_id: str) -> Climbed:
    """A phone whose storage takes no file is told to reboot at about 75 s; it goes on answering until `at_s`."""

    def phone(at: float, done: list[Rung]) -> Sighting:
        if Rung.REBOOT not in done:
            return Sighting(Seen.STORAGE, "", OLD)
        return Sighting(Seen.ANSWERS, "", OLD if at < at_s else boot_id)

    world = World(phone)
    found = world.climb(Allowed(reboot=True))
    assert tried(found)[-1] == (Rung.REBOOT, Result.BACK)
    assert world.clock.at_s >= at_s
    return found


def test_a_phone_that_was_told_to_reboot_and_answers_in_its_old_boot_is_not_back_yet() -> None:
    assert rebooting(100.0, NEW).last.boot_id == NEW


def test_one_that_does_not_reboot_and_answers_all_the_same_is_taken_as_it_is() -> None:
    assert rebooting(70.0 + 60.0, OLD).last.boot_id == OLD


def test_the_boot_of_a_phone_that_hangs_is_known_from_before() -> None:
    def phone(at: float, done: list[Rung]) -> Sighting:
        if Rung.REBOOT not in done:
            return HUNG
        return Sighting(Seen.ANSWERS, "", OLD if at < 130 else NEW)

    world = World(phone)
    climb = Climb(world, Allowed(reboot=True), world.clock, lambda _: None, lambda: False, boot_id=OLD)
    assert climb.run().last.boot_id == NEW


def test_a_rung_that_cannot_be_carried_out_is_told_and_the_next_one_tried() -> None:
    world = World(lambda _at, _done: HUNG, able=Means(on_bus=True), broken=(Rung.RECONNECT, Rung.USB_RESET))
    found = world.climb(Allowed(usb_reset=True))
    assert tried(found) == [
        (Rung.WAIT, Result.IN_VAIN), (Rung.RECONNECT, Result.FAILED), (Rung.USB_RESET, Result.FAILED),
        (Rung.QUARANTINE, Result.ENDED),
    ]  # fmt: skip
    assert [step.words for step in found.steps][1:3] == ["gone meanwhile", "no usb reset here"]


def test_what_is_seen_after_a_rung_decides_the_next_one() -> None:
    """It hangs; after a reset it asks for a key: nothing else is done to it."""
    world = World(
        lambda _at, done: Sighting(Seen.UNAUTHORIZED) if done else HUNG, able=Means(on_bus=True, hub_port=True)
    )
    found = world.climb(Allowed(usb_reset=True, hub_power=True, reboot=True))
    assert [step.rung for step in found.steps] == [Rung.WAIT, Rung.RECONNECT, Rung.LEAVE]


def test_a_climb_that_is_stopped_ends_within_seconds_and_decides_nothing() -> None:
    world = World(lambda _at, _done: HUNG)
    found = world.climb(stop=lambda: world.clock.at_s > 30)
    assert found.stopped
    assert not found.back
    assert world.clock.at_s < 35
    assert Rung.QUARANTINE not in [step.rung for step in found.steps]

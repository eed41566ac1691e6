"""A phone that was given up is taken back only when it answers as itself: another may answer at its address."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from android_runner.deadline import Deadline, SystemClock
from android_runner.errors import HostileAnswer, LinkLost
from android_runner.recovery.climb import Patience
from android_runner.recovery.rungs import Means, Rung, Seen, Sighting
from orchestrator.farm.kit import LaneKit
from orchestrator.farm.lane import Lane
from orchestrator.farm.messages import BlockOrder, Report, RungTried
from orchestrator.farm.protocol import PhoneGone, PhoneUp
from orchestrator.farm.returning import Ladder
from orchestrator.store.evidence import EvidenceStore

PHONE = "R58N30ABCDE"
LOOKS = 2
"""So often somebody else answers at its place."""


class Hands:
    """A stranger answers at first, then the phone itself."""

    def __init__(self) -> None:
        self.looks = 0

    def look(self, deadline: Deadline) -> Sighting:
        self.looks += 1
        return Sighting(Seen.STRANGER, "another answers") if self.looks <= LOOKS else Sighting(Seen.ANSWERS)

    def means(self, seen: Seen) -> Means:
        return Means()

    def act(self, rung: Rung, deadline: Deadline) -> str:
        raise AssertionError(rung)


class Answering:
    """Whoever it is: its shell works, but for the `hostile` first answers. What is asked beyond that is not there."""

    def __init__(self, hostile: int = 0) -> None:
        self.hostile = hostile
        self.asked = 0

    def shell(self, command: str, **_: object) -> SimpleNamespace:
        self.asked += 1
        if self.asked <= self.hostile:
            raise HostileAnswer("more than 4096 bytes")
        return SimpleNamespace(exit_code=0, text=lambda: "")

    def __getattr__(self, name: str) -> object:
        raise LinkLost("gone again")


def lane_of(source: Callable[[], Any], hands: Hands, posts: list[Report], folder: Path) -> Lane:
    """A lane that has a block to follow, and takes little time to give a phone up."""
    patience = Patience(
        settle_s=0.0, return_s=0.1, again_s=0.1, pause_s=0.01, look_s=1.0, answer_s=0.3, lost_after_s=0.3
    )
    ladder = Ladder(hands=hands, patience=patience)
    kit = cast(LaneKit, SimpleNamespace(phone=PHONE, source=source, ladder=ladder))
    lane = Lane(kit, EvidenceStore(folder), folder / "scratch", posts.append, SystemClock())
    lane.give(BlockOrder(block_id="b", epoch=1, works=(), adopted=True))
    lane.start()
    return lane


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 20.0
    while not done() and time.monotonic() < until:
        time.sleep(0.01)


def test_a_stranger_at_its_place_gets_no_work(tmp_path: Path) -> None:
    hands, posts, opened = Hands(), cast(list[Report], []), [0]

    def source() -> Any:
        opened[0] += 1
        if opened[0] == 1:
            raise LinkLost("away")
        return Answering()

    lane = lane_of(source, hands, posts, tmp_path)
    wait_until(lambda: sum(isinstance(one, PhoneUp) for one in posts) == 2)
    seen_before = hands.looks
    lane.control.kill()
    lane.end()
    assert lane.join(20.0)
    assert [type(one) for one in posts[:4]] == [PhoneUp, RungTried, PhoneGone, PhoneUp]
    assert seen_before > LOOKS


def test_a_phone_that_says_pages_to_nothing_is_looked_at_again_before_its_block_is_thrown_away(tmp_path: Path) -> None:
    device, hands, posts = Answering(hostile=1), Hands(), cast(list[Report], [])
    hands.looks = LOOKS
    lane = lane_of(lambda: device, hands, posts, tmp_path)
    wait_until(lambda: device.asked >= 2)
    lane.control.kill()
    lane.end()
    assert lane.join(20.0)
    assert hands.looks > LOOKS
    assert device.asked >= 2

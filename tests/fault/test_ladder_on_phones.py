"""The ladder over virtual phones and the real adb server: drops, a rebooted phone, a server that dies or comes back
empty, one that is not ours."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.adb.discovery import attached, open_device
from android_runner.adb.server import AdbServer
from android_runner.deadline import Deadline, SystemClock
from android_runner.errors import LinkLost
from android_runner.probe import probe_facts
from android_runner.recovery.answer import Expected
from android_runner.recovery.climb import Climb, Climbed, Patience
from android_runner.recovery.hands import PhoneHands
from android_runner.recovery.keeper import Keeper, ServerEvent, ServerNews
from android_runner.recovery.rungs import Allowed, Result, Rung, Seen
from android_runner.virtual import lifecycle
from android_runner.virtual.faults import ConnectFault, FaultPlan
from android_runner.virtual.state import read_server
from tests.virtual_lab import VirtualLab, adb_path

QUICK = Patience(settle_s=0.2, return_s=1.0, act_s=10.0, look_s=2.0, pause_s=0.05)
PATIENT = Patience(settle_s=0.1, return_s=30.0, act_s=20.0, look_s=10.0, pause_s=0.1)


class Scene:
    """One virtual phone with its hands, its server's keeper, and what was told."""

    def __init__(self, lab: VirtualLab) -> None:
        self.lab = lab
        (self.phone,) = lab.up("pixel-8")
        self.events: list[ServerEvent] = []
        self.keeper = Keeper(AdbServer(port=lab.server_port), self._revive)
        self.keeper.watch([str(self.phone.serial)], self.events.append)
        facts = probe_facts(open_device(self.keeper.server, self.phone.serial), deadline=Deadline.after(20))
        self.who = Expected(identity=facts.identity, fingerprint=facts.fingerprint)
        self.hands = PhoneHands(self.keeper, str(self.phone.serial), self.who)

    def _revive(self) -> AdbServer:
        return AdbServer(port=lifecycle.ensure_server(self.lab.home, adb_path()).port)

    def climb(self, patience: Patience, allowed: Allowed | None = None) -> Climbed:
        return Climb(self.hands, allowed or Allowed(), SystemClock(), lambda _: None, lambda: False, patience).run()

    def server_pid(self) -> int:
        record = read_server(lifecycle.Places(self.lab.home.resolve()))
        assert record is not None
        return record.pid

    def kill_server(self) -> None:
        pid = self.server_pid()
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 10
        while lifecycle.living_server(lifecycle.Places(self.lab.home.resolve())) is not None:
            assert time.monotonic() < until
            time.sleep(0.01)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with VirtualLab(tmp_path / "home") as lab:
        yield Scene(lab)


def rungs(found: Climbed) -> list[tuple[Rung, Result]]:
    return [(step.rung, step.result) for step in found.steps]


def test_a_phone_that_is_well_is_seen_as_itself(scene: Scene) -> None:
    found = scene.climb(QUICK)
    assert (found.last.seen, found.steps) == (Seen.ANSWERS, ())
    assert len(found.last.boot_id) == 36


def test_a_phone_is_waited_for_while_its_cable_is_out_and_left_when_it_stays_out(scene: Scene) -> None:
    scene.lab.faults(scene.phone, FaultPlan(unplugged=True))
    until = time.monotonic() + 10
    while scene.climb(Patience(settle_s=0, return_s=0, act_s=1, look_s=2)).back:
        assert time.monotonic() < until
    gone = scene.climb(QUICK)
    assert [rung for rung, _ in rungs(gone)][:2] == [Rung.WAIT, Rung.RECONNECT]
    assert gone.steps[-1].rung in (Rung.LEAVE, Rung.QUARANTINE)
    scene.lab.faults(scene.phone)
    back = scene.climb(PATIENT)
    assert back.back, back


def test_a_server_that_died_is_started_again_and_has_its_phone_back(scene: Scene) -> None:
    scene.kill_server()
    with pytest.raises(LinkLost):
        attached(scene.keeper.server)
    assert scene.climb(PATIENT).back
    assert [event.news for event in scene.events] == [ServerNews.STARTED]
    assert scene.keeper.own()


def test_a_server_that_came_back_empty_from_other_hands_is_used_and_never_ended(scene: Scene) -> None:
    port = scene.keeper.server.port
    scene.kill_server()
    env = {"PATH": os.environ["PATH"], "HOME": str(scene.lab.home / "virtual" / "adb-home"), "ADB_USB": "0"}
    other = subprocess.Popen(
        [adb_path(), "-P", str(port), "nodaemon", "server"],
        env={**env, "ADB_MDNS": "0", "ADB_EMU": "0"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 10
        while not _lists_nothing(port):
            assert time.monotonic() < until
            time.sleep(0.02)
        found = scene.climb(PATIENT)
        assert found.back, found
        (event,) = scene.events
        assert event.news is ServerNews.REPLACED
        assert f"pid {other.pid}" in event.words
        assert event.phones == (str(scene.phone.serial),)
        assert not scene.keeper.own()
        assert not scene.keeper.to_blame(silent=True)
        with pytest.raises(ValueError, match="not ours"):
            scene.keeper.restart()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def _lists_nothing(port: int) -> bool:
    try:
        return attached(AdbServer(port=port)) == []
    except LinkLost:
        return False


def test_our_own_server_is_restarted_only_after_transfers_and_with_several_phones_stuck(scene: Scene) -> None:
    keeper, before = scene.keeper, scene.server_pid()
    with keeper.stuck("A"):
        assert not keeper.to_blame(silent=False)
        with keeper.stuck("B"):
            assert keeper.to_blame(silent=False)
    with keeper.transfer():
        restart = threading.Thread(target=keeper.restart)
        restart.start()
        time.sleep(0.2)
        assert scene.server_pid() == before
        os.kill(before, 0)
    restart.join(30)
    assert scene.server_pid() != before
    assert [event.news for event in scene.events] == [ServerNews.RESTARTED]
    assert scene.climb(PATIENT).back


def test_a_reboot_is_done_where_it_is_allowed_and_waited_for(scene: Scene) -> None:
    before = scene.climb(QUICK).last.boot_id
    scene.hands.act(Rung.REBOOT, Deadline.after(20))
    until = time.monotonic() + 20
    while (after := scene.climb(PATIENT)).last.boot_id == before:
        assert time.monotonic() < until
    assert after.back


def test_a_phone_that_asks_for_a_key_and_one_that_is_another_are_left_to_a_person(scene: Scene) -> None:
    stranger = PhoneHands(scene.keeper, str(scene.phone.serial), Expected(identity="R58N30ABCDE"))
    found = Climb(stranger, Allowed(reboot=True), SystemClock(), lambda _: None, lambda: False, QUICK).run()
    assert (found.last.seen, rungs(found)) == (Seen.STRANGER, [(Rung.LEAVE, Result.ENDED)])
    scene.lab.faults(scene.phone, FaultPlan(connect=ConnectFault.UNAUTHORIZED))
    with pytest.raises(Exception, match="authenticate"):
        scene.hands.act(Rung.RECONNECT, Deadline.after(20))
    asks = scene.climb(QUICK, Allowed(reboot=True))
    assert asks.last.seen is Seen.UNAUTHORIZED
    assert "accept" in asks.why()


def test_reconnecting_gives_a_network_phone_a_new_link(scene: Scene) -> None:
    device = open_device(scene.keeper.server, scene.phone.serial)
    assert "connected anew" in scene.hands.act(Rung.RECONNECT, Deadline.after(20))
    device.close()
    assert scene.climb(PATIENT).back

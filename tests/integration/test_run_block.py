"""A block on phones through the real adb server: start, follow, pull, drops, stop, reboot.

The phones are virtual ones; `make test-device SERIAL=…` adds a real one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.adb.discovery import ADDRESS_SHAPE, connect, disconnect, open_device
from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer, real_server
from android_runner.block import Block, BlockEnding, BlockReport, Ending, TrialTask
from android_runner.deadline import SystemClock
from android_runner.device import PushItem
from android_runner.lease import LEASE
from android_runner.phone.listing import script_source
from android_runner.run import BlockControl, Pace, clean_block, follow_block, start_block, sweep
from android_runner.virtual.lifecycle import VirtualPhone
from tests.contract.lent_phone import SERIAL, left_as_it_was
from tests.host_phone import SCRIPT, block_of, soon, task, until
from tests.virtual_lab import VirtualLab

PACE = Pace(poll_s=0.05, silence_s=2.5, lost_after_s=30.0)


class Phone:
    """One phone and its way through adb; `lab` and `virtual` are None for a real one."""

    def __init__(self, server: AdbServer, serial: str, lab: VirtualLab | None, virtual: VirtualPhone | None) -> None:
        self.server, self.serial, self.lab, self.virtual = server, serial, lab, virtual
        self.opened = 0
        self.device = self.open()
        self.device.push([PushItem(script_source(), SCRIPT, 0o755)], deadline=soon())

    def open(self) -> AdbDevice:
        if ADDRESS_SHAPE.fullmatch(self.serial):
            connect(self.server, self.serial, soon())
        self.opened += 1
        return open_device(self.server, self.serial, soon())

    def drop(self) -> None:
        """Cut the transport: every stream of this phone ends."""
        disconnect(self.server, self.serial, soon())

    def block(self, *tasks: TrialTask) -> Block:
        """A block under an epoch that holds the phone: above the lease that a real one may have."""
        held = (self.device.read(LEASE, deadline=soon(), max_bytes=1000) or b"").strip()
        return block_of(*tasks, epoch=int(held) + 1 if held.isdigit() else 5)

    def follow(self, block: Block, folder: Path, control: BlockControl | None = None) -> BlockReport:
        return follow_block(
            self.open, block, collect_dir=folder, control=control or BlockControl(), clock=SystemClock(), pace=PACE
        )

    def processes(self) -> str:
        """What works below the blocks' folder, as a sweep sees it; a script may take a moment to exit."""
        SystemClock().sleep(0.3)
        return " ".join(sweep(self.device, deadline=soon()))


KINDS = [("pixel-8", "auto"), ("redmi-go", "auto"), ("pixel-3", "unconfined")]
REAL = [pytest.param(("real", "attached"), marks=pytest.mark.device)] if SERIAL else []


@pytest.fixture(params=[*KINDS, *REAL], ids="-".join)
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Phone]:
    profile, confinement = request.param
    if profile == "real":
        server = real_server()
        with left_as_it_was(server, SERIAL):
            yield Phone(server, SERIAL, None, None)
        return
    with VirtualLab(tmp_path / "home", confinement=confinement) as lab:
        (virtual,) = lab.up(profile)
        yield Phone(AdbServer(port=lab.server_port), virtual.serial, lab, virtual)


def test_a_block_from_start_to_clean(phone: Phone, tmp_path: Path) -> None:
    block = phone.block(
        task("a", "sh", "-c", "pwd; echo rows >result.csv; echo '{}' >trace_2026.json"),
        task("b", "sh", "-c", "kill -SEGV $$"),
        task("c", "sleep", "300", deadline_s=1),
    )
    start_block(phone.device, block, SCRIPT, deadline=soon())
    report = phone.follow(block, tmp_path / "got")
    assert (report.ending, report.not_started, report.problems) == (BlockEnding.DONE, (), ())
    a, b, c = report.folders
    assert set(a.files) == {"stdout", "stderr", "result.csv", "trace_2026.json"}
    assert a.files["stdout"].read_text().endswith("/data/local/tmp/orch/blocks/b1/part/a\n")
    assert (b.ending, b.exit_code) == (Ending.EXITED, 139)
    assert (c.ending, c.exit_code) == (Ending.TIMED_OUT, 143)
    for folder in report.folders:
        assert folder.before is not None
        assert folder.after is not None
        if phone.virtual is not None:
            assert folder.before.battery_level is not None
            assert folder.before.battery_c is not None
        assert folder.before.boot_id is not None
        assert folder.before.boot_id == folder.after.boot_id
        assert folder.before.uptime_s is not None
        assert folder.started_uptime_s is not None
        assert folder.before.uptime_s <= folder.started_uptime_s
    assert phone.processes() == ""
    clean_block(phone.device, block, deadline=soon())
    assert phone.device.stat([block.directory], deadline=soon()) == [None]


def test_a_dropped_transport_costs_waiting_only(phone: Phone, tmp_path: Path) -> None:
    if not ADDRESS_SHAPE.fullmatch(phone.serial):
        pytest.skip("a real phone's cable is not ours to pull")
    block = phone.block(*[task(f"t{n}", "sh", "-c", f"sleep 0.5; echo {n}") for n in range(6)])
    start_block(phone.device, block, SCRIPT, deadline=soon())
    ended = threading.Event()

    def cut() -> None:
        while not ended.wait(0.4):
            phone.drop()

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        report = phone.follow(block, tmp_path / "got")
    finally:
        ended.set()
        cutter.join()
    assert phone.opened > 2
    assert report.ending is BlockEnding.DONE
    assert [f.files["stdout"].read_text() for f in report.folders] == [f"{n}\n" for n in range(6)]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_block_ends_when_asked(phone: Phone, tmp_path: Path, how: str) -> None:
    block = phone.block(task("a", "sleep", "2" if how == "stop" else "300", deadline_s=600), task("b", "true"))
    start_block(phone.device, block, SCRIPT, deadline=soon())
    control = BlockControl()
    getattr(control, how)()
    report = phone.follow(block, tmp_path, control)
    assert report.ending is BlockEnding.STOPPED
    assert "b" in report.not_started
    assert phone.processes() == ""


def test_a_reboot_in_the_middle_loses_the_running_trial_only(phone: Phone, tmp_path: Path) -> None:
    if phone.lab is None:
        pytest.skip("a real phone is not rebooted for a test")
    block = phone.block(task("a", "true"), task("b", "sh", "-c", "echo torn; exec sleep 300"), task("c", "true"))
    start_block(phone.device, block, SCRIPT, deadline=soon())
    torn = block.directory / "part/b/stdout"
    until(lambda: (phone.device.read(torn, deadline=soon(), max_bytes=100) or b"") == b"torn\n", what="the trial")
    phone.lab.adb("-s", phone.serial, "reboot")
    report = phone.follow(block, tmp_path / "got")
    assert report.ending is BlockEnding.VANISHED
    assert [(f.task_id, f.ending, f.exit_code) for f in report.folders] == [
        ("a", Ending.EXITED, 0),
        ("b", Ending.LOST, None),
    ]
    assert report.folders[1].files["stdout"].read_bytes() == b"torn\n"
    assert report.not_started == ("c",)


def test_a_dead_runs_processes_are_swept(phone: Phone) -> None:
    block = phone.block(task("a", "sleep", "300", deadline_s=600))
    start_block(phone.device, block, SCRIPT, deadline=soon())
    current = block.directory / "current"
    until(lambda: b" a " in (phone.device.read(current, deadline=soon(), max_bytes=200) or b""), what="the trial")
    said = sweep(phone.open(), deadline=soon())
    assert any(line.startswith("block b1: script ") for line in said)
    assert any(line.startswith("block b1: trial ") for line in said)
    assert sweep(phone.device, deadline=soon()) == []

"""The phone that the contract is held against: a virtual one (confined, unconfined), or a real one by its serial.

`make test-device SERIAL=…` (or ORCH_TEST_SERIAL) adds the real one; tests that need faults are for virtual ones only.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from android_runner.adb.discovery import attached, connect, open_device
from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer, real_server
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PushItem, quoted
from android_runner.errors import LinkError
from android_runner.lease import LEASE
from android_runner.virtual.faults import NO_FAULTS, FaultPlan
from android_runner.virtual.lifecycle import VirtualPhone
from tests.virtual_lab import VirtualLab

SERIAL = os.environ.get("ORCH_TEST_SERIAL", "")
TMP = PhonePath("/data/local/tmp")
CONFINEMENTS = {"confined": "auto", "unconfined": "unconfined"}
KINDS = [*CONFINEMENTS, *([pytest.param("real", marks=pytest.mark.device)] if SERIAL else [])]


@dataclass
class Lent:
    """A phone for one test, with a folder of its own there."""

    device: AdbDevice
    folder: PhonePath
    lab: VirtualLab | None
    virtual: VirtualPhone | None

    def faults(self, plan: FaultPlan = NO_FAULTS) -> None:
        """Make a virtual phone misbehave; real ones can't be asked to."""
        if self.lab is None or self.virtual is None:
            pytest.skip("a real phone has no faults to order")
        self.lab.faults(self.virtual, plan)

    def left(self) -> list[str]:
        """All files below the folder, asked by shell."""
        found = self.device.shell(f"cd {quoted(self.folder)} && find . -type f", deadline=Deadline.after(20))
        return sorted(found.text().split("\n")[:-1])


@pytest.fixture(scope="session", params=KINDS)
def phone_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def station(
    phone_kind: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[AdbServer, str, VirtualLab | None, VirtualPhone | None]]:
    """One phone of each kind, for all tests."""
    if phone_kind == "real":
        server = real_server()
        with left_as_it_was(server, SERIAL):
            yield server, SERIAL, None, None
        return
    with VirtualLab(tmp_path_factory.mktemp("lab"), confinement=CONFINEMENTS[phone_kind]) as lab:
        (phone,) = lab.up("pixel-8")
        yield AdbServer(port=lab.server_port), phone.serial, lab, phone


@contextmanager
def left_as_it_was(server: AdbServer, serial: str) -> Iterator[None]:
    """Take away what the tests put into our folder of a phone that is not theirs, and put its lease back."""
    device = open_device(server, serial)
    before = _ours(device)
    lease = device.read(LEASE, deadline=Deadline.after(20), max_bytes=1000)
    yield
    new = sorted(_ours(device) - before)
    if new:
        device.shell(f"rm -rf {' '.join(map(quoted, new))}", deadline=Deadline.after(60))
    if lease is not None:
        device.push([PushItem(lease, LEASE)], deadline=Deadline.after(20))
    assert _ours(device) == before
    device.close()


def _ours(device: AdbDevice) -> set[PhonePath]:
    """What is called `orch…` in the phone's folder for everybody, and what lies in it, two levels deep."""
    found, folders = set[PhonePath](), [TMP]
    for _level in range(3):
        below = {
            folder / entry.name: entry.stat.is_dir()
            for folder in folders
            for entry in device.listing(folder, deadline=Deadline.after(20))
            if folder != TMP or entry.name.startswith("orch")
        }
        found |= set(below)
        folders = [path for path, is_dir in below.items() if is_dir]
    return found


@pytest.fixture
def lent(station: tuple[AdbServer, str, VirtualLab | None, VirtualPhone | None]) -> Iterator[Lent]:
    """The phone, opened anew, with an empty folder that is taken away afterwards."""
    server, serial, lab, virtual = station
    device = open_device(server, serial)
    folder = PhonePath(f"{TMP}/orch-contract-{secrets.token_hex(4)}")
    device.shell(f"mkdir -p {quoted(folder)}", deadline=Deadline.after(20))
    yield Lent(device, folder, lab, virtual)
    if lab is not None and virtual is not None:
        lab.faults(virtual)
        wait_for(server, serial)
    device.shell(f"chmod -R u+w {quoted(folder)}; rm -rf {quoted(folder)}", deadline=Deadline.after(20))
    device.close()


def wait_for(server: AdbServer, serial: str) -> None:
    """Until the server lists the phone as usable again (adb itself reconnects within seconds)."""
    deadline = Deadline.after(30)
    while not any(seen.serial == serial and seen.usable for seen in attached(server, deadline)):
        deadline.check("the phone to come back")
        try:
            connect(server, serial, deadline)
        except LinkError:
            deadline.clock.sleep(0.2)
        deadline.clock.sleep(0.05)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A local folder that holds nothing else."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder

"""Each fault of a plan is seen by the true adb as it is meant, and is gone with the plan."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from android_runner.virtual.faults import (
    NO_FAULTS,
    ConnectFault,
    Drop,
    DropKind,
    FaultPlan,
    ShellExit,
    read_faults,
    write_faults,
)
from android_runner.virtual.lifecycle import VirtualPhone
from android_runner.virtual.server import ask, connect_phone, disconnect_phone
from tests.contract.adb_host import SyncHost
from tests.virtual_lab import VirtualLab

_TMP = "/data/local/tmp"


@pytest.fixture(scope="module", params=["auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """Faults lie in the protocol: one mode shows them."""
    return str(request.param)


def _wait_alive(lab: VirtualLab, phone: VirtualPhone) -> None:
    until = time.monotonic() + 20
    while lab.shell(phone, "echo alive").stdout != b"alive\n":
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("kind", list(DropKind))
@pytest.mark.parametrize("after_bytes", [0, 1_000_000])
def test_a_drop_in_the_middle_and_then_none(
    shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path, kind: DropKind, after_bytes: int
) -> None:
    data = os.urandom(3_000_000)
    (tmp_path / "f").write_bytes(data)
    (shared_lab.folder(phone) / f"root{_TMP}/there").write_bytes(data)
    words = {
        DropKind.PUSH: ["push", str(tmp_path / "f"), f"{_TMP}/f"],
        DropKind.PULL: ["pull", f"{_TMP}/there", str(tmp_path / "back")],
        DropKind.SHELL: ["shell", f"cat {_TMP}/there"],
    }[kind]
    shared_lab.faults(phone, FaultPlan(drop=Drop(kind=kind, after_bytes=after_bytes)))
    assert shared_lab.adb("-s", phone.serial, *words).returncode != 0
    _wait_alive(shared_lab, phone)
    done = shared_lab.adb("-s", phone.serial, *words)
    assert done.returncode == 0
    if kind is DropKind.PUSH:
        assert (shared_lab.folder(phone) / f"root{_TMP}/f").read_bytes() == data
    if kind is DropKind.SHELL:
        assert done.stdout == data


def test_storage_that_ends(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(300_000))
    shared_lab.faults(phone, FaultPlan(full_after_bytes=200_000))
    done = shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "f"), f"{_TMP}/f")
    assert b"No space left on device" in done.stderr + done.stdout
    assert not (shared_lab.folder(phone) / f"root{_TMP}/f").exists()
    shared_lab.faults(phone)
    assert shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "f"), f"{_TMP}/f").returncode == 0


@pytest.mark.parametrize(
    ("fault", "state"), [(ConnectFault.UNAUTHORIZED, "unauthorized"), (ConnectFault.OFFLINE, "offline")]
)
def test_a_phone_that_does_not_come_in(
    shared_lab: VirtualLab, phone: VirtualPhone, fault: ConnectFault, state: str
) -> None:
    server, port = shared_lab.server_port, int(phone.serial.rpartition(":")[2])
    shared_lab.faults(phone, FaultPlan(connect=fault))
    disconnect_phone(server, port)
    ask(server, f"host:connect:127.0.0.1:{port}")
    listed = dict(line.split("\t") for line in ask(server, "host:devices").splitlines())
    # A server that met garbage keeps the entry as offline or forgets it: never is it usable.
    assert listed.get(phone.serial, "offline") == state
    assert shared_lab.shell(phone, "echo in").returncode != 0
    shared_lab.faults(phone)
    disconnect_phone(server, port)
    connect_phone(server, port)
    _wait_alive(shared_lab, phone)


def test_unplugged_and_plugged_in_again(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    server, port = shared_lab.server_port, int(phone.serial.rpartition(":")[2])
    shared_lab.faults(phone, FaultPlan(unplugged=True))
    until = time.monotonic() + 5
    while shared_lab.shell(phone, "echo in").returncode == 0:
        assert time.monotonic() < until
    shared_lab.faults(phone)
    time.sleep(0.3)
    disconnect_phone(server, port)
    connect_phone(server, port)
    _wait_alive(shared_lab, phone)


def test_hostile_names(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    names = ("../../evil", "/abs", "a\nb")
    shared_lab.faults(phone, FaultPlan(extra_names=names))
    with SyncHost(shared_lab.server_port, phone.serial) as sync:
        sync.send(b"LIST", _TMP.encode())
        listed = []
        while (entry := struct.unpack("<4sIIII", sync.exactly(20)))[0] == b"DENT":
            listed.append(sync.exactly(entry[4]).decode())
    assert tuple(listed) == (".", "..", *names)
    target = tmp_path / "a/b/pulled"
    target.parent.mkdir(parents=True)
    shared_lab.adb("-s", phone.serial, "pull", _TMP, str(target))
    assert not (tmp_path / "a/evil").exists()


def test_a_shell_that_lies_about_its_end(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    shared_lab.faults(phone, FaultPlan(shell_exit=ShellExit.WRONG))
    assert shared_lab.shell(phone, "exit 4").returncode == 5
    shared_lab.faults(phone, FaultPlan(shell_exit=ShellExit.MISSING))
    done = shared_lab.shell(phone, "echo out; exit 4")
    assert done.stdout == b"out\n"
    assert done.returncode not in (0, 4)


def test_output_without_end(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    import subprocess

    from tests.virtual_lab import adb_path

    shared_lab.faults(phone, FaultPlan(endless_output=True))
    with subprocess.Popen(
        [adb_path(), "-s", phone.serial, "shell", "true"], env=dict(shared_lab.server.env), stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        total = 0
        while total < 20_000_000:
            total += len(child.stdout.read(1_000_000))
        child.kill()
    shared_lab.faults(phone)
    _wait_alive(shared_lab, phone)


def test_sizes_that_lie(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    (shared_lab.folder(phone) / f"root{_TMP}/f").write_bytes(b"x" * 100_000)
    shared_lab.faults(phone, FaultPlan(stat_size_bytes=7))
    lines = shared_lab.adb("-s", phone.serial, "ls", _TMP).stdout.decode().splitlines()
    assert int(next(line for line in lines if line.endswith(" f")).split()[1], 16) == 7
    for lie in (10, 2_500_000):
        shared_lab.faults(phone, FaultPlan(recv_size_bytes=lie))
        shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/f", str(tmp_path / "x"))
        assert (tmp_path / "x").stat().st_size == lie


def test_a_file_that_is_no_plan_costs_nothing(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    path = shared_lab.folder(phone) / "faults.json"
    path.write_text("{ no plan")
    time.sleep(0.5)
    assert shared_lab.shell(phone, "echo alive").stdout == b"alive\n"
    path.unlink()


def test_plans_are_read_strictly(tmp_path: Path) -> None:
    plan = FaultPlan(
        connect=ConnectFault.OFFLINE, drop=Drop(kind=DropKind.PULL, after_bytes=3, times=2), extra_names=("a", "b")
    )
    write_faults(tmp_path, plan)
    assert read_faults(tmp_path) == plan
    write_faults(tmp_path, NO_FAULTS)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "faults.json").write_text('{"no_such": 1}')
    with pytest.raises(ValidationError):
        read_faults(tmp_path)

"""A schedule on a living phone: its faults come when it says, are told of, and are over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from android_runner.adb.discovery import attached, open_device
from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer
from android_runner.deadline import Deadline
from android_runner.errors import LinkError, RunnerError
from android_runner.virtual import lifecycle
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.fault_life import happened
from android_runner.virtual.fault_schedule import Fault, FaultSchedule, write_schedule
from android_runner.virtual.fault_steps import Step
from android_runner.virtual.lifecycle import VirtualPhone
from tests.virtual_lab import VirtualLab


@pytest.fixture(scope="module")
def mode() -> str:
    return "auto"


def until(met: Callable[[], object], seconds_s: float = 15.0) -> None:
    end = time.monotonic() + seconds_s
    while not met():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def ill(shared_lab: VirtualLab, phone: VirtualPhone) -> Iterator[Callable[..., None]]:
    """Put a schedule of these faults in place; taken away at the end, when the phone must be well again."""

    def give(*faults: Fault) -> None:
        write_schedule(shared_lab.folder(phone), FaultSchedule(fault=faults))
        lifecycle.poke(shared_lab.home, phone.serialno)

    yield give
    write_schedule(shared_lab.folder(phone), None)
    lifecycle.poke(shared_lab.home, phone.serialno)
    until(lambda: answers(shared_lab, phone))


def server_of(lab: VirtualLab) -> AdbServer:
    return AdbServer(port=lab.server_port)


def device(lab: VirtualLab, phone: VirtualPhone) -> AdbDevice:
    return open_device(server_of(lab), phone.serial, Deadline.after(5.0))


def answers(lab: VirtualLab, phone: VirtualPhone) -> bool:
    try:
        return device(lab, phone).shell("echo in", deadline=Deadline.after(1.0)).stdout == b"in\n"
    except LinkError:
        return False


def state(lab: VirtualLab, phone: VirtualPhone) -> str:
    return next((seen.state for seen in attached(server_of(lab)) if seen.serial == phone.serial), "gone")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (FaultKind.UNPLUG, {"gone", "offline"}),
        (FaultKind.UNAUTHORIZED, {"unauthorized"}),
        (FaultKind.RECOVERY, {"recovery"}),
        (FaultKind.SIDELOAD, {"sideload"}),
        (FaultKind.BOOTLOADER, {"bootloader"}),
        (FaultKind.POWER_OFF, {"gone", "offline"}),
    ],
)
def test_a_state_that_comes_and_goes(
    shared_lab: VirtualLab, phone: VirtualPhone, ill: Callable[..., None], kind: FaultKind, shown: set[str]
) -> None:
    ill(Fault(kind=kind, for_s=1.0))
    until(lambda: state(shared_lab, phone) in shown)
    until(lambda: answers(shared_lab, phone))
    assert [one.kind for one in happened(shared_lab.folder(phone))] == [kind]


@pytest.mark.parametrize(
    "kind", [FaultKind.DROP, FaultKind.BAD_MAGIC, FaultKind.CLOSED, FaultKind.NO_EXIT, FaultKind.STALL, FaultKind.HANG]
)
def test_one_answer_that_does_not_come(
    shared_lab: VirtualLab, phone: VirtualPhone, ill: Callable[..., None], kind: FaultKind
) -> None:
    ill(Fault(kind=kind, step=Step.PROBE))
    began = time.monotonic()
    with pytest.raises(LinkError):
        device(shared_lab, phone).shell("echo in", deadline=Deadline.after(1.0))
    assert time.monotonic() - began < 10
    until(lambda: answers(shared_lab, phone))


def test_a_reboot_has_a_new_boot_id(shared_lab: VirtualLab, phone: VirtualPhone, ill: Callable[..., None]) -> None:
    def boot_id() -> bytes:
        return shared_lab.shell(phone, 'cat "${ORCH_ROOT-}"/proc/sys/kernel/random/boot_id').stdout

    before = boot_id()
    ill(Fault(kind=FaultKind.REBOOT, at_s=0.0))
    until(lambda: list(happened(shared_lab.folder(phone))))
    until(lambda: answers(shared_lab, phone))
    assert boot_id() != before


@pytest.mark.parametrize(
    ("kind", "command", "fine", "wrong"),
    [
        (FaultKind.LOST_TOOLS, "sha256sum /dev/null >/dev/null; echo $?", b"0\n", b"127\n"),
        (FaultKind.DUPLICATE, "getprop ro.serialno", b"virtual-pixel-8-1\n", b"virtual-twin-1\n"),
        (FaultKind.BATTERY_LOW, "dumpsys battery | grep level | tr -d ' '", b"level:78\n", b"level:3\n"),
        (FaultKind.NOISE, "echo in", b"in\n", None),
        (FaultKind.CUT_OUTPUT, "echo in", b"in\n", b""),
    ],
)
def test_what_a_shell_sees_meanwhile(
    shared_lab: VirtualLab,
    phone: VirtualPhone,
    ill: Callable[..., None],
    kind: FaultKind,
    command: str,
    fine: bytes,
    wrong: bytes | None,
) -> None:
    assert shared_lab.shell(phone, command).stdout == fine
    ill(Fault(kind=kind, for_s=1.5))
    until(lambda: list(happened(shared_lab.folder(phone))))
    meanwhile = shared_lab.shell(phone, command).stdout
    assert meanwhile == wrong if wrong is not None else (b"\xff" in meanwhile and fine in meanwhile)
    until(lambda: shared_lab.shell(phone, command).stdout == fine)


def test_a_rogue_open_ends_the_server_and_a_new_one_finds_the_phone_again(
    shared_lab: VirtualLab, phone: VirtualPhone, ill: Callable[..., None]
) -> None:
    before = lifecycle.running_server(shared_lab.home)
    assert before is not None
    ill(Fault(kind=FaultKind.ROGUE_OPEN, at_s=0.0))
    until(lambda: lifecycle.running_server(shared_lab.home) is None)
    with pytest.raises(RunnerError):
        open_device(AdbServer(port=before), phone.serial, Deadline.after(2.0))
    until(lambda: answers(shared_lab, phone))  # asking for the lab's server starts it

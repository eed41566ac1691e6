"""Phones that can't be used, through the real CLI: named with what to do about them, and never trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.virtual import lifecycle
from android_runner.virtual.faults import NO_FAULTS, ConnectFault, FaultPlan, ShellExit, write_faults
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.server import ask, connect_phone, disconnect_phone
from tests.bad_input.conftest import Refused
from tests.orch_cli import Ended, Orch, cpu_plan
from tests.unit.adb.scripted import ScriptedPhone

VIRTUAL = ("--device", "virtual:pixel-8")
PHONE = "virtual-pixel-8-1"
SHORT = ("--rounds", "1", "--iterations", "3")


def untouched(orch: Orch) -> bool:
    """No virtual phone was started and no run written."""
    return not (orch.home / "virtual").exists() and not (orch.home / "ledger.sqlite").exists()


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[ScriptedPhone]:
    """An adb server that lists what a test wants and opens nothing."""
    server = ScriptedPhone(tmp_path / "listed")
    yield server
    server.close()


@pytest.mark.parametrize(
    ("listed", "serial", "words"),
    [
        ("B3 unauthorized usb:1-1 transport_id:3\n", "B3", ("is unauthorized", "accept this computer's key")),
        ("B3 offline usb:1-1 transport_id:3\n", "B3", ("is offline", "replug its cable")),
        ("B3 no permissions (x); see [y] usb:1-1 transport_id:3\n", "B3", ("is no permissions", "udev")),
        (
            "B3 device usb:1-1 transport_id:3\nB3 device usb:1-2 transport_id:4\n",
            "B3",
            ("can't be used", "two phones have this serial: unplug one"),
        ),
        ("$(id) device usb:1-1 transport_id:3\n", "$(id)", ("can't be used", "its serial is not one")),
    ],
    ids=["unauthorized", "offline", "no-permissions", "duplicate", "hostile"],
)
def test_serial(
    orch: Orch, refused: Refused, model: Path, lines: ScriptedPhone, listed: str, serial: str, words: tuple[str, ...]
) -> None:
    lines.devices = listed
    port = ("--adb-port", str(lines.server.port))
    refused(orch("run", model, "--device", serial, *port), serial, *words, code=4)
    refused(orch("run", model, *port), serial, "--device virtual", *words, code=4)
    assert untouched(orch)
    assert not [service for service in lines.seen if not service.startswith("host:")]


def test_serial_unknown(orch: Orch, refused: Refused, model: Path, lines: ScriptedPhone) -> None:
    lines.devices = "R58N30ABCDE offline usb:1-1 transport_id:3\n"
    port = ("--adb-port", str(lines.server.port))
    refused(orch("run", model, "--device", "R58N30ABCDF", *port), "R58N30ABCDF", "did you mean 'R58N30ABCDE'?")
    assert untouched(orch)


def test_no_phone_at_all(orch: Orch, refused: Refused, model: Path, empty_server: int) -> None:
    refused(orch("run", model, "--adb-port", str(empty_server)), "no usable phone", "--device virtual", code=4)
    assert untouched(orch)


def faults(orch: Orch, plan: FaultPlan = NO_FAULTS) -> None:
    """Let the phone of a home misbehave; none: behave."""
    write_faults(orch.home / "virtual" / "phones" / PHONE, plan)
    lifecycle.poke(orch.home, PHONE)


@pytest.fixture
def phoned(shared: Orch) -> Iterator[Orch]:
    """The shared home with its one phone up and, afterwards, without faults."""
    assert shared("virtual", "up", "pixel-8").code == 0
    yield shared
    faults(shared)


def tool_of_its_own(folder: Path, sleep_s: float = 0.05) -> Path:
    """A perf_test that no ledger has capabilities of."""
    tool = sleeping_perf_test(folder, sleep_s)
    tool.write_text(f"{tool.read_text()}\n# {folder}\n")
    return tool


def run(orch: Orch, model: Path, folder: Path) -> Ended:
    """A short run on the phone with a perf_test that it has never seen."""
    return orch("run", model, cpu_plan(folder), *VIRTUAL, "--perf-test", tool_of_its_own(folder), *SHORT)


def test_true_unauthorized_phone(phoned: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    (phone,) = lifecycle.listing(phoned.home)
    server, port = lifecycle.running_server(phoned.home), int(phone.serial.rpartition(":")[2])
    assert server is not None
    faults(phoned, FaultPlan(connect=ConnectFault.UNAUTHORIZED))
    disconnect_phone(server, port)
    ask(server, f"host:connect:127.0.0.1:{port}")
    refused(run(phoned, model, tmp_path), str(phone.serial), "unauthorized", "accept this computer's key", code=4)
    faults(phoned)
    disconnect_phone(server, port)
    connect_phone(server, port)


def test_full_phone(phoned: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    faults(phoned, FaultPlan(full_after_bytes=100))
    refused(run(phoned, model, tmp_path), PHONE, "No space left on device", "make room", code=4)


@pytest.mark.parametrize(
    "plan",
    [
        FaultPlan(endless_output=True),
        FaultPlan(shell_exit=ShellExit.MISSING),
    ],
    ids=["endless-output", "wrong-marker"],
)
def test_hostile_phone_is_refused(phoned: Orch, refused: Refused, model: Path, tmp_path: Path, plan: FaultPlan) -> None:
    faults(phoned, plan)
    refused(run(phoned, model, tmp_path), "no usable phone", code=4)


@pytest.mark.parametrize(
    "plan",
    [
        FaultPlan(extra_names=("../../evil", "/abs", "a\nb")),
        FaultPlan(recv_size_bytes=1_000_000),
        FaultPlan(stat_size_bytes=2**31),
    ],
    ids=["traversal-in-list", "lying-pulls", "lying-sizes"],
)
def test_hostile_phone_writes_nothing_outside(phoned: Orch, model: Path, tmp_path: Path, plan: FaultPlan) -> None:
    faults(phoned, plan)
    ended = run(phoned, model, tmp_path)
    assert ended.code in (0, 3, 4), ended
    assert "Traceback" not in ended.err, ended
    assert "a bug" not in ended.err, ended
    assert not [path for path in phoned.home.parent.rglob("*") if path.name in ("evil", "a\nb")]
    assert not Path("/abs").exists()
    for row in json.loads(phoned("runs", "--json").out):
        assert row["planned"] == row["measured"] + row["failed"] + row["skipped"]

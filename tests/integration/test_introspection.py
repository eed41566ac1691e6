"""What NNAPI took, on virtual phones through the real adb server: the log beside a trial, and runs that ask for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import orchestrator
from android_runner.adb.discovery import connect, open_device
from android_runner.adb.link import AdbDevice
from android_runner.adb.server import AdbServer
from android_runner.block import LOG_FILE, Block, TrialTask
from android_runner.deadline import SystemClock
from android_runner.device import PushItem
from android_runner.phone.listing import script_source
from android_runner.phone_log import PhoneLog, read_phone_log
from android_runner.run import BlockControl, Pace, follow_block, start_block, sweep
from tests.host_phone import SCRIPT, block_of, soon, task, until
from tests.orch_cli import Orch
from tests.virtual_lab import VirtualLab

PACE = Pace(poll_s=0.05, silence_s=2.5, lost_after_s=30.0)
NOISE = (
    "n=0; while [ $n -lt 20 ]; do n=$((n+1)); "
    'echo "11-21 07:18:02.000 $$ $$ V onnxruntime: line $n of $$" >>"${ORCH_ROOT-}/data/system/log"; done'
)
"""Twenty lines as liblog writes them, under the pid of the process itself."""


def logged(task_id: str, *argv: str, deadline_s: int = 30) -> TrialTask:
    return replace(task(task_id, *argv, deadline_s=deadline_s), log_tags=("onnxruntime",))


@pytest.fixture(params=[("pixel-8", "auto"), ("redmi-go", "auto"), ("pixel-3", "unconfined")], ids="-".join)
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AdbDevice]:
    profile, confinement = request.param
    with VirtualLab(tmp_path / "home", confinement=confinement) as lab:
        (phone,) = lab.up(profile)
        server = AdbServer(port=lab.server_port)
        connect(server, phone.serial, soon())
        opened = open_device(server, phone.serial, soon())
        opened.push([PushItem(script_source(), SCRIPT, 0o755)], deadline=soon())
        yield opened


def follow(device: AdbDevice, block: Block, folder: Path) -> dict[str, PhoneLog | None]:
    start_block(device, block, SCRIPT, deadline=soon())
    report = follow_block(
        lambda: device, block, collect_dir=folder, control=BlockControl(), clock=SystemClock(), pace=PACE
    )
    assert report.problems == ()
    return {
        one.task_id: read_phone_log(one.files[LOG_FILE].read_bytes()) if LOG_FILE in one.files else None
        for one in report.folders
    }


def test_every_line_of_the_process_and_of_no_other(device: AdbDevice, tmp_path: Path) -> None:
    both = f"sh -c '{NOISE}' & {NOISE}; wait"
    logs = follow(device, block_of(logged("a", "sh", "-c", both), task("b", "true"), logged("c", "true")), tmp_path)
    found = logs["a"]
    assert found is not None
    assert found.problems == ()
    assert [line.text for line in found.lines] == [f"line {n} of {found.pid}" for n in range(1, 21)]
    assert logs["b"] is None
    assert logs["c"] is not None
    assert (logs["c"].complete, logs["c"].lines) == (True, ())
    SystemClock().sleep(0.3)
    assert sweep(device, deadline=soon()) == []


def test_the_log_of_a_dead_run_is_swept(device: AdbDevice) -> None:
    block = block_of(logged("a", "sleep", "300", deadline_s=600))
    start_block(device, block, SCRIPT, deadline=soon())
    until(
        lambda: b" a " in (device.read(block.directory / "current", deadline=soon(), max_bytes=200) or b""),
        what="the trial",
    )
    logger = (device.read(block.directory / "logger", deadline=soon(), max_bytes=200) or b"").split()[0].decode()
    sweep(device, deadline=soon())
    SystemClock().sleep(0.3)
    told = device.shell(f"[ -d /proc/{logger} ] && cat /proc/{logger}/stat", deadline=soon()).text()
    assert told == "" or told.rpartition(") ")[2].startswith("Z")


PLAN = """
rounds = 1
iterations = 5
[[matrix]]
recipe = ["basic", "extended"]
ep = ["nnapi", "cpu"]
"""


def test_a_run_says_what_nnapi_took_and_its_trace_agrees(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    ended = orch("run", plan, mnist, "--device", "virtual:pixel-8")
    assert ended.code == 0, ended
    assert "introspect: 2 planned = 2 measured" in ended.out
    frames = orchestrator.load(home=orch.home)
    assert set(frames.trials["state"]) == {"measured"}
    placements = frames.placements.set_index("row")
    assert list(placements["known"]) == [True, True]
    figures = placements[["partitions", "nodes_claimed", "nodes_in_graph"]].apply(tuple, axis=1)
    assert figures.to_dict() == {"nnapi basic": (1, 8, 8), "nnapi extended": (2, 4, 6)}
    assert frames.partitions.groupby("row")["partition"].nunique().to_dict() == {"nnapi basic": 1, "nnapi extended": 2}
    refused = frames.claims[~frames.claims["supported"]]
    assert set(refused["operator"]) == {"FusedConv"}
    assert refused["reason"].notna().all()
    timed = frames.attempts[frames.attempts["purpose"] == "time"]
    assert set(timed["evidence"].map(lambda files: LOG_FILE in files)) == {False}


def test_a_run_killed_while_it_introspects_goes_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    running = orch.start("run", plan, mnist, "--device", "virtual:pixel-8")
    try:
        until(lambda: _introspects(orch.home), seconds_s=120.0, what="the block of introspections")
    finally:
        running.kill()
        running.communicate()
    ended = orch("resume")
    assert ended.code == 0, ended
    frames = orchestrator.load(home=orch.home)
    assert set(frames.trials["state"]) == {"measured"}
    assert list(frames.placements["known"]) == [True, True]
    assert orch("report").code == 0


def _introspects(home: Path) -> bool:
    """Whether a block of introspections is open."""
    if not (home / "ledger.sqlite").exists():
        return False
    with closing(sqlite3.connect(home / "ledger.sqlite")) as ledger:
        try:
            rows = ledger.execute("select tasks from block where ending is null").fetchall()
        except sqlite3.OperationalError:
            return False
    return any("introspect" in tasks for (tasks,) in rows)

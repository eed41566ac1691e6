"""Every command and file request of the runner is recognised as the step that it belongs to."""

from __future__ import annotations

import pytest

from android_runner.adb.sending import Sent, finishing_command, parts_of
from android_runner.block import Block, TrialTask
from android_runner.device import PhonePath, PushItem, quoted
from android_runner.lease import lease_command
from android_runner.phone.commands import end_command, probe_command, start_command
from android_runner.receipts import (
    RESIDENTS_COMMAND,
    SPACE_COMMAND,
    STAGED_DIR,
    StageFile,
    StageUnit,
    hash_command,
    look_command,
    receipts_command,
)
from android_runner.staging import staged_dir
from android_runner.virtual.fault_steps import Step, step_of_file, step_of_shell

BLOCK = Block(block_id="r1-b1", epoch=3, tasks=(TrialTask(task_id="t1", argv=("true",), deadline_s=5),))
UNIT = StageUnit(digest="ab" * 8, files=(StageFile(name="model.onnx", source=b"x"),))
SCRIPT = staged_dir("cd" * 8) / "run_block.sh"


def pushed(target: PhonePath) -> str:
    (part,) = parts_of([PushItem(b"x", target)], "n" * 12)
    return finishing_command([Sent(part, 1, "a" * 64)])


COMMANDS = [
    ("true", Step.PROBE),
    ("getprop", Step.PROBE),
    (look_command([UNIT], "marker"), Step.STAGE),
    (hash_command(UNIT.paths()), Step.STAGE),
    (SPACE_COMMAND, Step.STAGE),
    (RESIDENTS_COMMAND, Step.STAGE),
    (receipts_command([UNIT], {UNIT.paths()[0]: "a" * 64}), Step.STAGE),
    (pushed(STAGED_DIR / UNIT.paths()[0]), Step.STAGE),
    (lease_command(3), Step.LAUNCH),
    (end_command(None), Step.LAUNCH),
    (pushed(BLOCK.directory / "list"), Step.LAUNCH),
    (start_command(BLOCK, SCRIPT), Step.LAUNCH),
    (probe_command(BLOCK), Step.JOURNAL),
    (end_command(BLOCK), Step.JOURNAL),
    (f": >{quoted(BLOCK.directory / 'stop')}", Step.JOURNAL),
    (f"rm -rf {quoted(BLOCK.directory)}", Step.RELEASE),
]


@pytest.mark.parametrize(("command", "step"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_of_the_runner(command: str, step: Step) -> None:
    assert step_of_shell(command) is step


@pytest.mark.parametrize(
    ("request_name", "path", "step"),
    [
        (b"SND2", STAGED_DIR / "ab" / "model.onnx", Step.STAGE),
        (b"SND2", BLOCK.directory / "list", Step.LAUNCH),
        (b"STA2", BLOCK.directory / "started", Step.LAUNCH),
        (b"STA2", BLOCK.directory / "refused", Step.LAUNCH),
        (b"RCV2", BLOCK.directory / "refused", Step.LAUNCH),
        (b"STA2", BLOCK.directory / "journal", Step.JOURNAL),
        (b"STA2", BLOCK.directory / "beat", Step.JOURNAL),
        (b"RCV2", BLOCK.directory / "journal", Step.JOURNAL),
        (b"LIS2", BLOCK.directory / "out" / "t1", Step.PULL),
        (b"RCV2", BLOCK.directory / "out" / "t1" / "stdout", Step.PULL),
        (b"RCV2", BLOCK.directory / "vitals", Step.PULL),
        (b"RCV2", BLOCK.directory / "pid", Step.PULL),
        (b"STAT", PhonePath("/data/local/tmp/else"), Step.PROBE),
    ],
)
def test_a_request_to_the_file_service(request_name: bytes, path: PhonePath, step: Step) -> None:
    assert step_of_file(request_name, path) is step

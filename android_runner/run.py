"""The one composition: start a block on a phone, follow it, pull what it left.

    start_block(device, block, script, deadline=…)                detached; the prompt is back in milliseconds
    follow_block(source, block, collect_dir=…, …) -> BlockReport  waits for its end, survives lost links, pulls
    clean_block(device, block, deadline=…)                        when the results are safe on the host
    end_block(device, block, deadline=…) -> list[str]             ends what runs of it
    sweep(device, deadline=…) -> list[str]                        ends what is left of a dead run, and says what it was

`follow_block` may be called for a block that runs, has ended, never began, or died without an end. `source` gives the
phone as it can be reached now, or raises `LinkError`; between losing the link and giving up pass `Pace.lost_after_s`
seconds, fewer once a kill was asked for.
"""

from __future__ import annotations

from pathlib import Path

from android_runner.block import Block, BlockReport
from android_runner.collect import OF_THE_BLOCK, collect
from android_runner.deadline import Clock, Deadline
from android_runner.device import Device, PhonePath, PushItem, quoted
from android_runner.errors import HostileAnswer, LeaseLost, PhoneRefused
from android_runner.facts import cleaned
from android_runner.following import (
    BlockControl,
    DeviceSource,
    Follower,
    Line,
    Pace,
    Progress,
)
from android_runner.phone.commands import end_command, read_ended, start_command
from android_runner.phone.listing import render_list

__all__ = [
    "BlockControl",
    "DeviceSource",
    "Pace",
    "Progress",
    "clean_block",
    "end_block",
    "follow_block",
    "start_block",
    "sweep",
]

START_S = 15.0
"""How long the script may take until its journal stands."""
_START_POLL_S = 0.01


def start_block(device: Device, block: Block, script: PhonePath, *, deadline: Deadline) -> None:
    """Push the list, start `script` (a staged `run_block.sh`) detached, return once it runs.

    A block that runs already is left alone; one that was torn goes on behind its last trial. Raises `LeaseLost` when a
    higher epoch holds the phone, `PhoneRefused` when the script does not come up, `LinkError`, `StagingError`;
    ValueError for a block that can't be written down.
    """
    device.push([PushItem(render_list(block), block.directory / "list")], deadline=deadline)
    device.shell(start_command(block, script), deadline=deadline, max_output_bytes=64 * 1024)
    limit = deadline.clip(START_S)
    answers = [block.directory / name for name in ("started", "refused")]
    while True:
        started, refused = device.stat(answers, deadline=deadline)
        if started is not None:
            return
        if refused is not None:
            _refused(device, block, deadline)
            return
        if limit.passed():
            deadline.check(f"{device.serial}: start of block {block.block_id}")
            said = _text(device, block.directory / "log", deadline)
            raise PhoneRefused(f"{device.serial}: block {block.block_id} does not start; the phone says: {said}")
        limit.clock.sleep(_START_POLL_S)


def _refused(device: Device, block: Block, deadline: Deadline) -> None:
    """Judge a refusal: a script that runs already is no failure."""
    why = _text(device, block.directory / "refused", deadline)
    if why.startswith("running "):
        return
    if why.startswith("lease "):
        raise LeaseLost(
            f"{device.serial}: another run holds this phone (epoch {why.removeprefix('lease ')}, ours is {block.epoch})"
        )
    raise PhoneRefused(f"{device.serial}: block {block.block_id} refused: {why}")


def _text(device: Device, path: PhonePath, deadline: Deadline) -> str:
    try:
        return cleaned((device.read(path, deadline=deadline, max_bytes=64 * 1024) or b"").decode(errors="replace"))
    except HostileAnswer:
        return "(more than can be shown)"


def follow_block(
    source: DeviceSource,
    block: Block,
    *,
    collect_dir: Path,
    control: BlockControl,
    clock: Clock,
    pace: Pace | None = None,
    on_progress: Progress | None = None,
) -> BlockReport:
    """Wait until the block has ended, pull what it left into `collect_dir`, say how each task ended.

    A lost link costs waiting; raises `LinkLost` once the phone is given up (the block may still run there: its results
    can be adopted later by following it again), `HostileAnswer`, OSError for local disks.
    """
    line = Line(source, clock, pace or Pace(), control)
    ended = Follower(line, block, control, on_progress).wait()
    own = collect_dir / OF_THE_BLOCK
    own.mkdir(parents=True, exist_ok=True)
    (own / "journal").write_bytes(ended.raw)
    folders, problems = collect(line, block, ended.journal, collect_dir)
    damage = [f"journal: {ended.journal.damage}"] if ended.journal.damage else []
    return BlockReport(
        ending=ended.ending,
        folders=tuple(folders),
        not_started=tuple(task.task_id for task in block.tasks if task.task_id not in ended.journal.records),
        problems=(*damage, *problems),
    )


def clean_block(device: Device, block: Block, *, deadline: Deadline) -> None:
    """Remove the block's folder, after all its results are safe on the host. Raises `PhoneRefused`, `LinkError`."""
    result = device.shell(f"rm -rf {quoted(block.directory)}", deadline=deadline, max_output_bytes=64 * 1024)
    if result.exit_code:
        said = cleaned(result.stderr.decode("utf-8", errors="replace"))
        raise PhoneRefused(f"{device.serial}: block {block.block_id} can't be removed; the phone says: {said}")


def end_block(device: Device, block: Block, *, deadline: Deadline) -> list[str]:
    """End every process of a block; returns what was ended, a sentence each. Raises `LinkError`."""
    return read_ended(device.shell(end_command(block), deadline=deadline, max_output_bytes=256 * 1024).text())


def sweep(device: Device, *, deadline: Deadline) -> list[str]:
    """End every process that any block left on this phone; returns what was ended, a sentence each.

    Only for a phone that is ours now: a block of a live run would be ended, too. Raises `LinkError`.
    """
    return read_ended(device.shell(end_command(None), deadline=deadline, max_output_bytes=256 * 1024).text())

"""One phone's thread: it carries blocks out, one after another, and turns whatever happens into an event.

The lane waits and touches the world; it decides nothing. What it was told and what came of it goes to the loop, which
alone writes the ledger.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from android_runner.block import Block, BlockReport, Ending, TrialFolder
from android_runner.deadline import Clock, Deadline
from android_runner.device import Device
from android_runner.errors import HostileAnswer, LinkError, RunnerError, SettingRefused
from android_runner.lease import take_lease
from android_runner.run import BlockControl, clean_block, end_block, follow_block, start_block, sweep
from android_runner.staging import StageUnit, stage, staged_dir
from orchestrator.farm.attempts import Placed, attempt_of
from orchestrator.farm.kit import SCRIPT_NAME, LaneKit, failed, task_of, units_for
from orchestrator.farm.messages import (
    BlockOrder,
    BlockOutcome,
    BlockStored,
    BlockTidied,
    LaneBroken,
    Report,
    Staged,
    TrialSeen,
)
from orchestrator.farm.pacing import pace_of, took_s
from orchestrator.farm.protocol import BlockEnded, PhoneUp, WorkEnded
from orchestrator.farm.returning import Returns, answers_again, reach
from orchestrator.outcome import Failed
from orchestrator.plan.case import Purpose
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.records import AttemptRecord

ATTEMPTS_AT_ONCE = 4
STAGE_S = 300.0
STAGE_BYTES_S = 500_000
"""What staging may take: its turns, and half of what full-speed USB (12 Mbit/s) carries."""
START_DEADLINE_S = 30.0


class Lane:
    """A phone's thread with its inbox. `post` hands reports to the loop, from any thread."""

    def __init__(
        self, kit: LaneKit, evidence: EvidenceStore, scratch: Path, post: Callable[[Report], None], clock: Clock
    ) -> None:
        self.kit = kit
        self.evidence = evidence
        self.scratch = scratch / kit.phone.replace("/", "_")
        self.post = post
        self.clock = clock
        self.control = BlockControl()
        self.swept = False
        self._ended = threading.Event()
        self._inbox: SimpleQueue[BlockOrder | BlockStored | Callable[[], None] | None] = SimpleQueue()
        self._unstored: dict[str, BlockStored] = {}
        self._thread = threading.Thread(target=self._live, name=f"lane {kit.phone}", daemon=True)

    def start(self) -> None:
        """Begin; the first report is `PhoneUp` or `PhoneGone`."""
        self._thread.start()

    def give(self, order: BlockOrder) -> None:
        """Carry a block out after what was given before."""
        self._inbox.put(order)

    def between(self, act: Callable[[], None]) -> None:
        """Do something after what was given before, while no block of ours is on the phone."""
        self._inbox.put(act)

    def stored(self, block_id: str) -> None:
        """The rows of a block that was reported are safe: tidy up behind it, before what is given after this."""
        stored = self._unstored.pop(block_id, None)
        if stored is not None:
            self._inbox.put(stored)

    def tidy(self, block_id: str) -> None:
        """Remove what is left of a block that the ledger has closed."""
        self._inbox.put(BlockStored(Block(block_id=block_id, epoch=0, tasks=()), over=False))

    def end(self) -> None:
        """Take nothing more; the thread ends after what it was given, and waits for no phone that was given up."""
        self._ended.set()
        self._inbox.put(None)

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread's end; whether it came."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _live(self) -> None:
        try:
            self.post(PhoneUp(self.kit.phone))
            import android_runner.verdict  # noqa: F401, PLC0415 - its numpy loads while the phone takes its files

            while (order := self._inbox.get()) is not None:
                if isinstance(order, BlockStored):
                    self._tidy(order.block, over=order.over)
                elif isinstance(order, BlockOrder):
                    self._carry_out(order)
                else:
                    order()
        except BaseException as error:  # noqa: BLE001 - the top of a thread: a bug here must reach the loop
            self.post(LaneBroken(self.kit.phone, error))

    def _carry_out(self, order: BlockOrder) -> None:
        """Place, run and report a block. A lost link costs waiting, and what the ladder tries; no trial an attempt.

        A phone that is given up is looked for while the run lasts: when it comes back, its block is followed on.
        """
        self._pause(order.pause_s)
        placed, refused = self._place(order)
        returns = Returns(self.kit.phone, self.kit.ladder, self.clock, self.post, self._hurried)
        while True:
            try:
                report = self._run(reach(self.kit.source, self.kit.ladder, self.clock), order, placed)
            except HostileAnswer as error:
                self._nothing_ran(order, failed(error))
                return
            except LinkError as error:
                if returns.back_after(error):
                    continue
                if returns.put_aside or not answers_again(self.kit.ladder, self.clock, self._ended.is_set):
                    return
                self.post(PhoneUp(self.kit.phone))
                order = replace(order, adopted=True)  # what it had not begun may be another phone's by now
            except RunnerError as error:
                self._nothing_ran(order, failed(error))
                return
            else:
                self._report(order, placed, refused, report)
                return

    def over(self) -> bool:
        """Whether the run, or its part here, was told to stop. Safe from any thread."""
        return bool(self.control.asked()) or self._ended.is_set()

    def _pause(self, pause_s: float) -> None:
        """Wait before a block, unless the run is stopped meanwhile."""
        until = Deadline.after(pause_s, self.clock)
        while not until.passed() and not self.over():
            self.clock.sleep(min(0.2, until.remaining_s()))

    def _hurried(self) -> bool:
        """Whether somebody waits for the end: nothing is worth a long wait then."""
        return "kill" in self.control.asked()

    def _place(self, order: BlockOrder) -> tuple[list[Placed], list[WorkEnded]]:
        placed: list[Placed] = []
        refused: list[WorkEnded] = []
        for index, work in enumerate(order.works):
            try:
                task = task_of(index, work, self.kit)
            except SettingRefused as error:
                refused.append(WorkEnded(work, failed(error)))
                continue
            placed.append(
                Placed(work=work, task=task, block_id=order.block_id, epoch=order.epoch, adopted=order.adopted)
            )
        return placed, refused

    def _run(self, device: Device, order: BlockOrder, placed: list[Placed]) -> BlockReport:
        kit = self.kit
        block = self._block(order, placed)
        folder = self.scratch / order.block_id
        if not order.adopted:
            units = [*kit.materials.common, *units_for(order.works, kit.materials)]
            deadline = self._stage_deadline(units)
            report = stage(device, units, deadline=deadline, verify=kit.verify_staged, turn=kit.turn)
            self.post(Staged(kit.phone, report.pushed_bytes))
            take_lease(device, order.epoch, deadline=Deadline.after(START_DEADLINE_S, self.clock))
            if not self.swept:
                # What a dead run left there would compute beside ours.
                sweep(device, deadline=Deadline.after(START_DEADLINE_S, self.clock))
                self.swept = True
            start_block(
                device,
                block,
                staged_dir(kit.materials.script.digest) / SCRIPT_NAME,
                deadline=Deadline.after(START_DEADLINE_S, self.clock),
            )
        ahead = self._stage_ahead(order)
        try:
            return follow_block(
                kit.source,
                block,
                collect_dir=folder,
                control=self.control,
                clock=self.clock,
                pace=pace_of(order, self.kit.ladder.patience),
                on_progress=lambda seen: self.post(TrialSeen(kit.phone, seen.task_id)),
            )
        finally:
            if ahead is not None:
                ahead.join()

    def _stage_deadline(self, units: Sequence[StageUnit]) -> Deadline:
        size_bytes = sum(file.size_bytes() for unit in units for file in unit.files)
        return Deadline.after(STAGE_S + size_bytes / STAGE_BYTES_S, self.clock)

    def _stage_ahead(self, order: BlockOrder) -> threading.Thread | None:
        units = units_for(order.next_cases, self.kit.materials)
        if not units:
            return None
        present = [*self.kit.materials.common, *units_for(order.works, self.kit.materials)]
        in_use = [unit.digest for unit in present]

        def carry() -> None:
            # What fails here fails again, and is reported, when the block that needs it is given.
            try:
                device = self.kit.source()
                deadline = self._stage_deadline(units)
                report = stage(device, units, deadline=deadline, keep=in_use, turn=self.kit.turn)
            except RunnerError:
                return
            self.post(Staged(self.kit.phone, report.pushed_bytes))

        thread = threading.Thread(target=carry, name=f"stage {self.kit.phone}", daemon=True)
        thread.start()
        return thread

    def _report(self, order: BlockOrder, placed: list[Placed], refused: list[WorkEnded], report: BlockReport) -> None:
        by_id = {each.task.task_id: each for each in placed}
        now = self.clock.now()

        def read(folder: TrialFolder) -> tuple[AttemptRecord, WorkEnded]:
            return attempt_of(by_id[folder.task_id], folder, self.kit, self.evidence, now)

        with ThreadPoolExecutor(ATTEMPTS_AT_ONCE) as pool:  # mostly waits for the disk
            results = list(pool.map(read, report.folders))
        cut_short = {folder.task_id for folder in report.folders if folder.ending is Ending.STOPPED}
        not_started = tuple(by_id[task_id].work for task_id in (*report.not_started, *sorted(cut_short)))
        ended = (
            end for folder, (_, end) in zip(report.folders, results, strict=True) if folder.task_id not in cut_short
        )
        event = BlockEnded(self.kit.phone, (*ended, *refused), not_started, took_s=took_s(report))
        self._unstored[order.block_id] = BlockStored(self._block(order, placed))
        attempts = tuple(record for record, _ in results)
        self.post(BlockOutcome(block_id=order.block_id, ending=report.ending.value, attempts=attempts, event=event))

    def _tidy(self, block: Block, *, over: bool) -> None:
        """What is safe in the ledger need not stay on the phone; a phone that is away keeps it for the next time."""
        shutil.rmtree(self.scratch / block.block_id, ignore_errors=True)
        deadline = Deadline.after(START_DEADLINE_S, self.clock)
        try:
            device = self.kit.source()
            if not over:
                end_block(device, block, deadline=deadline)
            clean_block(device, block, deadline=deadline)
        except RunnerError:
            return
        self.post(BlockTidied(self.kit.phone, block.block_id))

    def _block(self, order: BlockOrder, placed: list[Placed]) -> Block:
        tasks = tuple(each.task for each in placed)
        timed = any(work.purpose is Purpose.TIME for work in order.works)
        long = any(work.purpose is Purpose.SUSTAIN for work in order.works)
        return Block(
            block_id=order.block_id,
            epoch=order.epoch,
            tasks=tasks,
            task_profile=self.kit.task_profile,
            limits=self.kit.limits if timed or long else None,
            gate_once=long,
        )

    def _nothing_ran(self, order: BlockOrder, failure: Failed) -> None:
        # It may run all the same: a phone that lied about its journal has a script.
        self._unstored[order.block_id] = BlockStored(self._block(order, []), over=False)
        event = BlockEnded(self.kit.phone, (), order.works, failure)
        self.post(BlockOutcome(block_id=order.block_id, ending="failed", attempts=(), event=event))

"""Going on after a death: what an earlier process left on phones is followed to its end and taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

from android_runner.deadline import Clock
from orchestrator.farm.kit import LaneKit
from orchestrator.farm.lane import Lane
from orchestrator.farm.messages import BlockOrder, BlockOutcome, LaneBroken, Report
from orchestrator.farm.protocol import PhoneGone
from orchestrator.farm.worktext import work_from_text
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import BlockRecord


def order_of(record: BlockRecord) -> BlockOrder:
    """An earlier process's block as an order to adopt it. Tasks are numbered, so their names sort as they ran."""
    works = tuple(work_from_text(text, record.phone) for _, text in sorted(record.tasks.items()))
    return BlockOrder(block_id=record.block_id, epoch=record.epoch, works=works, adopted=True)


def adopt_orphans(
    ledger: Ledger,
    blocks: Sequence[BlockRecord],
    kits: Mapping[str, LaneKit],
    evidence: EvidenceStore,
    scratch: Path,
    clock: Clock,
) -> int:
    """Follow every open block whose phone is there to its end, store what it measured; how many attempts that was.

    A block whose phone is away stays open: the next `resume` asks again. Raises what broke a lane: that is a bug.
    """
    reports: SimpleQueue[Report] = SimpleQueue()
    lanes: dict[str, Lane] = {}
    waiting_of = Counter(block.phone for block in blocks if block.phone in kits)
    waiting = waiting_of.total()
    gone: set[str] = set()
    for phone in dict.fromkeys(block.phone for block in blocks if block.phone in kits):
        lane = Lane(kits[phone], evidence, scratch, reports.put, clock)
        for block in blocks:
            if block.phone == phone:
                lane.give(order_of(block))
        lane.start()
        lanes[phone] = lane
    adopted = 0
    while waiting:
        match reports.get():
            case BlockOutcome() as outcome if outcome.event.phone not in gone:
                waiting -= 1
                waiting_of[outcome.event.phone] -= 1
                if outcome.event.failure is None:
                    ledger.record_attempts(outcome.attempts)
                    ledger.close_block(outcome.block_id, outcome.ending, clock.now())
                    lanes[outcome.event.phone].stored(outcome.block_id)
                    adopted += len(outcome.attempts)
            case PhoneGone(phone=phone):
                gone.add(phone)
                waiting -= waiting_of.pop(phone)
            case LaneBroken(error=error):
                raise error
            case _:
                pass
    _end_all(lanes.values())
    return adopted


def _end_all(lanes: Collection[Lane]) -> None:
    for lane in lanes:
        lane.end()
    for lane in lanes:
        lane.join(30.0)

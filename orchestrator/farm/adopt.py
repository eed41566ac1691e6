"""Going on after a death: what an earlier process left on phones is followed to its end and taken over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from android_runner.deadline import Clock
from orchestrator.farm.incidents import write_down
from orchestrator.farm.kit import LaneKit
from orchestrator.farm.lane import Lane
from orchestrator.farm.messages import BlockOrder, BlockOutcome, BlockTidied, LaneBroken, PutAside, Report, RungTried
from orchestrator.farm.protocol import PhoneGone
from orchestrator.farm.worktext import work_from_text
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import BlockRecord


@dataclass(frozen=True, slots=True)
class Adopted:
    """How many attempts were taken over; the phones that went meanwhile and did not come back, each with why."""

    attempts: int
    gone: Mapping[str, str]


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
) -> Adopted:
    """Follow every open block whose phone is there to its end, and store what it measured.

    A block whose phone is away stays open: the next `resume` asks again. Raises what broke a lane: that is a bug.
    """
    return _Adoption(ledger, [block for block in blocks if block.phone in kits], clock).run(kits, evidence, scratch)


class _Adoption:
    """The blocks that are waited for, by phone, and what came of them so far."""

    def __init__(self, ledger: Ledger, blocks: Sequence[BlockRecord], clock: Clock) -> None:
        self._ledger = ledger
        self._blocks = blocks
        self._clock = clock
        self._waiting = Counter(block.phone for block in blocks)
        self._lanes: dict[str, Lane] = {}
        self._adopted = 0
        self._gone: dict[str, str] = {}

    def run(self, kits: Mapping[str, LaneKit], evidence: EvidenceStore, scratch: Path) -> Adopted:
        """Follow them all."""
        reports: SimpleQueue[Report] = SimpleQueue()
        for phone in self._waiting:
            lane = self._lanes[phone] = Lane(kits[phone], evidence, scratch, reports.put, self._clock)
            for block in self._blocks:
                if block.phone == phone:
                    lane.give(order_of(block))
            lane.start()
        while self._waiting.total():
            self._take(reports.get())
        _end_all(self._lanes.values())
        while not reports.empty():
            self._take(reports.get())
        return Adopted(self._adopted, self._gone)

    def _take(self, report: Report) -> None:
        match report:
            case BlockOutcome(event=event) if self._waiting[event.phone]:
                self._waiting[event.phone] -= 1
                if event.failure is None:
                    self._store(report)
            case PhoneGone(phone=phone, why=why):
                self._waiting[phone] = 0
                self._gone[phone] = why
            case BlockTidied(block_id=block_id):
                self._ledger.block_tidied(block_id, self._clock.now())
            case LaneBroken(error=error):
                raise error
            case RungTried() | PutAside() as trouble:
                write_down(trouble, self._blocks[0].run_id, self._ledger, self._clock.now())
            case _:
                pass

    def _store(self, outcome: BlockOutcome) -> None:
        self._ledger.record_attempts(outcome.attempts)
        self._ledger.close_block(outcome.block_id, outcome.ending, self._clock.now())
        self._lanes[outcome.event.phone].stored(outcome.block_id)
        self._adopted += len(outcome.attempts)


def _end_all(lanes: Collection[Lane]) -> None:
    for lane in lanes:
        lane.end()
    for lane in lanes:
        lane.join(30.0)

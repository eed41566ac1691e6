"""A block's intent, in the ledger before its phone hears of it."""

from __future__ import annotations

from datetime import datetime

from orchestrator.digest import digest_of
from orchestrator.farm.kit import task_id
from orchestrator.farm.messages import BlockOrder
from orchestrator.farm.protocol import RunBlock
from orchestrator.farm.worktext import work_to_text
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import BlockRecord


def open_block(
    command: RunBlock, run_id: str, ledger: Ledger, number: int, *, epoch: int, boot_id: str, now: datetime
) -> BlockOrder:
    """Write down what a phone is about to be given, as the `number`th block of this process; the order for its lane."""
    phone = command.phone
    block_id = f"{run_id}-{digest_of([run_id, phone, epoch, number])[:10]}"
    ledger.open_block(
        BlockRecord(
            block_id=block_id,
            run_id=run_id,
            phone=phone,
            epoch=epoch,
            boot_id=boot_id,
            opened_at=now,
            tasks={task_id(index, work): work_to_text(work) for index, work in enumerate(command.works)},
        )
    )
    return BlockOrder(
        block_id=block_id, epoch=epoch, works=command.works, next_cases=command.next_cases, pause_s=command.pause_s
    )

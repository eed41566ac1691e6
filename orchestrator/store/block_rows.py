"""Blocks as rows, and back. Every function works within a caller's transaction."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from orchestrator.store.codec import from_text, moment_from, moment_text, to_text
from orchestrator.store.records import BlockRecord
from orchestrator.store.schema import BLOCK


def insert_block(connection: sa.Connection, block: BlockRecord) -> None:
    """Write a block's intent down; its name must be free."""
    connection.execute(
        BLOCK.insert().values(
            block_id=block.block_id,
            run_id=block.run_id,
            phone=block.phone,
            epoch=block.epoch,
            boot_id=block.boot_id,
            opened_at=moment_text(block.opened_at),
            tasks=to_text(block.tasks),
        )
    )


def open_of(connection: sa.Connection, run_id: str) -> list[BlockRecord]:
    """Blocks of a run whose end nobody has seen, oldest first."""
    query = sa.select(BLOCK).where(BLOCK.c.run_id == run_id, BLOCK.c.closed_at.is_(None))
    return [_block_from(row) for row in connection.execute(query.order_by(BLOCK.c.opened_at, BLOCK.c.block_id))]


def _block_from(row: Any) -> BlockRecord:
    return BlockRecord(
        block_id=row.block_id,
        run_id=row.run_id,
        phone=row.phone,
        epoch=row.epoch,
        boot_id=row.boot_id,
        opened_at=moment_from(row.opened_at),
        tasks=from_text(dict[str, str], row.tasks),
    )

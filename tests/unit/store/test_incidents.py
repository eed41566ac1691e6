"""What happened to phones in a run, kept and read again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sample_run as sample

from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.ledger import Ledger

pytestmark = pytest.mark.usefixtures("each_database")

AT = datetime(2026, 4, 12, 2, 10, tzinfo=UTC)


def test_incidents_stand_in_their_order_in_ledger_and_frame(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(sample.contents())
    phone = sample.contents().phones[0].phone
    records = [
        IncidentRecord(run_id=sample.RUN, phone=phone, at=AT, seen="no answer", rung="wait", result="in vain"),
        IncidentRecord(
            run_id=sample.RUN, phone="", at=AT, seen="adb server", rung="started again", result="back",
            words="it had died\x00", took_s=1.5,
        ),
    ]  # fmt: skip
    for one in records:
        ledger.incidents.add(one)
    kept = ledger.incidents.of(sample.RUN)
    assert kept[0] == records[0]
    assert kept[1].words == "it had died\\x00"
    assert ledger.incidents.of("another") == []
    frame = RunFrames(ledger, EvidenceStore(tmp_path), sample.RUN).incidents
    assert list(frame["rung"]) == ["wait", "started again"]
    assert frame["phone"].isna().tolist() == [False, True]
    ledger.close()

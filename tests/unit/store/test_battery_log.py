"""Readings of batteries in the ledger: one a phone and run, as a run's report saw them, and now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sample_run as sample

from android_runner.battery import BatteryReading
from android_runner.facts import Vitals
from orchestrator.store.battery_rows import with_batteries
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger

pytestmark = pytest.mark.usefixtures("each_database")

LATER = "0413-quick-zzzz"
PHONE = sample.contents().phones[0].phone
FIRST = BatteryReading(
    at=sample.START, place="usb:1-1.3", level=78, health="Good", full_uah=4_000_000, design_uah=4_500_000
)
SECOND = replace(FIRST, at=sample.START + timedelta(days=30), full_uah=3_000_000)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.open(tmp_path)
    made.add_run(sample.contents())
    made.add_run(sample.contents(LATER, created_at=SECOND.at))
    yield made
    made.close()


def test_a_run_has_one_reading_a_phone_and_the_first_stays(ledger: Ledger) -> None:
    ledger.batteries.add(sample.RUN, {PHONE: FIRST})
    ledger.batteries.add(sample.RUN, {PHONE: replace(FIRST, level=1)})
    ledger.batteries.add(LATER, {PHONE: SECOND})
    assert ledger.batteries.of(PHONE) == [FIRST, SECOND]
    assert ledger.batteries.of(PHONE, up_to_run=sample.RUN) == [FIRST]
    assert ledger.batteries.of("nobody") == []
    assert ledger.batteries.of(PHONE, up_to_run="no-run") == []


def test_a_report_says_what_was_known_when_its_run_began(ledger: Ledger, tmp_path: Path) -> None:
    ledger.batteries.add(sample.RUN, {PHONE: FIRST})
    ledger.batteries.add(LATER, {PHONE: SECOND})
    before, after = (RunFrames(ledger, EvidenceStore(tmp_path), run).phones for run in (sample.RUN, LATER))
    assert before["place"][0] == "usb:1-1.3"
    assert before["battery_capacity"][0] == pytest.approx(4.0 / 4.5)
    assert before["battery_care"].isna()[0]
    assert list(after["battery_care"][0]) == ["battery holds 78 % of its design: replace it before it swells"]


def test_a_battery_that_falls_in_a_run_names_its_hub(ledger: Ledger) -> None:
    ledger.batteries.add(sample.RUN, {PHONE: FIRST})
    trials = [one for one in sample.contents().trials if one.phone == PHONE]

    def vitals(level: int, uptime_s: float) -> Vitals:
        return Vitals(battery_level=level, uptime_s=uptime_s, boot_id="ab" * 16)

    attempts = [
        sample.attempt(trials[0], "a1", before=vitals(78, 100.0), after=vitals(77, 110.0)),
        sample.attempt(trials[1], "a2", before=vitals(72, 2490.0), after=vitals(71, 2500.0)),
    ]
    (row,) = with_batteries([{"phone": PHONE}], sample.RUN, ledger.batteries, attempts)
    (words,) = [one for one in row["battery_care"] if "fell" in one]  # type: ignore[attr-defined]
    assert words.startswith(
        "battery fell from 78 to 71 % in 40 min while plugged in: hub 1-1 gives it too little power"
    )
    assert with_batteries([{"phone": "nobody"}], sample.RUN, ledger.batteries, attempts) == [{"phone": "nobody"}]

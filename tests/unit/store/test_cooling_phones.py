"""Which phones are too warm now, and how long each needs, as the ledger tells of its newest runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import sample_run as sample

from android_runner.adb.discovery import SeenPhone
from android_runner.adb.server import AdbServer
from android_runner.block import GateOutcome, GateWait
from android_runner.device import Serial
from android_runner.facts import Vitals
from orchestrator.app.batteries import cooling_of
from orchestrator.app.phones import Phone
from orchestrator.home import home_at
from orchestrator.store.ledger import Ledger

WARM, COOL = sample.PHONES


def phone(identity: str, battery_c: float | None) -> Phone:
    seen = SeenPhone(Serial(identity), "device", None, "usb:1-1", "")
    vitals = Vitals(battery_c=battery_c) if battery_c is not None else None
    return Phone(seen, AdbServer(port=1), sample.facts(identity), vitals, "")


def test_a_warm_phone_needs_as_long_as_its_waits_say(tmp_path: Path) -> None:
    home = home_at(str(tmp_path))
    here = [phone(WARM, 39.0), phone(COOL, 31.0)]
    assert cooling_of(here, home) == {WARM: "cooling"}
    ledger = Ledger.open(home.root)
    ledger.add_run(sample.contents())
    first, second = (one for one in sample.contents().trials if one.phone == WARM and one.position == 0)
    hot, cooled = sample.attempt(first, "one"), sample.attempt(second, "two")
    assert hot.after is not None
    assert cooled.before is not None
    ledger.record_attempts(
        [
            replace(hot, after=replace(hot.after, battery_c=40.0)),
            replace(
                cooled,
                before=replace(cooled.before, battery_c=37.0),
                gate=GateWait(waited_s=300, outcome=GateOutcome.READY, cause="battery"),
            ),
        ]
    )
    ledger.close()
    assert cooling_of(here, home) == {WARM: "cooling, ~4 min"}
    assert cooling_of([phone(WARM, 36.9), phone(COOL, None)], home) == {}

"""Going on with a run names each of its phones that is not there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import sample_run as sample

from android_runner.adb.discovery import SeenPhone
from android_runner.adb.server import AdbServer
from android_runner.device import Serial
from orchestrator.app.phones import ABSENT, Phone
from orchestrator.app.resuming import phones_of, updated_phones
from orchestrator.app.site import Site
from orchestrator.errors import NoUsableDevice
from orchestrator.home import home_at


def phone(identity: str) -> Phone:
    seen = SeenPhone(Serial(identity), "device", None, "usb:1-1", "")
    return Phone(seen, AdbServer(port=1), sample.facts(identity), None, "")


class Said:
    """A site, as far as it is asked here."""

    slots, adb_port = 1, 5037

    def __init__(self, folder: Path) -> None:
        self.home = home_at(str(folder))
        self.lines: list[str] = []
        self.say = self.lines.append


def test_a_phone_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = sample.contents().phones
    attached = [phone(records[0].phone)]
    monkeypatch.setattr("orchestrator.app.resuming.restart_virtual", lambda *_: [])
    monkeypatch.setattr("orchestrator.app.resuming.plugged_in", lambda *_: list(attached))
    site = Said(tmp_path)
    assert [one.identity for one in phones_of(records, cast(Site, site))] == [records[0].phone]
    assert site.lines == [f"left out  {records[1].label}  not there: {ABSENT}"]
    attached.clear()
    with pytest.raises(NoUsableDevice, match=f"{records[0].label}  not there: look after its cable"):
        phones_of(records, cast(Site, site))


def test_only_a_phone_whose_build_is_another_one_is_left_out_for_it() -> None:
    here = phone(sample.PHONES[0])
    assert here.facts is not None
    then = {here.identity: here.facts.fingerprint}
    assert updated_phones([here], then) == {}
    assert updated_phones([here], {}) == {}
    now = replace(here, facts=replace(here.facts, fingerprint="google/new:15"))
    assert list(updated_phones([now], then)) == [here.identity]
    assert updated_phones([replace(here, facts=replace(here.facts, fingerprint=""))], then) == {}

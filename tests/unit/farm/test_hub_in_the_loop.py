"""What the loop does of a hub that took phones along: one incident in the ledger, no quarantine for its phones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.deadline import SystemClock
from orchestrator.cli.progress import Progress
from orchestrator.farm.blocks import Rules
from orchestrator.farm.loop import Farm
from orchestrator.farm.messages import HubLost, PutAside
from orchestrator.farm.siblings import HubIncident
from orchestrator.farm.state import FarmState
from orchestrator.store.ledger import Ledger
from tests.unit.store import sample_run as sample

PHONES = sorted(one.phone for one in sample.contents().phones)


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(sample.contents())
    yield Farm(sample.RUN, FarmState([], Rules(), phones=PHONES), ledger, Progress(), SystemClock())
    ledger.close()


def test_a_hub_is_one_incident_and_its_phones_are_not_put_aside(farm: Farm) -> None:
    incident = HubIncident(hub="1-1", phones=tuple(PHONES), first_s=1.0, last_s=2.0)
    farm.blames_hub = lambda phone: phone == PHONES[0]
    farm.post(HubLost(incident))
    farm.post(PutAside(PHONES[0], "no answer", "wait: in vain", 1800.0))
    farm.post(PutAside(PHONES[-1], "no answer", "wait: in vain", 1800.0))
    farm.take_last()
    (written,) = farm.ledger.incidents.of(sample.RUN)
    assert (written.phone, written.words) == ("", incident.words())
    kept_out = [phone for phone in PHONES if farm.ledger.phones.get(phone).quarantine is not None]
    assert kept_out == [PHONES[-1]]

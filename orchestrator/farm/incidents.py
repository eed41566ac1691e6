"""What lanes and keepers report beside trials goes to the ledger: rungs, events of adb servers and hubs, quarantine."""

from __future__ import annotations

from datetime import datetime, timedelta

from android_runner.recovery.keeper import ServerNews
from android_runner.recovery.rungs import Result
from orchestrator.farm.messages import HubLost, PutAside, RungTried, ServerSeen
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.ledger import Ledger
from orchestrator.store.registered import Quarantine

Trouble = RungTried | ServerSeen | HubLost | PutAside
SERVER = "adb server"
HUB = "hub"


def write_down(report: Trouble, run_id: str, ledger: Ledger, now: datetime) -> str:
    """Write one down; what people are told of it."""
    match report:
        case RungTried(phone, step):
            ledger.incidents.add(
                IncidentRecord(
                    run_id=run_id, phone=phone, at=now, seen=step.seen, rung=step.rung, result=step.result,
                    words=step.words, took_s=step.took_s,
                )
            )  # fmt: skip
            return f"{phone}: {step.seen}; {step.rung}: {step.result}" if step.result is not Result.ENDED else ""
        case ServerSeen(event):
            lost = event.news is ServerNews.LOST
            again = f"; connected again: {', '.join(event.phones)}" if event.phones else ""
            ledger.incidents.add(
                IncidentRecord(
                    run_id=run_id, phone="", at=now, seen=SERVER, rung=event.news,
                    result=Result.FAILED if lost else Result.BACK, words=event.words + again,
                )
            )  # fmt: skip
            return event.words
        case HubLost(incident):
            words = incident.words()
            ledger.incidents.add(
                IncidentRecord(
                    run_id=run_id, phone="", at=now, seen=HUB, rung="phones lost together", result=Result.ENDED,
                    words=words,
                )
            )  # fmt: skip
            return words
        case PutAside(phone, reason, evidence, lasts_s):
            expires = None if lasts_s is None else now + timedelta(seconds=lasts_s)
            ledger.phones.quarantine(
                phone, Quarantine(reason=reason, since=now, by=run_id, evidence=evidence, expires=expires)
            )
            return f"{phone} is in quarantine: {reason}"

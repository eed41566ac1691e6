"""Pure: what is sent to people: the alerts that opened or ended, and the digest below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.nights.alerts import Alert, Folded
from orchestrator.report.lines import shown
from orchestrator.report.morning.nouns import Digest
from orchestrator.report.morning.text import digest_text
from orchestrator.report.morning.words import alert_words, night_words

MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Message:
    """A line and a text, both plain."""

    title: str
    text: str


def morning_message(one: Digest, folded: Folded) -> Message | None:
    """What is told at a night's end; None where no alert opened or ended: who wants to look has the digest."""
    if not folded.opened and not folded.closed:
        return None
    alerts = [shown(alert_words(alert, one.night)) for alert in (*folded.opened, *folded.closed)]
    title = f"{one.nightly}, {night_words(one.night)}: {one.sentence}"
    return Message(shown(title[:MAX_TITLE]), "\n".join([*alerts, "", digest_text(one)]))


def sudden_message(nightly: str, night: str, alerts: Sequence[Alert]) -> Message:
    """What is told while the night goes on."""
    words = [shown(one.words) for one in alerts]
    return Message(shown(f"{nightly}, {night_words(night)}: {alerts[0].words}"[:MAX_TITLE]), "\n".join(words) + "\n")

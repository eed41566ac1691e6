"""Pure: phones of one hub that are lost together are one incident of the hub, and none of theirs.

A hub that browns out, or a controller that dies, takes all its phones at once; a cable takes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from android_runner.host.usb_path import hub_words, hubs_above, is_root, one_half

TOGETHER_S = 10.0
"""Two losses within this time below one hub are the hub's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubIncident:
    """A hub, another `host`'s or this computer's, lost these phones (sorted), the first at `first_s` and the last at
    `last_s` of a clock that never goes back."""

    hub: str
    phones: tuple[str, ...]
    first_s: float
    last_s: float
    host: str = ""

    def words(self) -> str:
        """What happened, for people, with what to do."""
        who = ", ".join(self.phones)
        where = f"host {self.host}: {hub_words(self.hub)}" if self.host else hub_words(self.hub)
        mend = (
            "restart the computer, or another USB card" if is_root(self.hub) else "look after its supply and its cable"
        )
        return f"{where} lost {len(self.phones)} phones within {TOGETHER_S:.0f} s ({who}): {mend}"


class Siblings:
    """Who hangs where, who is lost since when, and which incidents came of it.

    `paths` are the phones' USB paths, `peers` the two halves of USB 3 ports, `host` whose hubs these are if not ours.
    """

    def __init__(self, paths: Mapping[str, str], peers: Mapping[str, str] | None = None, host: str = "") -> None:
        self._host = host
        self._above = {
            phone: [hub if is_root(hub) else one_half(hub, peers or {}) for hub in hubs_above(path)]
            for phone, path in paths.items()
        }
        self._lost: dict[str, float] = {}
        self._incidents: list[HubIncident] = []
        self._told: set[HubIncident] = set()

    def worth_watching(self) -> bool:
        """Whether two phones share a hub, or a controller."""
        return any(len(self._below(hub)) > 1 for hubs in self._above.values() for hub in hubs)

    def lost(self, phone: str, at_s: float) -> HubIncident | None:
        """A phone is gone. The incident of a hub that this makes, or widens; None where it does neither."""
        if phone not in self._above or phone in self._lost:
            return None
        self._lost[phone] = at_s
        together = {one for one, since_s in self._lost.items() if at_s - since_s <= TOGETHER_S}
        hub = self._hub_of(phone, together)
        return None if hub is None else self._widened(hub, together & self._below(hub), at_s)

    def over(self, now_s: float) -> list[HubIncident]:
        """Incidents that no further phone can join; each is given once."""
        ended = [one for one in self._incidents if one.last_s + TOGETHER_S < now_s and one not in self._told]
        self._told.update(ended)
        return ended

    def back(self, phone: str) -> None:
        """A phone is there again: its next loss is another."""
        self._lost.pop(phone, None)

    def blamed(self, phone: str) -> bool:
        """Whether the phone is gone, and that was its hub's doing."""
        since_s = self._lost.get(phone)
        return since_s is not None and any(
            phone in one.phones and one.first_s <= since_s <= one.last_s for one in self._incidents
        )

    def _below(self, hub: str) -> set[str]:
        return {phone for phone, hubs in self._above.items() if hub in hubs}

    def _hub_of(self, phone: str, together: set[str]) -> str | None:
        """The nearest hub below which two are lost; one further up where all of its phones are. None: a cable."""
        found: str | None = None
        for hub in self._above[phone]:
            below = self._below(hub)
            gone = below & together
            if len(gone) < 2:
                continue
            if (found is None and not is_root(hub)) or (
                below <= together and (found is None or gone != self._below(found) & together)
            ):
                found = hub
        return found

    def _widened(self, hub: str, phones: set[str], at_s: float) -> HubIncident | None:
        first_s = min(self._lost[phone] for phone in phones)
        for one in list(self._incidents):
            if set(one.phones) & phones and one.last_s >= first_s:
                if phones <= set(one.phones):
                    return None
                phones, first_s = phones | set(one.phones), min(first_s, one.first_s)
                self._incidents.remove(one)
        incident = HubIncident(hub=hub, phones=tuple(sorted(phones)), first_s=first_s, last_s=at_s, host=self._host)
        self._incidents.append(incident)
        return incident

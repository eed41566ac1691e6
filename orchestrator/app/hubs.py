"""The hubs of this host in a run: where phones hang, and whose turn it is to take files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from android_runner.deadline import Clock
from android_runner.host.usb_path import hub_above, path_of
from android_runner.host.usb_tree import THIS, UsbTree, read_usb_tree
from orchestrator.app.phones import Phone
from orchestrator.farm.hub_watch import HubWatch
from orchestrator.farm.siblings import HubIncident, Siblings
from orchestrator.farm.turns import PushTurns
from orchestrator.lab import LabTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Hubs:
    """The USB as it was when the run began, and the turns of all its phones."""

    tree: UsbTree = field(default_factory=UsbTree)
    turns: PushTurns = field(default_factory=lambda: PushTurns(LabTable().push_per_hub, LabTable().push_per_host))

    def hub_of(self, phone: Phone) -> str:
        """The hub that a phone hangs on, another host's with that one's name; empty where it hangs on none."""
        path = path_of(phone.seen.where)
        host = phone.server.of
        return f"{host} {hub_above(path)}" if host and path else "" if host else self.tree.hub_of(path)

    def watches(self, phones: Sequence[Phone], tell: Callable[[HubIncident], object], clock: Clock) -> list[HubWatch]:
        """Watches for siblings that go together, one for each adb server behind which there are some."""
        watches = []
        for server in {phone.server for phone in phones}:
            here = [phone for phone in phones if phone.server == server]
            paths = {_identity(phone): path_of(phone.seen.where) for phone in here}
            siblings = Siblings(paths, {} if server.of else self.tree.peers, server.of)
            if siblings.worth_watching():
                serials = {str(phone.seen.serial): _identity(phone) for phone in here}
                watches.append(HubWatch(server, serials, siblings, tell, clock))
        return watches

    def turn_of(self, phone: Phone) -> Callable[[], AbstractContextManager[None]]:
        """What a push to this phone waits for. A virtual phone shares no cable and waits for nothing."""
        if phone.facts is not None and phone.facts.virtual:
            return nullcontext
        return partial(self.turns.turn, self.hub_of(phone))


def _identity(phone: Phone) -> str:
    return phone.facts.identity if phone.facts is not None else phone.label


def hubs_for(lab: LabTable, root: Path = THIS) -> Hubs:
    """The hubs below `root`, with the lab's limits."""
    return Hubs(tree=read_usb_tree(root), turns=PushTurns(lab.push_per_hub, lab.push_per_host))

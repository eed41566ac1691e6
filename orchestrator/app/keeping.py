"""The adb servers of a run, kept, and what the lab allows about phones that do not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from android_runner.adb.discovery import ADDRESS_SHAPE, open_device
from android_runner.adb.server import AdbServer, adb_binary, real_server
from android_runner.deadline import Deadline
from android_runner.device import Device
from android_runner.errors import LinkLost
from android_runner.host.processes import process_of
from android_runner.recovery.answer import Expected
from android_runner.recovery.climb import Patience
from android_runner.recovery.hands import PhoneHands
from android_runner.recovery.keeper import Keeper, ServerEvent
from android_runner.recovery.rungs import Allowed
from orchestrator.app.hosts import answering
from orchestrator.app.phones import OPEN_DEADLINE_S, Phone
from orchestrator.farm.returning import Ladder
from orchestrator.home import Home
from orchestrator.lab import Lab

NETWORK_SETTLE_S = 0.5
"""A phone on the network is there or not; one on a cable comes and goes while it is plugged in."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """A keeper for each adb server of a run, as that was when the run began."""

    home: Home
    lab: Lab = field(default_factory=Lab)
    keepers: dict[AdbServer, Keeper] = field(default_factory=dict)

    def source_of(self, phone: Phone) -> Callable[[], Device]:
        """Opens the phone anew, through a server that was started again where it had died."""
        return partial(_open, self.keeper_of(phone), phone)

    def turn_of(
        self, phone: Phone, hub: Callable[[], AbstractContextManager[None]]
    ) -> Callable[[], AbstractContextManager[None]]:
        """What a push waits for: its turn at the hub, and a server that is not just being restarted."""
        return partial(_turn, self.keeper_of(phone), hub)

    def ladder_of(self, phone: Phone) -> Ladder:
        """What may be done about this phone when it does not answer."""
        assert phone.facts is not None
        keeper, recovery = self.keeper_of(phone), self.lab.recovery_of(phone.facts.identity)
        serial = str(phone.seen.serial)
        here = not phone.server.of  # another host's cables and hubs are out of reach
        network = ADDRESS_SHAPE.fullmatch(serial) is not None
        return Ladder(
            hands=PhoneHands(keeper, serial, Expected(phone.facts.identity, phone.facts.fingerprint)),
            allowed=Allowed(
                usb_reset=recovery.usb_reset and here,
                reboot=recovery.reboot,
                hub_power=recovery.hub_power and here,
                boot_timeout_s=recovery.boot_timeout_minutes * 60,
            ),
            patience=Patience.of(recovery.wait_seconds, settle_s=NETWORK_SETTLE_S if network else None),
            stuck=partial(keeper.stuck, phone.facts.identity),
            boot_id=(phone.vitals.boot_id if phone.vitals is not None else None) or "",
        )

    def keeper_of(self, phone: Phone) -> Keeper:
        """The keeper of the server that the phone was seen behind."""
        server = phone.server
        if server not in self.keepers:
            virtual = phone.facts is not None and phone.facts.virtual
            revive = partial(_virtual_server, self.home) if virtual else partial(real_server, server.port)
            self.keepers[server] = Keeper(server, partial(answering, server) if server.of else revive)
        return self.keepers[server]

    def watch(self, phones: Sequence[Phone], told: Callable[[ServerEvent], object]) -> None:
        """Let the keepers remember who serves now; `told` hears what happens to the servers."""
        for server in dict.fromkeys(phone.server for phone in phones):
            here = [phone for phone in phones if phone.server == server]
            virtual = not server.of and all(phone.facts is not None and phone.facts.virtual for phone in here)
            known = process_of(_virtual_pid(self.home), Path("/")) if virtual else None
            self.keeper_of(here[0]).watch([str(phone.seen.serial) for phone in here], told, known)


def _open(keeper: Keeper, phone: Phone) -> Device:
    try:
        return open_device(keeper.server, phone.seen.serial, Deadline.after(OPEN_DEADLINE_S))
    except LinkLost:
        if not keeper.look_after():
            raise
        return open_device(keeper.server, phone.seen.serial, Deadline.after(OPEN_DEADLINE_S))


@contextmanager
def _turn(keeper: Keeper, hub: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with hub(), keeper.transfer():
        yield


def _virtual_server(home: Home) -> AdbServer:
    from android_runner.virtual.lifecycle import ensure_server  # noqa: PLC0415 - only for virtual phones

    return AdbServer(port=ensure_server(home.root, adb_binary()).port)


def _virtual_pid(home: Home) -> int:
    from android_runner.virtual.lifecycle import running_server_pid  # noqa: PLC0415 - only for virtual phones

    return running_server_pid(home.root)

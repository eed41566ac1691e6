"""What this host can see of one phone and do to it: through its adb server, its USB device and its hub's port."""

from __future__ import annotations

from contextlib import suppress

from android_runner.adb.discovery import ADDRESS_SHAPE, connect, disconnect
from android_runner.deadline import Deadline
from android_runner.errors import LinkError, RunnerError
from android_runner.recovery.answer import Expected
from android_runner.recovery.keeper import CONNECT_S, Keeper
from android_runner.recovery.looking import look
from android_runner.recovery.rungs import Means, Rung, Seen, Sighting
from android_runner.recovery.usb import RungFailed, UsbHost


class PhoneHands:
    """Hands for the phone behind `serial`; where it hangs on the bus is read while it is well, as it may go later."""

    def __init__(self, keeper: Keeper, serial: str, expected: Expected, usb: UsbHost | None = None) -> None:
        self.keeper = keeper
        self.serial = serial
        self.expected = expected
        self.usb = usb if usb is not None else UsbHost()
        self._place = None if self.over_network else self.usb.place(serial)

    @property
    def over_network(self) -> bool:
        """Whether the phone is reached by an address."""
        return ADDRESS_SHAPE.fullmatch(self.serial) is not None

    def look(self, deadline: Deadline) -> Sighting:
        """What is to be seen now. A server that has died is started again first; a network phone that the server does
        not know is connected: nobody else would."""
        with suppress(LinkError):
            self.keeper.look_after()
        seen = self._look(deadline)
        if seen.seen is Seen.GONE and self.over_network:
            with suppress(LinkError):
                connect(self.keeper.server, self.serial, deadline.clip(CONNECT_S))
                seen = self._look(deadline)
        if seen.seen is Seen.SERVER_SILENT:
            return Sighting(Seen.SERVER_SILENT, f"{seen.words}; it is {self.keeper.whose()}")
        return seen

    def _look(self, deadline: Deadline) -> Sighting:
        return look(self.keeper.server, self.serial, self.expected, self.usb, deadline)

    def means(self, seen: Seen) -> Means:
        """What this host could do now."""
        place = None if self.over_network else self.usb.place(self.serial)
        self._place = place or self._place
        return Means(
            on_bus=place is not None,
            hub_port=self._place is not None and self.usb.uhubctl is not None,
            server_to_blame=self.keeper.to_blame(silent=seen is Seen.SERVER_SILENT),
        )

    def act(self, rung: Rung, deadline: Deadline) -> str:
        """Carry out one rung. Raises RungFailed, `LinkError`."""
        match rung:
            case Rung.RECONNECT:
                return self._reconnect(deadline)
            case Rung.USB_RESET:
                return self.usb.reset(self.serial)
            case Rung.REBOOT:
                return self._reboot(deadline)
            case Rung.HUB_POWER if self._place is not None:
                return self.usb.cycle_power(self._place)
            case Rung.SERVER_RESTART:
                return self._restart()
            case _:
                raise RungFailed(f"{rung}: this host can't")

    def _reconnect(self, deadline: Deadline) -> str:
        """A network phone is connected anew (adb's own `reconnect` makes it vanish); of another the link is closed."""
        if self.over_network:
            with suppress(RunnerError):
                disconnect(self.keeper.server, self.serial, deadline)
            connect(self.keeper.server, self.serial, deadline)
            return f"{self.serial} was connected anew"
        self.keeper.server.answer(f"host-serial:{self.serial}:reconnect", deadline, serial=self.serial)
        return "adb reconnect"

    def _reboot(self, deadline: Deadline) -> str:
        """`adb reboot`: adbd ends the stream when it has taken it."""
        stream = self.keeper.server.open(self.serial, "reboot:", deadline)
        try:
            with suppress(LinkError):
                while stream.some(deadline):
                    pass
        finally:
            stream.close()
        return "adb reboot"

    def _restart(self) -> str:
        try:
            return self.keeper.restart()
        except ValueError as error:
            raise RungFailed(str(error)) from error

"""Pure: which rung comes next, and how a climb ends.

Each rung is tried once a climb, the mildest first (device-farm practice: tradefed's WaitDeviceRecovery, appium, devil).
What changes a phone or its hub is tried only where the lab's file allows it. Where no rung can help, a person must act:
nothing is tried for its own sake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from android_runner.recovery.rungs import Allowed, Means, Rung, Seen

_LADDER: Mapping[Seen, tuple[Rung, ...]] = {
    Seen.SERVER_SILENT: (Rung.WAIT, Rung.SERVER_RESTART),
    Seen.GONE: (Rung.WAIT, Rung.RECONNECT, Rung.USB_RESET, Rung.HUB_POWER, Rung.SERVER_RESTART),
    Seen.HELD: (Rung.WAIT,),
    Seen.OFFLINE: (Rung.WAIT, Rung.RECONNECT, Rung.USB_RESET, Rung.HUB_POWER, Rung.SERVER_RESTART),
    Seen.HUNG: (Rung.WAIT, Rung.RECONNECT, Rung.USB_RESET, Rung.REBOOT, Rung.HUB_POWER, Rung.SERVER_RESTART),
    Seen.BOOTING: (Rung.WAIT, Rung.REBOOT),
    Seen.STORAGE: (Rung.WAIT, Rung.REBOOT),
    Seen.RECOVERY: (Rung.WAIT, Rung.REBOOT),
    Seen.BOOTLOADER: (Rung.WAIT,),
    Seen.UNAUTHORIZED: (Rung.WAIT,),
    Seen.NO_PERMISSION: (Rung.WAIT,),
    Seen.AMBIGUOUS: (Rung.WAIT,),
}
"""What can help, by what is seen. `adb reboot` needs an adbd that takes it; power at the port makes a phone that has a
battery enumerate again, no more. After a boot or a replug every state passes: so waiting comes first."""

MENDS: Mapping[Seen, str] = {
    Seen.SERVER_SILENT: "see who runs the adb server, and end it: another is started",
    Seen.GONE: "look after its cable and its hub",
    Seen.HELD: "end the other adb server, or give it another phone",
    Seen.OFFLINE: "replug its cable",
    Seen.HUNG: "hold its power button until it starts again",
    Seen.BOOTING: "look at its screen: it does not come up",
    Seen.STORAGE: "look after its storage: it is full, read-only or not yet unlocked",
    Seen.RECOVERY: "reboot it into Android",
    Seen.BOOTLOADER: "fastboot reboot",
    Seen.UNAUTHORIZED: "accept this computer's key on its screen (unlock it; USB debugging on)",
    Seen.NO_PERMISSION: "install udev rules for it (android-sdk-platform-tools-common), then replug it",
    Seen.AMBIGUOUS: "two phones have this serial: unplug one",
    Seen.STRANGER: "another phone answers at its place: plug the right one in",
    Seen.UPDATED: "its system was updated: figures from before are no measure for it",
}
"""What a person must do where the ladder ends."""

_IN_QUARANTINE = (Seen.OFFLINE, Seen.HUNG, Seen.BOOTING, Seen.STORAGE)
"""Seen of a phone that looks usable again and again: it must prove itself. Any other state shows itself, and is over
when it is mended."""

_UNTIL_RELEASED = (Seen.UPDATED,)
"""Time does not mend it: a person says that the phone is right."""

QUARANTINE_S = 1800.0
"""Half an hour, as tradefed looks again (`device-recovery-interval`)."""
FAILED_OFTEN_S = 86_400.0
"""A day for a phone that failed again and again in a run, or that could not prove itself."""


def next_rung(seen: Seen, tried: Collection[Rung], allowed: Allowed, means: Means) -> Rung:
    """The next thing to do about a phone of which `seen` is seen; QUARANTINE or LEAVE when nothing is left."""
    for rung in _LADDER.get(seen, ()):
        if rung not in tried and _may(rung, allowed, means):
            return rung
    return Rung.QUARANTINE if seen in (*_IN_QUARANTINE, *_UNTIL_RELEASED) else Rung.LEAVE


def quarantine_s(seen: Seen) -> float | None:
    """How long a quarantine for this lasts; None: until a person releases the phone."""
    return None if seen in _UNTIL_RELEASED else QUARANTINE_S


def _may(rung: Rung, allowed: Allowed, means: Means) -> bool:
    match rung:
        case Rung.USB_RESET:
            return allowed.usb_reset and means.on_bus
        case Rung.REBOOT:
            return allowed.reboot
        case Rung.HUB_POWER:
            return allowed.hub_power and means.hub_port
        case Rung.SERVER_RESTART:
            return means.server_to_blame
        case _:
            return True

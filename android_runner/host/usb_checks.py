"""Pure: hubs, controllers, power and permissions on the USB: facts to findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from android_runner.host.finding import HostFinding, Level
from android_runner.host.kernel_log import TroubleKind, UsbTrouble
from android_runner.host.usb_path import device_at_port, hub_words, hubs_above, is_root
from android_runner.host.usb_tree import UsbDevice, UsbTree

MAX_ENDPOINTS = 96
"""Many xHCI controllers stop here: about 32 phones of three endpoints each."""
CROWDED = 0.8
MAX_TIERS = 5
"""External hubs in a row that USB allows (USB 2.0, 4.1.1: seven tiers with host and device)."""
PORT_MA = 100
"""What a hub without a power supply has for each port (USB 2.0, 7.2.1)."""
PHONE_PORTS_PER_SUPPLY = "a hub with its own supply, 60 W for 7 ports"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbFacts:
    """`troubles` is None where the kernel's log can't be read, `denied` the nodes of phones that we may not open."""

    tree: UsbTree
    troubles: Sequence[UsbTrouble] | None
    denied: Sequence[str] = ()
    rules: bool = True
    root: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


def usb_findings(facts: UsbFacts) -> list[HostFinding]:
    """Everything about the USB; one `ok` when nothing is wrong with it."""
    rules = (_udev, _controllers, _hubs, _phones, _log)
    found = [finding for rule in rules for finding in rule(facts)]
    if not any(one.level in (Level.STOP, Level.WARN) for one in found):
        phones, hubs = len(facts.tree.phones()), _outer_hubs(facts.tree)
        seen = f"{phones} phone{'' if phones == 1 else 's'} on {hubs} hub{'' if hubs == 1 else 's'}"
        found.append(HostFinding(check="usb", level=Level.OK, seen=seen if facts.tree.devices else "no USB here"))
    return found


def _outer_hubs(tree: UsbTree) -> int:
    return len({tree.hub_of(phone.path) for phone in tree.phones()} - {""})


def _udev(facts: UsbFacts) -> Iterator[HostFinding]:
    mend = (
        "install android-sdk-platform-tools-common (its udev rules let the group plugdev open phones), "
        "join that group, log in again, replug"
    )
    for path in facts.denied:
        yield HostFinding(
            check="udev",
            level=Level.WARN,
            about=facts.names.get(path, path),
            seen=f"this user may not open the phone at {path}",
            mend=mend,
        )
    if not facts.denied and not facts.rules and not facts.root and facts.tree.devices:
        yield HostFinding(check="udev", level=Level.NOTE, seen="no udev rules for phones", mend=mend)


def _controllers(facts: UsbFacts) -> Iterator[HostFinding]:
    for controller, used in facts.tree.endpoints().items():
        if used >= CROWDED * MAX_ENDPOINTS:
            yield HostFinding(
                check="usb-controller",
                level=Level.WARN,
                about=controller,
                seen=f"{used} endpoints in use; many controllers end at {MAX_ENDPOINTS}, about 32 phones",
                mend="set phones to charging only (MTP takes endpoints), or add a card with a controller a port",
            )


def _hubs(facts: UsbFacts) -> Iterator[HostFinding]:
    tree = facts.tree
    for path, hub in tree.devices.items():
        below = [phone for phone in tree.phones() if path in hubs_above(phone.path)]
        if not hub.is_hub or is_root(path) or not below:
            continue
        if not hub.self_powered:
            yield HostFinding(
                check="hub-power",
                level=Level.WARN,
                about=hub_words(path),
                seen=f"has no power supply of its own ({PORT_MA} mA a port), with {_phones_words(below)}: "
                "their batteries fall while they work",
                mend=f"plug its supply in, or use {PHONE_PORTS_PER_SUPPLY}",
            )
        tier = sum(not is_root(one) for one in hubs_above(path)) + 1
        if tier > MAX_TIERS:
            yield HostFinding(
                check="hub-depth",
                level=Level.WARN,
                about=hub_words(path),
                seen=f"hub {tier} in a row; USB allows {MAX_TIERS}, and a hub of 7 ports is two",
                mend="plug it nearer to the computer",
            )


def _phones_words(phones: Sequence[UsbDevice]) -> str:
    return "a phone" if len(phones) == 1 else f"{len(phones)} phones"


def _phones(facts: UsbFacts) -> Iterator[HostFinding]:
    for phone in facts.tree.phones():
        about = facts.names.get(phone.path, phone.path)
        if 0 < phone.speed_mbps < 480:
            yield HostFinding(
                check="usb-speed",
                level=Level.WARN,
                about=about,
                seen=f"at {phone.speed_mbps:g} Mbit/s: pushing a model takes minutes",
                mend="another cable, then another port",
            )
        if phone.suspends:
            yield HostFinding(
                check="usb-suspend",
                level=Level.NOTE,
                about=about,
                seen="the kernel may suspend it while it is idle",
                mend=f"echo on > /sys/bus/usb/devices/{phone.path}/power/control",
            )


_WORDS: Mapping[TroubleKind, tuple[str, str]] = {
    TroubleKind.OVER_CURRENT: (
        "drew too much current and was switched off",
        f"another cable or phone there; {PHONE_PORTS_PER_SUPPLY}",
    ),
    TroubleKind.NO_POWER: ("got too little power", PHONE_PORTS_PER_SUPPLY),
    TroubleKind.FULL_CONTROLLER: (
        "is full: a phone did not come up",
        "fewer devices on it, phones set to charging only, or a card with a controller a port",
    ),
    TroubleKind.NO_BANDWIDTH: ("has no bandwidth left", "spread the phones over more controllers"),
    TroubleKind.DEAD_CONTROLLER: (
        "died: all phones behind it went away",
        "restart the computer; if again, another card",
    ),
    TroubleKind.NOT_READ: ("a device there could not be read", "another cable, then another port, then another hub"),
    TroubleKind.DISCONNECTS: ("a device there came and went", "another cable, then another port, then another hub"),
}


def _log(facts: UsbFacts) -> Iterator[HostFinding]:
    if facts.troubles is None:
        yield HostFinding(
            check="kernel-log",
            level=Level.NOTE,
            seen="may not be read: hub power and full controllers were not looked at",
            mend="sudo dmesg > FILE, then orch doctor --dmesg FILE",
        )
        return
    for trouble in facts.troubles:
        words, mend = _WORDS[trouble.kind]
        times = "once" if trouble.count == 1 else f"{trouble.count} times"
        yield HostFinding(
            check=f"usb-{trouble.kind.value.replace(' ', '-')}",
            level=Level.WARN,
            about=_place(trouble.where, facts.names),
            seen=f"{words}, {times} since the computer started: {trouble.last}",
            mend=mend,
        )


def _place(where: str, names: Mapping[str, str]) -> str:
    path = device_at_port(where) or where
    return f"{path} ({names[path]})" if path in names else path or "USB"

"""What the kernel's log says of USB, in dmesg's form and in journald's."""

from __future__ import annotations

from android_runner.host.kernel_log import MANY_DISCONNECTS, TroubleKind, usb_troubles

LOG = """\
[   12.000000] usb 1-1.3: new high-speed USB device number 5 using xhci_hcd
[18947.068201] usb usb3-port2: over-current condition
[18948.068201] usb 1-1-port4: over-current change #3
Nov 21 02:10:00 lab kernel: usb 1-1.2: rejected 1 configuration due to insufficient available bus power
[  100.100000] xhci_hcd 0000:00:14.0: Not enough host controller resources for new device state.
[  100.200000] usb 1-1.4: can't set config #1, error -12
[  101.000000] xhci_hcd 0000:05:00.3: Max number of devices this xHCI host supports is 32.
[  102.000000] xhci_hcd 0000:05:00.3: HC died; cleaning up
[  103.000000] usb 2-1.1: device descriptor read/64, error -71
[  104.000000] usb 2-1.1: device descriptor read/64, error -71
[  105.000000] usb 1-1-port2: Cannot enable. Maybe the USB cable is bad?
"""


def test_each_kind_with_its_place_and_count() -> None:
    found = {(one.kind, one.where): one.count for one in usb_troubles(LOG)}
    assert found == {
        (TroubleKind.OVER_CURRENT, "usb3-port2"): 1,
        (TroubleKind.OVER_CURRENT, "1-1-port4"): 1,
        (TroubleKind.NO_POWER, "1-1.2"): 1,
        (TroubleKind.FULL_CONTROLLER, "0000:00:14.0"): 1,
        (TroubleKind.FULL_CONTROLLER, "0000:05:00.3"): 1,
        (TroubleKind.DEAD_CONTROLLER, "0000:05:00.3"): 1,
        (TroubleKind.NOT_READ, "1-1.4"): 1,
        (TroubleKind.NOT_READ, "2-1.1"): 2,
        (TroubleKind.NOT_READ, "1-1-port2"): 1,
    }


def test_a_few_disconnects_are_people() -> None:
    line = "[  9.0] usb 1-1.3: USB disconnect, device number 5\n"
    assert usb_troubles(line * (MANY_DISCONNECTS - 1)) == []
    (trouble,) = usb_troubles(line * MANY_DISCONNECTS)
    assert (trouble.kind, trouble.where, trouble.count) == (TroubleKind.DISCONNECTS, "1-1.3", MANY_DISCONNECTS)


def test_a_hostile_line_is_cleaned() -> None:
    (trouble,) = usb_troubles("usb 1-1: device descriptor read/64, error -71 \x1b[2J" + "x" * 5000)
    assert "\x1b" not in trouble.last
    assert len(trouble.last) <= 200

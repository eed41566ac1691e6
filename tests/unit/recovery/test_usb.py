"""A phone on the bus: found by its serial number, reset, powered through its hub; who else holds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from usb_tree import UID, UsbTree

from android_runner.host.processes import lives
from android_runner.recovery.keeper import serving_on
from android_runner.recovery.looking import missing
from android_runner.recovery.rungs import Seen
from android_runner.recovery.usb import USBDEVFS_RESET, RungFailed


@pytest.fixture
def tree(tmp_path: Path) -> UsbTree:
    return UsbTree(tmp_path)


@pytest.mark.parametrize(("way", "hub", "port"), [("1-1.3", "1-1", 3), ("1-3", "1", 3), ("2-1.4.2.7", "2-1.4.2", 7)])
def test_a_phone_s_hub_and_port_are_read_from_its_way(tree: UsbTree, way: str, hub: str, port: int) -> None:
    node = tree.plug(way, "R58N")
    place = tree.host().place("R58N")
    assert place is not None
    assert (place.way, place.hub, place.port, tree.root / place.node) == (way, hub, port, node)


def test_a_phone_that_is_nowhere_twice_or_named_strangely_has_no_place(tree: UsbTree) -> None:
    assert tree.host().place("R58N") is None
    tree.plug("1-1", "R58N")
    tree.plug("1-2", "R58N", number=5)
    tree.plug("usb1", "ROOT")
    tree.plug("1-1:1.0", "IFACE")
    tree.plug("1-4", "../x")
    assert [tree.host().place(one) for one in ("R58N", "ROOT", "IFACE", "../x", "")] == [None] * 5


def test_a_reset_reaches_the_node_of_that_phone_alone(tree: UsbTree) -> None:
    tree.plug("1-2", "OTHER", number=9)
    node = tree.plug("1-1.3", "R58N", bus=2, number=17)
    assert "1-1.3" in tree.host().reset("R58N")
    assert tree.resets == [(str(node), USBDEVFS_RESET)]
    node.unlink()
    with pytest.raises(RungFailed, match="can't be reset"):
        tree.host().reset("R58N")
    with pytest.raises(RungFailed, match="not attached"):
        tree.host().reset("NOBODY")


def test_uhubctl_is_told_the_hub_and_the_port_and_nothing_of_a_phone_s_making(tree: UsbTree, tmp_path: Path) -> None:
    tree.plug("1-1.3", "R58N")
    host = tree.host()
    place = host.place("R58N")
    assert place is not None
    assert host.uhubctl is None
    with pytest.raises(RungFailed, match="no uhubctl"):
        host.cycle_power(place)
    tree.uhubctl(f'echo "$@" >{tmp_path}/said')
    assert "port 3 of hub 1-1" in host.cycle_power(place)
    assert (tmp_path / "said").read_text() == "-l 1-1 -p 3 -a cycle -d 5\n"


def test_what_uhubctl_refuses_is_told_in_its_words(tree: UsbTree) -> None:
    tree.plug("1-1.3", "R58N")
    tree.uhubctl("echo 'No compatible devices detected at location 1-1!' >&2; exit 1")
    place = tree.host().place("R58N")
    assert place is not None
    with pytest.raises(RungFailed, match=r"ends with 1: No compatible devices"):
        tree.host().cycle_power(place)


def test_another_server_that_holds_the_phone_is_named_with_pid_and_owner(tree: UsbTree) -> None:
    node = f"/{tree.plug('1-1.3', 'R58N').relative_to(tree.root)}"
    (tree.root / "proc/net").mkdir(parents=True)
    (tree.root / "proc/net/tcp").write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:13AD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n"
        "   1: 0100007F:13AD 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n"
    )
    tree.process(50, "adb", holds=("socket:[4711]", node))
    assert missing("R58N", tree.host(), 5037).words == "it is on the bus (usb 1-1.3), but adb does not list it"
    tree.process(60, "studio", holds=(node,))
    tree.process(70, "bash", holds=("/dev/null",))
    found = missing("R58N", tree.host(), 5037)
    assert found.seen is Seen.HELD
    assert found.words == f"usb 1-1.3 is held by pid 60 ({UID}), /usr/bin/studio"
    assert missing("ELSE", tree.host(), 5037).seen is Seen.GONE
    serving = serving_on(5037, tree.root)
    assert serving is not None
    assert (serving.pid, lives(serving, tree.root)) == (50, True)
    assert serving_on(5038, tree.root) is None
    (tree.root / "proc/50/stat").write_text("50 (adb) Z " + " ".join(["0"] * 18) + " 500 0\n")
    assert not lives(serving, tree.root)

"""The USB tree as sysfs has it: paths, hubs, halves, endpoints, over a tree of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.host.usb_path import device_at_port, hub_above, hubs_above, path_of, place_words, port_on
from android_runner.host.usb_tree import read_usb_tree
from tests.fake_host import FakeHost


@pytest.mark.parametrize(
    ("where", "path", "hub", "port", "words"),
    [
        ("usb:1-1.3", "1-1.3", "1-1", 3, "hub 1-1.3"),
        ("usb:1-3", "1-3", "usb1", 3, "usb 1-3"),
        ("usb:2-1.4.2", "2-1.4.2", "2-1.4", 2, "hub 2-1.4.2"),
        ("tcp", "", "", 0, "tcp"),
        ("usb:336592896X", "", "", 0, "usb:336592896X"),
        ("usb:../../etc", "", "", 0, "usb:../../etc"),
        ("usb:1-1.2.3.4.5.6.7.8", "", "", 0, "usb:1-1.2.3.4.5.6.7.8"),
    ],
)
def test_a_place_by_its_path(where: str, path: str, hub: str, port: int, words: str) -> None:
    assert (path_of(where), hub_above(path), port_on(path), place_words(where)) == (path, hub, port, words)


def test_hubs_up_to_the_controller_and_what_a_port_holds() -> None:
    assert hubs_above("1-1.4.2") == ["1-1.4", "1-1", "usb1"]
    assert [device_at_port(one) for one in ("usb2-port1", "1-1.4-port3", "port", "1-1")] == ["2-1", "1-1.4.3", "", ""]


def test_devices_hubs_and_phones(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.controller("0000:00:14.0", 1, 2)
    host.hub("1-1", self_powered=False)
    host.phone("1-1.3", mtp=True, power="auto")
    host.phone("1-2", speed="12")
    tree = read_usb_tree(tmp_path)
    assert [phone.path for phone in tree.phones()] == ["1-1.3", "1-2"]
    phone = tree.devices["1-1.3"]
    assert (phone.endpoints, phone.suspends, phone.speed_mbps, phone.is_hub) == (6, True, 480.0, False)
    assert (tree.devices["1-1"].is_hub, tree.devices["1-1"].self_powered) == (True, False)
    # Two root hubs and a hub of two endpoints each, phones of six and three.
    assert tree.endpoints() == {"0000:00:14.0": 2 + 2 + 2 + 6 + 3}


def test_both_halves_of_a_usb3_hub_are_one(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.controller("0000:00:14.0", 1, 2)
    host.hub("1-1")
    host.hub("2-1")
    host.phone("1-1.3")
    host.phone("2-1.4")
    host.peer("1-0:1.0", "usb1-port1", "usb2/2-0:1.0/usb2-port1")
    host.peer("2-0:1.0", "usb2-port1", "usb1/1-0:1.0/usb1-port1")
    tree = read_usb_tree(tmp_path)
    assert tree.hub_of("2-1.4") == tree.hub_of("1-1.3") == "1-1"


def test_links_that_lead_in_a_circle(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.hub("1-1")
    (tmp_path / "sys/bus/usb/devices/usb1").symlink_to("usb1")
    (tmp_path / "sys/bus/usb/devices/1-1:1.0/1-1-port1").mkdir()
    (tmp_path / "sys/bus/usb/devices/1-1:1.0/1-1-port1/peer").mkdir()
    tree = read_usb_tree(tmp_path)
    assert set(tree.devices) == {"usb1", "1-1"}
    assert tree.controllers == {"usb1": "usb1"}


def test_without_sysfs_there_is_nothing(tmp_path: Path) -> None:
    tree = read_usb_tree(tmp_path)
    assert (tree.devices, tree.phones(), tree.endpoints()) == ({}, [], {})

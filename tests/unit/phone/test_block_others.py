"""Who else is on the phone: somebody's shell is told apart from what the script itself and its host started."""

from __future__ import annotations

import pytest

from android_runner.facts import Vitals
from android_runner.phone.snapshots import read_snapshots
from tests.host_phone import PHONE_SHELLS, HostPhone, block_of, task

pytestmark = pytest.mark.parametrize("phone", PHONE_SHELLS, indirect=True)
STAT = "{pid} ({name}) {state} {parent} 1 1 0 -1 4194304 1 2 3 4 {ticks} 3 2 1 20 0 1 0 {start} 1 1 1\n"


def process(phone: HostPhone, pid: int, name: str, cmdline: bytes, *, parent: int = 700, state: str = "S") -> None:
    """A process of the phone's /proc, that of this test's user."""
    folder = phone.local(f"/proc/{pid}")
    folder.mkdir(parents=True)
    (folder / "stat").write_text(
        STAT.format(pid=pid, name=name, state=state, parent=parent, ticks=144, start=9000 + pid)
    )
    (folder / "cmdline").write_bytes(cmdline)


def told(phone: HostPhone, user: str = "2000") -> Vitals:
    """The vitals after a block's only trial, on a phone whose shell has this user id."""
    (phone.tools / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (phone.tools / "id").chmod(0o755)
    block = block_of(task("a", "true"))
    after = phone.run(block).records["a"].after
    assert after is not None
    return read_snapshots((phone.local(block.directory) / "vitals").read_bytes(), {after})[after]


def test_somebodys_shell_is_seen_with_what_it_computed(phone: HostPhone) -> None:
    process(phone, 1, "init", b"/init\0")
    process(phone, 4711, "sh", b"/system/bin/sh\0-\0")
    process(phone, 4712, "a (b) $(c)", b"x\0", parent=4711)
    assert told(phone).shells == {"sh 4711@13711": 1.5, "other 4712@13712": 1.5}


def test_what_is_no_shell_or_ours_is_not(phone: HostPhone) -> None:
    ours = b'/system/bin/sh\0-c\0sha256sum "${ORCH_ROOT-}"/data/local/tmp/orch/staged/x\0'
    process(phone, 1, "init", b"/init\0")
    process(phone, 700, "adbd", b"/apex/com.android.adbd/bin/adbd\0")
    process(phone, 710, "m.android.shell", b"com.android.shell\0")
    process(phone, 720, "sh", ours)
    process(phone, 730, "sh", b"sh\0", state="Z")
    assert told(phone).shells == {}


def test_as_root_and_without_a_proc_of_its_own_nothing_is_offered(phone: HostPhone) -> None:
    assert told(phone).shells is None


def test_root_tells_nobody_apart(phone: HostPhone) -> None:
    process(phone, 1, "init", b"/init\0")
    process(phone, 4711, "sh", b"sh\0")
    assert told(phone, user="0").shells is None


def test_no_more_than_eight_are_told(phone: HostPhone) -> None:
    process(phone, 1, "init", b"/init\0")
    for number in range(20):
        process(phone, 4700 + number, "sh", b"sh\0")
    shells = told(phone).shells
    assert shells is not None
    assert len(shells) == 8

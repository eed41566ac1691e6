"""What a true adbd taught: held against it, and against virtual phones, which did some of it otherwise."""

from __future__ import annotations

import struct
import time

import pytest

from android_runner.deadline import Deadline
from android_runner.device import PushItem, quoted
from tests.contract.adb_host import SyncHost
from tests.contract.lent_phone import Lent
from tests.contract.lent_phone import lent as lent
from tests.contract.lent_phone import phone_kind as phone_kind
from tests.contract.lent_phone import station as station

DONE = struct.pack("<4sI", b"DONE", 1_700_000_000)


def soon() -> Deadline:
    return Deadline.after(30)


def sync(lent: Lent) -> SyncHost:
    return SyncHost(lent.device.server.port, lent.device.serial)


def failure(session: SyncHost) -> str:
    name, length = struct.unpack("<4sI", session.exactly(8))
    assert name == b"FAIL"
    return session.exactly(length).decode()


def gone(lent: Lent, name: str) -> bool:
    until = time.monotonic() + 10
    while lent.device.stat([lent.folder / name], deadline=soon()) != [None]:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_what_we_make_only_we_may_write(lent: Lent) -> None:
    """adbd's own umask is 0, and no shell sets another: what it is given to do begins with one."""
    made = f"cd {quoted(lent.folder)}; echo >f; mkdir d"
    lent.device.shell(made, deadline=soon())
    file, folder = lent.device.stat([lent.folder / "f", lent.folder / "d"], deadline=soon())
    assert file is not None
    assert folder is not None
    assert (file.mode & 0o777, folder.mode & 0o777) == (0o644, 0o755)


def test_a_push_that_its_sender_breaks_off_leaves_nothing(lent: Lent) -> None:
    path = lent.folder / "broken-off"
    with sync(lent) as session:
        session.send(b"SEND", f"{path},33188".encode())
        session.send(b"DATA", b"a beginning")
        lent.device.shell(f"cat {quoted(path)}", deadline=soon())
    assert gone(lent, "broken-off")


def test_a_push_of_nonsense_is_refused_and_leaves_nothing(lent: Lent) -> None:
    path = lent.folder / "nonsense"
    with sync(lent) as session:
        session.send(b"SEND", f"{path},33188".encode())
        session.send(b"DATA", b"a beginning")
        session.send(b"XXXX", b"")
        assert failure(session) == "invalid data message"
    assert gone(lent, "nonsense")


def test_a_file_that_was_there_is_gone_with_a_push_that_broke_off(lent: Lent) -> None:
    """Why nothing is ever pushed over a file that is in use: the old content does not come back."""
    path = lent.folder / "old"
    lent.device.push([PushItem(b"old content", path)], deadline=soon())
    with sync(lent) as session:
        session.send(b"SEND", f"{path},33188".encode())
        session.send(b"DATA", b"new")
        lent.device.shell("true", deadline=soon())
    assert gone(lent, "old")


@pytest.mark.parametrize(
    ("name", "mode", "wanted"), [("a", 0o600, 0o666), ("b", 0o755, 0o777), ("c", 0o640, 0o666), ("d", 0o6755, 0o777)]
)
def test_the_owners_rights_go_to_everybody(lent: Lent, name: str, mode: int, wanted: int) -> None:
    """adbd copies them to group and others, and drops setuid: who wants other rights sets them by chmod."""
    with sync(lent) as session:
        session.send(b"SEND", f"{lent.folder / name},{0o100000 | mode}".encode())
        session.send(b"DATA", b"x")
        session.sock.sendall(DONE)
        assert session.exactly(8) == b"OKAY\0\0\0\0"
    (stat,) = lent.device.stat([lent.folder / name], deadline=soon())
    assert stat is not None
    assert stat.mode & 0o7777 == wanted


def test_words_of_a_refusal(lent: Lent) -> None:
    with sync(lent) as session:
        session.send(b"SEND", f"{lent.folder}/without-a-mode".encode())
        assert failure(session) in ("missing , in ID_SEND_V1", "missing , in ID_SEND")  # the second until 2020
    with sync(lent) as session:
        session.send(b"SEND", f"{lent.folder},33188".encode())
        session.send(b"DATA", b"x")
        session.sock.sendall(DONE)
        assert failure(session) == "couldn't create file: Is a directory"


def test_a_background_process_that_keeps_the_streams_keeps_the_call(lent: Lent) -> None:
    """The reason that whatever is started on a phone is given streams of its own."""
    begun = time.monotonic()
    kept = lent.device.shell("sleep 1.5 & echo begun", deadline=soon())
    assert (kept.exit_code, kept.stdout) == (0, b"begun\n")
    assert time.monotonic() - begun > 1.2
    free = "setsid sleep 3 </dev/null >/dev/null 2>&1 & echo begun"
    begun = time.monotonic()
    assert lent.device.shell(free, deadline=soon()).stdout == b"begun\n"
    assert time.monotonic() - begun < 2.5
    lent.device.shell("sleep 2.5", deadline=soon())  # it is over before the phone is given back

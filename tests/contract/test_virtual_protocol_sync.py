"""sync v1 and v2 of a virtual phone through the true adb command: files as they were, and never outside the root."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest

from android_runner.virtual.lifecycle import VirtualPhone
from tests.contract.adb_host import SyncHost
from tests.virtual_lab import VirtualLab

_TMP = "/data/local/tmp"


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 3_000_001])
def test_a_file_comes_back_as_it_went(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "in").write_bytes(data)
    (tmp_path / "in").chmod(0o750)
    os.utime(tmp_path / "in", (1_600_000_000, 1_600_000_000))
    assert shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "in"), f"{_TMP}/a/b/f").returncode == 0
    inside = shared_lab.folder(phone) / f"root{_TMP}/a/b/f"
    assert inside.read_bytes() == data
    assert stat.S_IMODE(inside.stat().st_mode) == 0o777  # adbd copies the owner's bits to group and others
    assert inside.stat().st_mtime == 1_600_000_000
    assert shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/a/b/f", str(tmp_path / "out")).returncode == 0
    assert (tmp_path / "out").read_bytes() == data


def test_names_of_every_kind(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    names = ["space name", "quote'\"", "semi;colon", "$(id)", "ünï", "back\\slash", "-dash"]
    (tmp_path / "d").mkdir()
    for name in names:
        (tmp_path / "d" / name).write_text(name)
    assert shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "d"), f"{_TMP}/d").returncode == 0
    assert sorted(os.listdir(shared_lab.folder(phone) / f"root{_TMP}/d")) == sorted(names)
    assert shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/d", str(tmp_path / "back")).returncode == 0
    assert {path.name: path.read_text() for path in (tmp_path / "back").iterdir()} == {name: name for name in names}


def test_many_small_files(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for index in range(300):
        (tmp_path / "many" / f"f{index}").write_text(str(index))
    assert shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "many"), f"{_TMP}/many").returncode == 0
    assert shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/many", str(tmp_path / "back")).returncode == 0
    assert {path.name: path.read_text() for path in (tmp_path / "back").iterdir()} == {
        f"f{index}": str(index) for index in range(300)
    }


def test_sync_v1_and_v2_by_hand(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    """What the adb command never sends: a link by SEND, pipelined RECVs, both STATs, a dry run, a path too long."""
    with SyncHost(shared_lab.server_port, phone.serial) as sync:
        sync.send(b"SEND", f"{_TMP}/l,{0o120777}".encode())
        sync.send(b"DATA", b"f\0")
        sync.sock.sendall(struct.pack("<4sI", b"DONE", 5))
        assert sync.exactly(8) == b"OKAY\0\0\0\0"
        sync.send(b"SEND", f"{_TMP}/f,33188".encode())
        sync.send(b"DATA", b"hello")
        sync.sock.sendall(struct.pack("<4sI", b"DONE", 1_500_000_000))
        assert sync.exactly(8) == b"OKAY\0\0\0\0"
        assert os.readlink(shared_lab.folder(phone) / f"root{_TMP}/l") == "f"

        for _ in range(50):
            sync.send(b"RECV", f"{_TMP}/l".encode())
        for _ in range(50):
            assert sync.exactly(21) == b"DATA\5\0\0\0hello" + struct.pack("<4sI", b"DONE", 0)

        sync.send(b"STAT", f"{_TMP}/f".encode())
        assert struct.unpack("<4sIII", sync.exactly(16)) == (b"STAT", 0o100666, 5, 1_500_000_000)
        sync.send(b"STAT", f"{_TMP}/none".encode())
        assert sync.exactly(16) == b"STAT" + bytes(12)
        for name, kind in ((b"LST2", stat.S_ISLNK), (b"STA2", stat.S_ISREG)):
            sync.send(name, f"{_TMP}/l".encode())
            answer = struct.unpack("<4sIQQIIIIQqqq", sync.exactly(72))
            assert answer[:2] == (name, 0)
            assert kind(answer[4])
        sync.send(b"STA2", f"{_TMP}/none".encode())
        assert struct.unpack("<4sI", sync.exactly(72)[:8]) == (b"STA2", 2)

        sync.send(b"SND2", f"{_TMP}/dry".encode())
        sync.sock.sendall(struct.pack("<4sII", b"SND2", 0o644, 0x80000000))
        sync.send(b"DATA", b"x")
        sync.sock.sendall(struct.pack("<4sI", b"DONE", 0))
        assert sync.exactly(8) == b"OKAY\0\0\0\0"
        assert not (shared_lab.folder(phone) / f"root{_TMP}/dry").exists()

        sync.send(b"STAT", b"/" + b"x" * 1024)
        assert sync.exactly(8) == struct.pack("<4sI", b"FAIL", 13)
        assert sync.exactly(13) == b"path too long"
        assert sync.sock.recv(1) == b""


def test_a_failed_recv_ends_the_session(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    with SyncHost(shared_lab.server_port, phone.serial) as sync:
        sync.send(b"RECV", f"{_TMP}/none".encode())
        sync.send(b"STAT", _TMP.encode())
        text = b"open failed: No such file or directory"
        assert sync.exactly(8 + len(text)) == struct.pack("<4sI", b"FAIL", len(text)) + text
        assert sync.sock.recv(1) == b""


@pytest.mark.parametrize(
    ("chunk", "text"), [((b"DATA", 65537), b"oversize data message"), ((b"NOPE", 5), b"invalid data message")]
)
def test_data_that_breaks_the_protocol(
    shared_lab: VirtualLab, phone: VirtualPhone, chunk: tuple[bytes, int], text: bytes
) -> None:
    with SyncHost(shared_lab.server_port, phone.serial) as sync:
        sync.send(b"SEND", f"{_TMP}/f,33188".encode())
        sync.sock.sendall(struct.pack("<4sI", *chunk))
        assert sync.exactly(8 + len(text)).endswith(text)
    assert shared_lab.shell(phone, "echo alive").stdout == b"alive\n"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("/system/x", b"Read-only file system"),
        ("/data/x", b"Permission denied"),
        ("/data/../../../../../x", b"Permission denied"),
        (f"{_TMP}/{'n' * 300}", b"File name too long"),
    ],
)
def test_a_push_that_is_refused_says_why(
    shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path, target: str, words: bytes
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 500_000)
    done = shared_lab.adb("-s", phone.serial, "push", str(tmp_path / "f"), target)
    assert done.returncode != 0
    assert words in done.stderr + done.stdout


def test_what_is_not_there(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    done = shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/none", str(tmp_path / "x"))
    assert done.returncode != 0
    assert b"No such file or directory" in done.stderr


def test_an_unreadable_file(shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path) -> None:
    shared_lab.shell(phone, f'cd "${{ORCH_ROOT-}}"{_TMP}; echo secret >f; chmod 000 f')
    done = shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/f", str(tmp_path / "x"))
    assert done.returncode != 0
    assert b"Permission denied" in done.stderr


@pytest.mark.parametrize("link", ["/etc/hostname", "../../../../../../../../../etc/hostname", "/proc/self/environ"])
def test_a_link_made_on_the_phone_leads_nowhere_outside(
    shared_lab: VirtualLab, phone: VirtualPhone, tmp_path: Path, link: str
) -> None:
    made = shared_lab.shell(phone, f'cd "${{ORCH_ROOT-}}"{_TMP}; ln -s {link} out; ln -s / top')
    assert made.returncode == 0
    done = shared_lab.adb("-s", phone.serial, "pull", f"{_TMP}/out", str(tmp_path / "x"))
    assert done.returncode != 0
    listed = shared_lab.adb("-s", phone.serial, "ls", f"{_TMP}/top/").stdout
    assert b" home" not in listed
    assert b" data" in listed


def test_ls_has_mode_size_and_time(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    shared_lab.shell(phone, f'cd "${{ORCH_ROOT-}}"{_TMP}; echo 12345 >six; mkdir sub; ln -s six link')
    lines = shared_lab.adb("-s", phone.serial, "ls", _TMP).stdout.decode().splitlines()
    found = {line.split(" ", 3)[3]: line.split(" ")[:2] for line in lines}
    assert set(found) == {".", "..", "six", "sub", "link"}
    assert int(found["six"][1], 16) == 6
    assert stat.S_ISDIR(int(found["sub"][0], 16))
    assert stat.S_ISLNK(int(found["link"][0], 16))


def test_a_full_phone_says_so_and_keeps_nothing(shared_lab: VirtualLab, tmp_path: Path) -> None:
    (phone,) = shared_lab.up("galaxy-s9-small-disk")
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(70 * 1024 * 1024)
    done = shared_lab.adb("-s", phone.serial, "push", str(big), f"{_TMP}/big")
    assert done.returncode != 0
    assert b"No space left on device" in done.stderr + done.stdout
    assert not (shared_lab.folder(phone) / f"root{_TMP}/big").exists()
    line = shared_lab.shell(phone, f"df -k {_TMP}").stdout.decode().splitlines()[1].split()
    assert int(line[1]) == 65536
    assert int(line[1]) - int(line[2]) == int(line[3])

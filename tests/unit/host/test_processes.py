"""Who listens and who holds what, read from files like /proc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from android_runner.host.listeners import listeners
from android_runner.host.processes import HostProcess, listening_on, processes
from tests.fake_host import FakeHost


def test_listeners_of_both_families(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.listen("127.0.0.1", 5037, 11)
    host.listen("0.0.0.0", 5038, 12)
    host.listen("::1", 5039, 13)
    host.listen("::", 5040, 14)
    host.listen("::ffff:127.0.0.1", 5041, 15)
    found = {(one.address, one.port, one.inode): one.loopback for one in listeners(tmp_path)}
    assert found == {
        ("127.0.0.1", 5037, 11): True,
        ("0.0.0.0", 5038, 12): False,
        ("::1", 5039, 13): True,
        ("::", 5040, 14): False,
        ("::ffff:7f00:1", 5041, 15): True,
    }


def test_a_server_with_its_owner_and_its_phones(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.listen("127.0.0.1", 5037, 11)
    command = ("/usr/bin/adb", "-L", "tcp:5037", "fork-server", "server")
    host.process(70, *command, uid=0, sockets=[11], nodes=["/dev/bus/usb/001/005"], environ={"HOME": "/root"})
    host.process(71, "/bin/sleep", "9")
    host.process(72, "/usr/bin/adb", "logcat")
    (server,) = processes(tmp_path)
    assert (server.adb_server, server.owner, server.usb_nodes) == (True, "root", ("/dev/bus/usb/001/005",))
    assert server.environ == {"HOME": "/root"}
    assert server.max_files == 1024
    assert server.words() == "pid 70 (root), /usr/bin/adb"
    ((_, process),) = listening_on(5037, listeners(tmp_path), [server])
    assert process == server


def test_a_socket_whose_process_may_not_be_seen(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.listen("127.0.0.1", 5037, 11)
    ((listener, process),) = listening_on(5037, listeners(tmp_path), processes(tmp_path))
    assert (listener.port, process) == (5037, None)


def test_another_users_server_is_known_by_its_command(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    host.listen("127.0.0.1", 5555, 11)
    host.process(70, "/usr/bin/adb", "-L", "tcp:5555", "fork-server", "server")
    ((_, process),) = listening_on(5555, listeners(tmp_path), processes(tmp_path))
    assert process is not None
    assert process.pid == 70


@pytest.mark.parametrize(
    ("words", "port"),
    [
        ("adb -L tcp:5037 fork-server server --reply-fd 4", 5037),
        ("adb -L tcp:localhost:5038 fork-server server", 5038),
        ("adb -P 40145 nodaemon server", 40145),
        ("adb nodaemon server", 5037),
        ("adb -P 40145 logcat", 0),
    ],
)
def test_the_port_of_a_server(words: str, port: int) -> None:
    assert HostProcess(pid=1, name="adb", command=tuple(words.split()), uid=0).adb_port == port


def test_this_computer_can_be_read() -> None:
    assert all(one.pid != os.getpid() or one.sockets for one in processes(Path("/")))
    assert processes(Path("/nowhere")) == []

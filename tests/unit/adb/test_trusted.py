"""The adb program, its keys and its port: what others may change, read or reach is refused, with the mend."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from android_runner.adb.server import AdbServer, adb_binary, ensure_server, running
from android_runner.adb.trusted import key_problems, program_problem
from android_runner.deadline import Deadline
from android_runner.errors import LinkRefused
from android_runner.host.listeners import Listener, exposed, listeners
from tests.unit.adb.scripted import ScriptedPhone

ME = os.geteuid()
SOMEBODY = 54_321


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".android"
    folder.mkdir(parents=True)
    key = folder / "adbkey"
    key.write_text("secret")
    key.chmod(0o600)
    return folder.parent


def problems(home: Path, **environ: str) -> list[str]:
    return key_problems({"HOME": str(home), **environ}, ME)


def test_a_key_that_only_we_may_read(home: Path) -> None:
    assert problems(home) == []
    (home / ".android" / "adbkey").unlink()
    assert problems(home) == []  # adb makes one


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o660, 0o777])
def test_a_key_that_others_may_use(home: Path, mode: int) -> None:
    (home / ".android" / "adbkey").chmod(mode)
    (said,) = problems(home)
    assert f"mode {mode:o}" in said
    assert "chmod 600" in said


def test_a_folder_that_anybody_may_put_a_key_into(home: Path) -> None:
    (home / ".android").chmod(0o777)
    (said,) = problems(home)
    assert "chmod go-w" in said


def test_a_key_and_a_home_of_somebody_else(home: Path) -> None:
    said = key_problems({"HOME": str(home)}, SOMEBODY)
    assert len(said) == 2
    assert "set HOME" in said[0]
    assert "key of your own" in said[1]


def test_vendor_keys_are_files_or_folders(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("lab.adb_key", "notes.txt", "alone"):
        (folder / name).touch(mode=0o644)
    listed = f"{folder}::{folder / 'alone'}:{folder / 'missing'}"
    said = problems(home, ADB_VENDOR_KEYS=listed)
    assert [Path(re.findall(r"key (\S+)", one)[0]).name for one in said] == ["lab.adb_key", "alone"]


def test_no_server_is_started_with_a_key_that_others_may_use(home: Path) -> None:
    (home / ".android" / "adbkey").chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = AdbServer(port=free.getsockname()[1])
    with pytest.raises(LinkRefused, match="chmod 600"):
        ensure_server(server, Deadline.after(20), extra_env={"HOME": str(home), "ADB_USB": "0"})
    assert not running(server, Deadline.after(20))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    path = folder / "adb"
    path.write_text("#!/bin/sh\necho 'Version 36.0.2-1'\n")
    path.chmod(0o755)
    return path


def test_a_program_of_ours_or_of_roots(program: Path) -> None:
    assert program_problem(program, ME) == ""
    assert program_problem(Path("/bin/sh"), SOMEBODY) == ""


def open_file(program: Path) -> None:
    program.chmod(0o757)


def open_folder(program: Path) -> None:
    program.parent.chmod(0o757)


@pytest.mark.parametrize("make", [open_file, open_folder])
def test_a_program_that_anybody_may_change(program: Path, make: Callable[[Path], None]) -> None:
    make(program)
    with pytest.raises(LinkRefused, match="anybody may overwrite"):
        adb_binary({"ORCH_ADB": str(program)})
    link = program.parent.parent / "link"
    link.symlink_to(program)
    with pytest.raises(LinkRefused, match="anybody may overwrite"):
        adb_binary({"ORCH_ADB": str(link)})


@pytest.mark.skipif(ME != 0, reason="gives a file away, which root alone may")
def test_a_program_of_somebody_elses(program: Path) -> None:
    os.chown(program, SOMEBODY, SOMEBODY)
    with pytest.raises(LinkRefused, match=f"belongs to user {SOMEBODY}"):
        adb_binary({"ORCH_ADB": str(program)})


def kernel(root: Path, *listeners: str) -> Path:
    """A machine whose /proc has such lines of listening sockets, in the kernel's form (proc(5))."""
    folder = root / "proc/net"
    folder.mkdir(parents=True)
    rows = [
        f"{number:4}: {local} {'0' * len(local[:-5])}:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1"
        for number, local in enumerate(listeners)
    ]
    for name, length in (("tcp", 8), ("tcp6", 32)):
        mine = [row for row in rows if len(row.split()[1]) == length + 5]
        (folder / name).write_text("\n".join(["  sl  local_address rem_address   st", *mine, ""]))
    return root


ALL_V4, ALL_V6, LAN = "00000000", "0" * 32, "0701A8C0"


@pytest.mark.parametrize(("local", "said"), [(ALL_V4, "0.0.0.0"), (ALL_V6, "::"), (LAN, "192.168.1.7")])
def test_a_server_that_others_can_reach_is_refused(
    phone: ScriptedPhone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, local: str, said: str
) -> None:
    root = kernel(tmp_path / "root", f"0100007F:{phone.server.port:04X}", f"{local}:{phone.server.port:04X}")
    assert exposed(phone.server.port, root) == [said]
    assert exposed(phone.server.port + 1, root) == []
    monkeypatch.setattr("android_runner.adb.server.exposed", partial(exposed, root=root))
    with pytest.raises(LinkRefused, match=rf"listens on {re.escape(said)}: .*without -a"):
        ensure_server(phone.server, Deadline.after(20))


def test_true_sockets_on_loopback() -> None:
    families = [(socket.AF_INET, "127.0.0.1")]
    families += [(socket.AF_INET6, "::1")] if socket.has_dualstack_ipv6() else []
    for family, address in families:
        with socket.socket(family) as listener:
            listener.bind((address, 0))
            listener.listen()
            port = listener.getsockname()[1]
            assert (address, port) in [(one.address, one.port) for one in listeners(Path("/"))]
            assert exposed(port) == []


def test_a_machine_that_does_not_tell(tmp_path: Path) -> None:
    assert exposed(5037, tmp_path) == []


@pytest.mark.parametrize(
    ("address", "beyond"),
    [
        ("127.0.0.1", False),
        ("127.3.2.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("::ffff:0.0.0.0", True),
        ("192.168.1.7", True),
        ("fe80::1", True),
    ],
)
def test_loopback_is_not_beyond(address: str, beyond: bool) -> None:
    assert Listener(address=address, port=5037, inode=1).loopback is not beyond


@given(st.text(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_is_read(tmp_path: Path, noise: str) -> None:
    (tmp_path / "proc/net").mkdir(parents=True, exist_ok=True)
    (tmp_path / "proc/net/tcp").write_text(f"head\n{noise}", encoding="utf-8", errors="replace")
    assert all(0 <= one.port <= 0xFFFF for one in listeners(tmp_path))

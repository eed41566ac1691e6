"""`orch doctor` on a computer made of files, against the adb server of virtual phones."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.fake_host import FakeHost
from tests.orch_cli import Orch
from tests.virtual_lab import VirtualLab


def sound_host(root: Path, port: int) -> FakeHost:
    """A computer on which nothing is wrong."""
    host = FakeHost(root)
    host.controller("0000:00:14.0", 1)
    host.hub("1-1")
    host.phone("1-1.3")
    host.listen("127.0.0.1", port, 11)
    environ = {"ADB_REJECT_KILL_SERVER": "1", "ADB_USB": "0"}
    host.process(70, "/usr/bin/adb", "-P", str(port), "nodaemon", "server", sockets=[11], environ=environ)
    (root / "etc/udev/rules.d").mkdir(parents=True)
    (root / "etc/udev/rules.d/51-android.rules").touch()
    (root / "dmesg").write_text("[    1.0] usb 1-1.3: new high-speed USB device number 5 using xhci_hcd\n")
    return host


def checks(out: str, level: str) -> set[str]:
    return {finding["check"] for finding in json.loads(out)["findings"] if finding["level"] == level}


def test_a_lab_that_may_start_and_one_that_must_not(orch: Orch, tmp_path: Path) -> None:
    keys = tmp_path / "user/.android"
    keys.mkdir(parents=True)
    (keys / "adbkey").touch(mode=0o600)
    orch.env |= {"HOME": str(tmp_path / "user"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with VirtualLab(orch.home) as lab:
        lab.up("pixel-8")
        port = lab.server_port
        host = sound_host(tmp_path / "host", port)
        sound = orch("doctor", "--root", host.root, "--adb-port", str(port), "--json")
        assert sound.code == 0, sound
        assert json.loads(sound.out)["may_start"] is True
        assert checks(sound.out, "stop") == set()
        assert {"adb-program", "adb-server", "adb-key", "disk", "ulimit", "usb", "phone"} <= checks(sound.out, "ok")

        (keys / "adbkey").chmod(0o644)
        host.listen("0.0.0.0", port + 1, 12)
        host.process(80, "/opt/adb", "-a", "nodaemon", "server", sockets=[12], nodes=["/dev/bus/usb/001/004"])
        (host.root / "dmesg").write_text("[    2.0] usb 1-1-port3: over-current condition\n")
        (phone,) = lab.up("pixel-8")
        lab.shell(phone, "settings put global adb_wifi_enabled 1")
        broken = orch("doctor", "--root", host.root, "--adb-port", str(port), "--json")
        assert broken.code == 1, broken
        assert checks(broken.out, "stop") == {"adb-key", "adb-exposed"}
        assert checks(broken.out, "warn") >= {"adb-second", "usb-over-current", "phone-wireless"}

        shown = orch("doctor", "--root", host.root, "--adb-port", str(port))
        assert shown.code == 1
        assert max(map(len, shown.out.splitlines())) <= 80
        assert shown.out.splitlines()[0].startswith(" stop  adb-")
        assert shown.out.count("mend: ") >= 5
        assert shown.out.splitlines()[-1].startswith("the lab must not start: 2 stops, ")
        assert lab.server_port == port, "the server was left alone"


def test_without_phone_or_server_it_starts_none(orch: Orch, tmp_path: Path) -> None:
    orch.env |= {"HOME": str(tmp_path / "nobody"), "ORCH_ADB": str(tmp_path / "adb")}
    adb = tmp_path / "adb"
    adb.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\necho "Android Debug Bridge version 1.0.41"\n'
                   'echo "Version 36.0.2-1"\n')  # fmt: skip
    adb.chmod(0o755)
    FakeHost(tmp_path / "host")
    done = orch("doctor", "--root", tmp_path / "host", "--adb-port", "9", "--json")
    assert done.code == 0, done
    assert set((tmp_path / "calls").read_text().splitlines()) == {"version"}
    assert {"phone", "kernel-log"} <= checks(done.out, "note")


def test_what_can_not_be_looked_at_is_said(orch: Orch, tmp_path: Path) -> None:
    assert orch("doctor", "--dmesg", tmp_path / "none").code == 2
    assert orch("doctor", "--root", tmp_path / "none").code == 2
    (tmp_path / "file").touch()
    FakeHost(tmp_path / "host")
    words = ("doctor", "--root", tmp_path / "host", "--adb-port", "9", "--home", tmp_path / "file", "--json")
    blocked = orch(*words)
    assert blocked.code == 1
    assert "home" in checks(blocked.out, "stop")
    words = ("doctor", "--root", tmp_path / "host", "--adb-port", "9", "--json")
    orch.home.mkdir()
    (orch.home / "lab.toml").write_text("[recovery]\nhub_power = true\n")
    orch.env["PATH"] = str(tmp_path)
    assert "lab-file" in checks(orch(*words).out, "warn")
    (orch.home / "lab.toml").write_text("[recovery]\nhub_pover = true\n")
    wrong = orch(*words)
    assert wrong.code == 1
    assert "lab-file" in checks(wrong.out, "stop")

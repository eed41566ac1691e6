"""`orch nightly install` with a systemd that really runs: a user's, in namespaces of its own, while the test does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import NO_SYSTEMD, ROOT

SYSTEMD = Path("/lib/systemd/systemd")
APART = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
STORY = """
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0 && chmod 700 /run/user/0 || exit 99
export XDG_RUNTIME_DIR=/run/user/0
{systemd} --user >/dev/null 2>&1 &
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
  systemctl --user show-environment >/dev/null 2>&1 && break
  sleep 0.2
done
systemctl --user show-environment >/dev/null || exit 98
orch() {{ {python} -m orchestrator nightly "$@"; }}
said() {{ echo "== $1"; shift; "$@" 2>&1; echo "rc $?"; }}
said install orch install lab
said again orch install lab
said timer systemctl --user is-active orch-nightly-lab.timer
said next systemctl --user show -P NextElapseUSecRealtime -P Persistent orch-nightly-lab.timer
said run systemctl --user start orch-nightly-lab.service
said ended systemctl --user show -P Result -P ExecMainStatus -P Restart -P KillMode orch-nightly-lab.service
said uninstall orch uninstall lab
said left systemctl --user list-unit-files --no-legend 'orch-nightly-*'
systemctl --user exit
"""
SUITE = 'models = ["m.onnx"]\ndevice = ["all"]\nstart = "22:05"\ndeadline = "22:06"\n'


def can_be_apart() -> bool:
    """Whether namespaces and a file system of one's own can be had here."""
    words = [*APART, "mount", "-t", "tmpfs", "tmpfs", "/run"]
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode == 0
    return False


@pytest.fixture
def no_groups_left() -> Iterator[None]:
    """What a systemd leaves behind of control groups, all empty, is taken away."""
    top = Path("/sys/fs/cgroup")
    before = {path for path in top.glob("*/*")}
    yield
    for path in sorted(set(top.glob("*/*")) - before):
        for folder, _, _ in os.walk(path, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("no_groups_left")
def test_a_users_systemd_takes_it_runs_it_and_lets_it_go(tmp_path: Path) -> None:
    if not SYSTEMD.exists():
        pytest.skip("systemd is missing: make system-deps")
    if not can_be_apart():
        pytest.skip(NO_SYSTEMD)
    home, config = tmp_path / "a home", tmp_path / "config"
    (home / "nightly").mkdir(parents=True)
    (home / "nightly" / "lab.toml").write_text(SUITE)
    (home / "nightly" / "m.onnx").write_bytes(b"")
    (config / "orch").mkdir(parents=True)
    done = subprocess.run(
        [*APART, "sh", "-c", STORY.format(systemd=SYSTEMD, python=sys.executable)],
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(config), "ORCH_HOME": str(home),
             "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    if done.returncode in (98, 99):
        pytest.skip(NO_SYSTEMD)
    parts = dict(part.split("\n", 1) for part in done.stdout.split("== ")[1:])
    units = config / "systemd" / "user"
    written = f"{units}/orch-nightly-lab.service\n{units}/orch-nightly-lab.timer\n"
    assert written in parts["install"], done
    assert "loginctl enable-linger" in parts["install"]
    assert parts["again"] == parts["install"]
    assert parts["timer"] == "active\nrc 0\n"
    assert (" 22:05:00 " in parts["next"], "\nyes\n" in parts["next"]) == (True, True), parts
    assert parts["run"] == "rc 0\n", done
    assert sorted(parts["ended"].split()) == sorted(["success", "0", "on-abnormal", "process", "rc", "0"]), parts
    assert parts["uninstall"].count("removed ") == 2
    assert "orch-nightly" not in parts["left"]
    assert [path for path in units.rglob("*") if path.is_file() or path.is_symlink()] == []

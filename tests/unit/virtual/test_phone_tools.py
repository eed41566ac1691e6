"""The phone's own tools are plain POSIX sh: the same answers from every shell that a host may have."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from android_runner.profile import load_profile
from android_runner.virtual.host_tools import HostTools, find_host_tools
from android_runner.virtual.identity import Standing
from android_runner.virtual.root_tree import RootTree

_STANDING = Standing(
    serialno="virtual-x-1", exec_abi="linux-x86_64", confinement="unconfined", shell="sh", launcher="/l"
)
_SHELLS = [path for path in ("/bin/sh", "/bin/bash", "/bin/mksh", "/bin/busybox") if Path(path).exists()]


class _Tree:
    def __init__(self, folder: Path, profile: str, shell: str, *, toybox: bool) -> None:
        found = find_host_tools()
        tools = found if toybox else HostTools(shell, "", frozenset())
        self._shell = [shell, "sh"] if shell.endswith("busybox") else [shell]
        if shell.endswith("busybox"):
            (folder / "ash").write_text('#!/bin/sh\nexec /bin/busybox sh "$@"\n')
            (folder / "ash").chmod(0o755)
            tools = HostTools(str(folder / "ash"), "", frozenset())
        self.root = folder / "root"
        tree = RootTree(folder, load_profile(profile), tools)
        tree.build(_STANDING, folder / "slots")
        tree.boot("0-1-2")

    def run(self, command: str) -> tuple[int, str, str]:
        env = {"ORCH_ROOT": str(self.root), "PATH": f"{self.root}/system/bin"}
        done = subprocess.run([*self._shell, "-c", command], env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def start(self, command: str) -> subprocess.Popen[bytes]:
        env = {"ORCH_ROOT": str(self.root), "PATH": f"{self.root}/system/bin"}
        return subprocess.Popen([*self._shell, "-c", command], env=env, stdout=subprocess.PIPE)


@pytest.fixture(params=_SHELLS)
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> _Tree:
    return _Tree(tmp_path, "pixel-8", request.param, toybox=False)


def test_every_shell_gives_the_same_answers(tree: _Tree) -> None:
    assert tree.run("getprop ro.product.model") == (0, "Pixel 8\n", "")
    assert tree.run("getprop no.such fallback")[1] == "fallback\n"
    assert tree.run("getprop ../../etc/passwd")[1] == "\n"
    listed = tree.run("getprop")[1].splitlines()
    assert "[ro.orch.launcher]: [/l]" in listed
    names = [line[1:].split("]", 1)[0] for line in listed]
    assert names == sorted(names)
    assert "ro.serialno" in names
    _code, battery, error = tree.run("dumpsys battery")
    assert error == ""
    assert "  level: 78\n" in battery
    assert "  temperature: 284\n" in battery
    assert "  voltage: 4100\n" in battery
    heat = tree.run("dumpsys thermalservice")[1]
    assert heat.count("mValue=30.5, mType=3, mName=skin, mStatus=0") == 2
    assert tree.run("dumpsys nothing")[1:] == ("", "Can't find service: nothing\n")
    assert tree.run("settings put secure a.b 'x y'; settings list secure") == (0, "a.b=x y\n", "")
    assert tree.run("settings get nowhere a")[0] == 255
    assert tree.run("settings get global ../../log")[0] == 255
    assert tree.run("getenforce")[1] == "Enforcing\n"
    assert tree.run("log -t tag one two; logcat -d")[1].splitlines()[1].endswith("I tag: one two")
    assert tree.run("setprop ro.x 1")[0] == 1
    assert tree.run("setprop debug.x 1; getprop debug.x")[1] == "1\n"
    assert tree.run("input keyevent 223; dumpsys power")[1].endswith("mWakefulness=Asleep\n")
    assert tree.run("input keyevent KEYCODE_POWER; dumpsys power")[1].endswith("mWakefulness=Awake\n")
    assert tree.run("input tap 1 1")[0] == 255
    doze = "dumpsys deviceidle disable deep; for d in '' deep light; do cmd deviceidle enabled $d; done"
    assert tree.run(doze)[1].splitlines() == ["Deep idle mode disabled", "0", "0", "1"]
    airplane = "cmd connectivity airplane-mode"
    assert tree.run(f"{airplane}; {airplane} enable; {airplane}; settings get global airplane_mode_on") == (
        0,
        "disabled\nenabled\n1\n",
        "",
    )
    assert tree.run("cmd nothing")[0] == 20


def test_airplane_mode_has_no_command_before_android_11(tmp_path: Path) -> None:
    tree = _Tree(tmp_path, "galaxy-a51", "/bin/sh", toybox=False)
    assert tree.run("cmd connectivity airplane-mode")[:2] == (255, "")


def test_settings_outlive_a_boot_and_clocks_do_not(tmp_path: Path) -> None:
    tree = _Tree(tmp_path, "pixel-6-rooted", "/bin/sh", toybox=False)
    tree.run("settings delete system screen_brightness; dumpsys deviceidle disable; input keyevent 223")
    clock = tree.root / "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"
    assert clock.stat().st_mode & 0o222 == 0, "only root may set it"
    clock.chmod(0o644)
    clock.write_text("1\n")
    again = RootTree(tmp_path, load_profile("pixel-6-rooted"), find_host_tools())
    again.build(_STANDING, tmp_path / "slots")
    again.boot("0-1-3")
    assert clock.read_text() == "1803000\n"
    assert clock.stat().st_mode & 0o222 == 0
    assert tree.run("settings get system screen_brightness; dumpsys deviceidle enabled")[1] == "null\n1\n"
    assert tree.run("dumpsys power")[1].endswith("mWakefulness=Awake\n")


LOG = (
    "11-21 07:18:02.100   100   101 V onnxruntime:  [V:onnxruntime:Default, a.cc:1 f] first\n"
    "11-21 07:18:02.200   200   200 E other   : it's $(bad) \\n\n"
    "11-21 07:18:02.300   200   200 W onnxruntime: second\n"
)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("", "fos"),
        ("-s onnxruntime:V", "fs"),
        ("-s onnxruntime:w other", "os"),
        ("'*:E'", "o"),
        ("onnxruntime:S", "o"),
        ("onnxruntime:W '*:S'", "s"),
        ("--pid=200", "os"),
        ("--pid=20", ""),
        ("-b main -v threadtime --pid=200 -s onnxruntime:V", "s"),
        ("-T 1", "s"),
        ("-t 2", "os"),
        ("-T 2 -s other:V", "o"),
        ("-s", ""),
    ],
)
def test_logcat_chooses_lines(tree: _Tree, words: str, kept: str) -> None:
    (tree.root / "data/system/log").write_text(LOG)
    code, told, error = tree.run(f"logcat -d {words}")
    lines = dict(zip("fos", LOG.splitlines(keepends=True), strict=True))
    assert (code, error) == (0, "")
    assert told == "--------- beginning of main\n" + "".join(lines[name] for name in kept)


def test_logcat_streams_until_it_is_ended_and_leaves_nothing(tree: _Tree) -> None:
    """Also a line that is written in two pieces comes out whole."""
    log = tree.root / "data/system/log"
    log.write_text(LOG)
    with tree.start("exec logcat -b main -v threadtime -T 1 -s onnxruntime:V mine:V") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"--------- beginning of main\n"
        assert running.stdout.readline().endswith(b"W onnxruntime: second\n")
        with log.open("a") as writer:
            writer.write("11-21 07:18:03.000   300   300 W onnxruntime: torn ")
            writer.flush()
            time.sleep(0.3)
            writer.write("line\n11-21 07:18:03.000   300   300 W other: no\n")
        tree.run("log -t mine told")
        assert running.stdout.readline().endswith(b"W onnxruntime: torn line\n")
        assert running.stdout.readline().endswith(b"I mine: told\n")
        running.terminate()
        assert running.stdout.read() == b"", "the pipe is closed: nobody holds it"
    assert running.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert log.read_text().startswith(LOG)


def test_only_the_phones_tools_are_found(tree: _Tree) -> None:
    assert tree.run("sha256sum /dev/null")[0] == 0
    assert tree.run("unshare true")[0] == 127
    assert tree.run("python3 -c 1")[0] == 127


def test_a_tree_is_built_again_over_the_old_one(tmp_path: Path) -> None:
    tree = _Tree(tmp_path, "redmi-go", "/bin/sh", toybox=False)
    (tree.root / "data/local/tmp/kept").write_text("k")
    (tree.root / "system/bin/planted").write_text("p")
    again = _Tree(tmp_path, "pixel-8", "/bin/sh", toybox=False)
    assert (again.root / "data/local/tmp/kept").read_text() == "k"
    assert not (again.root / "system/bin/planted").exists()
    assert again.run("getprop ro.product.model")[1] == "Pixel 8\n"
    assert again.run("taskset --help")[0] == 0


def test_building_never_writes_through_a_link_to_the_host(tmp_path: Path) -> None:
    """`df` is a link to the host's tool on most phones, and a script of ours on one with bounded storage."""
    hosts_own = [path for path in map(shutil.which, ("df", "sh")) if path]
    before = [os.stat(path).st_mtime_ns for path in hosts_own]
    _Tree(tmp_path, "pixel-8", "/bin/sh", toybox=False)
    tree = _Tree(tmp_path, "galaxy-s9-small-disk", "/bin/sh", toybox=False)
    assert [os.stat(path).st_mtime_ns for path in hosts_own] == before
    assert tree.run("df -k /data/local/tmp")[1].splitlines()[1].split()[1] == "65536"


def test_toybox_where_the_host_has_it(tmp_path: Path) -> None:
    if not find_host_tools().toybox:
        pytest.skip("toybox is not installed: apt-get install toybox")
    tree = _Tree(tmp_path, "redmi-go", find_host_tools().shell, toybox=True)
    assert os.readlink(tree.root / "system/bin/sha256sum") == find_host_tools().toybox
    assert tree.run("toybox taskset 1 true")[0] == 127
    assert tree.run("toybox echo yes")[1] == "yes\n"

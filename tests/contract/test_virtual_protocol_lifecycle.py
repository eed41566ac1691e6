"""Virtual phones' life: up, found again, idle, killed, down; no process is ever left."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from android_runner.errors import LinkRefused
from android_runner.profile import ProfileError
from android_runner.virtual import lifecycle
from android_runner.virtual.faults import FaultPlan
from android_runner.virtual.processes import identify, with_environment
from android_runner.virtual.server import ask, living_server
from android_runner.virtual.spec import Wanted
from android_runner.virtual.state import Places, read_phone
from tests.virtual_lab import VirtualLab, adb_path


def _processes_of(home: Path) -> list[str]:
    """Command lines that name this home, and processes whose environment does."""
    needle = str(home.resolve()).encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            if needle in Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/environ").read_bytes():
                found.append(Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def _gone(home: Path, pids: list[int], seconds_s: float = 5.0) -> bool:
    until = time.monotonic() + seconds_s
    while time.monotonic() < until:
        if not _processes_of(home) and not [pid for pid in pids if identify(pid) is not None]:
            return True
        time.sleep(0.02)
    return False


def _below(pid: int) -> list[int]:
    """All descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children] + [deep for child in children for deep in _below(int(child))]


@pytest.mark.parametrize("confinement", ["auto", "unconfined"])
def test_down_leaves_nothing(tmp_path: Path, confinement: str) -> None:
    with VirtualLab(tmp_path / "home", confinement=confinement) as lab:
        phones = lab.up("pixel-8", ("pixel-3", 2))
        for phone in phones:
            lab.shell(phone, "setsid sleep 333 </dev/null >/dev/null 2>&1 &")
        pids = _below(phones[0].pid)
        marked = [pid for phone in phones for pid in with_environment(f"ORCH_ROOT={lab.folder(phone)}/root")]
        assert len(pids if confinement == "auto" else marked) >= 3
        assert lab.down() == [phone.serialno for phone in sorted(phones, key=lambda one: one.serialno)]
        assert _gone(lab.home, pids + marked)
        assert living_server(Places(lab.home.resolve())) is None
        assert {phone.state for phone in lifecycle.listing(lab.home)} == {"down"}
        assert lab.down() == []


def test_up_takes_what_lives_and_starts_the_rest(lab: VirtualLab) -> None:
    first = lab.up("pixel-8")
    again = lab.up(("pixel-8", 2), "pixel-8")
    assert [phone.serialno for phone in again] == [f"virtual-pixel-8-{n}" for n in (1, 2, 3)]
    assert again[0] == first[0]
    assert again[1].pid != first[0].pid
    with pytest.raises(ProfileError):
        lab.up("pixel-8", "no-such-phone")
    assert len(lifecycle.listing(lab.home)) == 3


def test_phones_are_had_by_their_serial_numbers(lab: VirtualLab) -> None:
    (first,) = lab.up("pixel-8")
    named = [(f"virtual-pixel-8-{number}", Wanted(profile="pixel-8")) for number in (3, 1)]
    third, same = lifecycle.up_named(lab.home, named, adb_path(), idle_exit_s=120.0)
    assert same == first
    assert third.serialno == "virtual-pixel-8-3"
    assert [phone.serialno for phone in lifecycle.listing(lab.home)] == [first.serialno, third.serialno]


def test_a_phone_that_lets_nobody_connect_costs_only_itself(lab: VirtualLab) -> None:
    one, two = lab.up(("pixel-8", 2))
    lab.faults(one, FaultPlan(unplugged=True))
    server = living_server(Places(lab.home.resolve()))
    assert server is not None
    server.process.send(signal.SIGKILL)
    assert server.process.wait_gone(5)
    assert [phone.serialno for phone in lab.up(("pixel-8", 2))] == [one.serialno, two.serialno]
    assert str(two.serial) in ask(lab.server_port, "host:devices")
    assert lab.shell(two, "echo alive").stdout == b"alive\n"
    lab.faults(one)
    lab.up(("pixel-8", 2))
    assert lab.shell(one, "echo back").stdout == b"back\n"


def test_one_of_several_goes_and_comes_back_with_its_files(lab: VirtualLab) -> None:
    one, two = lab.up(("pixel-8", 2))
    lab.shell(two, "echo kept >/data/local/tmp/f")
    assert lifecycle.down(lab.home, [two.serialno]) == [two.serialno]
    assert [phone.state for phone in lifecycle.listing(lab.home)] == ["up", "down"]
    assert lab.shell(one, "echo alive").stdout == b"alive\n"
    assert "unauthorized" not in ask(lab.server_port, "host:devices")
    _one, back = lab.up(("pixel-8", 2))
    assert back.serial == two.serial
    assert lab.shell(back, "cat /data/local/tmp/f").stdout == b"kept\n"
    lifecycle.down(lab.home, [two.serialno], wipe=True)
    assert not lab.folder(back).exists()


def test_a_killed_daemon_takes_its_processes_with_it(lab: VirtualLab) -> None:
    (phone,) = lab.up("pixel-8")
    lab.shell(phone, "setsid sleep 444 </dev/null >/dev/null 2>&1 &")
    pids = _below(phone.pid)
    assert pids
    os.kill(phone.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while [pid for pid in pids if identify(pid) is not None]:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert lifecycle.listing(lab.home)[0].state == "down"
    (back,) = lab.up("pixel-8")
    assert lab.shell(back, "echo alive").stdout == b"alive\n"


@pytest.mark.parametrize("by", ["its next life", "down"])
def test_what_a_killed_unconfined_phone_left_is_ended(tmp_path: Path, by: str) -> None:
    with VirtualLab(tmp_path / "home", confinement="unconfined") as lab:
        (phone,) = lab.up("pixel-8")
        lab.shell(phone, "setsid sleep 555 </dev/null >/dev/null 2>&1 &")
        mark = f"ORCH_ROOT={lab.folder(phone)}/root"
        assert list(with_environment(mark))
        record = read_phone(lab.folder(phone))
        assert record is not None
        os.kill(phone.pid, signal.SIGKILL)
        assert record.daemon.wait_gone(5)
        assert list(with_environment(mark))
        if by == "down":
            assert lab.down() == []
        else:
            lab.up("pixel-8")
        assert not list(with_environment(mark))


def test_a_dead_server_is_replaced_on_its_port_and_finds_the_phones(lab: VirtualLab) -> None:
    phones = lab.up(("pixel-8", 3))
    before = living_server(Places(lab.home.resolve()))
    assert before is not None
    os.kill(before.pid, signal.SIGKILL)
    assert before.process.wait_gone(5)
    assert lab.server_port == before.port
    for phone in phones:
        assert lab.shell(phone, "echo alive").stdout == b"alive\n"


def test_kill_server_is_refused(lab: VirtualLab) -> None:
    (phone,) = lab.up("pixel-8")
    before = living_server(Places(lab.home.resolve()))
    lab.adb("kill-server")
    assert living_server(Places(lab.home.resolve())) == before
    assert lab.shell(phone, "echo alive").stdout == b"alive\n"
    with pytest.raises(LinkRefused):
        ask(lab.server_port, "host:no-such-request")


def test_idle_phones_end_by_themselves_but_not_while_something_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (phone,) = lifecycle.up(home, [("pixel-8", 1)], adb_path(), idle_exit_s=1.0)
    lab = VirtualLab(home)
    lab.shell(phone, "setsid sleep 3 </dev/null >/dev/null 2>&1 &")
    begun = time.monotonic()
    while lifecycle.listing(home)[0].state == "up":
        assert time.monotonic() - begun < 30
        time.sleep(0.05)
    assert time.monotonic() - begun > 2.5
    assert _gone(home, [])
    assert living_server(Places(home)) is None


def test_a_recycled_pid_is_not_hit(lab: VirtualLab) -> None:
    (phone,) = lab.up("pixel-8")
    record = read_phone(lab.folder(phone))
    assert record is not None
    with subprocess.Popen(["sleep", "60"]) as stranger:
        state = (lab.folder(phone) / "state.json").read_text()
        lab.down()
        state = state.replace(f'"pid": {record.pid}', f'"pid": {stranger.pid}')
        (lab.folder(phone) / "state.json").write_text(state)
        assert lab.down() == []
        assert stranger.poll() is None
        stranger.kill()


def test_launcher_only_where_slots_are_short(lab: VirtualLab) -> None:
    (one,) = lab.up("pixel-8", slots=1)
    assert lab.shell(one, "getprop ro.orch.launcher").stdout == b"\n"
    lab.up(("pixel-8", 2), slots=1)
    assert lab.shell(one, "getprop ro.orch.launcher").stdout == b"/system/bin/orch-slot\n"
    lab.up(("pixel-8", 2), slots=2)
    assert lab.shell(one, "getprop ro.orch.launcher").stdout == b"\n"


@pytest.mark.parametrize("confinement", ["auto", "unconfined"])
def test_slots_let_so_many_compute_at_once(tmp_path: Path, confinement: str) -> None:
    with VirtualLab(tmp_path / "home", confinement=confinement) as lab:
        phones = lab.up(("pixel-8", 3), slots=1)
        launcher = lab.shell(phones[0], "getprop ro.orch.launcher").stdout.decode().strip()
        run = 'cd "${ORCH_ROOT-}"/data/local/tmp; read a b </proc/uptime; $(getprop ro.orch.launcher) sleep 0.4; '
        run += "read c d </proc/uptime; ls; cat slot_wait; exit 3"
        assert launcher.endswith("/system/bin/orch-slot")
        processes = [
            subprocess.Popen(
                [adb_path(), "-s", phone.serial, "shell", run], env=dict(lab.server.env), stdout=subprocess.PIPE
            )
            for phone in phones
        ]
        starts = []
        for process in processes:
            output, _ = process.communicate(timeout=30)
            assert process.returncode == 3
            name, wait = output.decode().splitlines()
            assert name == "slot_wait"
            asked, got = (float(word) for word in wait.split())
            assert got >= asked
            starts.append(got)
        starts.sort()
        # One at a time: between two starts lies one sleep, in clock ticks of 10 ms.
        assert all(later - earlier > 0.38 for earlier, later in itertools.pairwise(starts))
        # Who is killed lets go at once.
        lab.shell(phones[0], "cd ${ORCH_ROOT-}/data/local/tmp; $(getprop ro.orch.launcher) sh -c 'kill -9 $$'")
        assert lab.shell(phones[1], "cd ${ORCH_ROOT-}/data/local/tmp; $(getprop ro.orch.launcher) true").returncode == 0


def test_fifty_phones_in_one_process(lab: VirtualLab) -> None:
    phones = lab.up(("pixel-8", 20), ("pixel-3", 15), ("redmi-go", 15))
    assert len({phone.pid for phone in phones}) == 1
    assert ask(lab.server_port, "host:devices").count("\tdevice") == 50
    processes = [
        subprocess.Popen(
            [adb_path(), "-s", phone.serial, "shell", "getprop ro.serialno"],
            env=dict(lab.server.env),
            stdout=subprocess.PIPE,
        )
        for phone in phones
    ]
    answers = [process.communicate(timeout=60)[0].decode().strip() for process in processes]
    assert answers == [phone.serialno for phone in phones]
    pids = _below(phones[0].pid)
    lab.down()
    assert _gone(lab.home, pids)


_UP = """
import sys
from pathlib import Path
from android_runner.virtual import lifecycle
lifecycle.up(Path(sys.argv[1]), [("pixel-8", 6)], Path(sys.argv[2]), idle_exit_s=120.0)
"""


@pytest.mark.parametrize("written", ["virtual/server.json", "virtual/daemons/*.log"])
def test_who_starts_phones_may_be_killed_at_any_moment(lab: VirtualLab, written: str) -> None:
    """Whoever asks next waits for what was started, and starts nothing a second time."""
    starter = subprocess.Popen([sys.executable, "-c", _UP, str(lab.home), str(adb_path())])
    until = time.monotonic() + 20
    while not list(lab.home.glob(written)):
        assert time.monotonic() < until
        time.sleep(0.001)
    starter.kill()
    starter.wait()
    phones = lab.up(("pixel-8", 6))
    assert {phone.state for phone in phones} == {"up"}
    assert len({phone.pid for phone in phones}) == 1
    started = [one for one in _commands(lab.home) if "virtual.daemon" in one]
    assert len(started) == 1
    assert len([one for one in _commands(lab.home) if "nodaemon" in one]) == 1
    assert lab.shell(phones[5], "echo alive").stdout == b"alive\n"


def _commands(home: Path) -> list[str]:
    """The commands of all processes that have a home in their words or their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, env = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in words + env:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


_AS_ORDINARY_USER = """
import os, subprocess, sys
from pathlib import Path
from android_runner.virtual import lifecycle

home, adb = Path(sys.argv[1]), Path(sys.argv[2])
(phone,) = lifecycle.up(home, [("pixel-8", 1)], adb)
env = dict(lifecycle.ensure_server(home, adb).env)
done = subprocess.run([adb, "-s", phone.serial, "shell", "id -u; getprop ro.serialno"], env=env, capture_output=True)
assert lifecycle.down(home, wipe=True) == [phone.serialno]
assert not list((home / "virtual/phones").iterdir())
print(os.getuid(), phone.confinement, *done.stdout.decode().split())
"""


def test_an_ordinary_user_can_do_it_all(tmp_path: Path) -> None:
    """A process with uid 1000 and without a single capability: what is true for any user of the host."""
    done = subprocess.run(
        ["unshare", "-U", "--map-user=1000", "--map-group=1000", sys.executable, "-c", _AS_ORDINARY_USER,
         str(tmp_path / "home"), str(adb_path())],
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.decode().split() == ["1000", "namespace", "2000", "virtual-pixel-8-1"], done.stderr.decode()

"""The phone script when things go wrong: killed, started twice, its phone given to somebody else, rebooted."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from android_runner.block import ORCH_DIR, BlockEnding, Ending
from tests.host_phone import SHELLS, HostPhone, block_of, task, until


@pytest.fixture(params=sorted(SHELLS))
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostPhone]:
    made = HostPhone(tmp_path / "root", str(request.param))
    yield made
    made.end_all()


@pytest.fixture
def phones(tmp_path: Path) -> Iterator[list[HostPhone]]:
    """One phone with each shell, for stories that mostly wait: they are told at once."""
    made = [HostPhone(tmp_path / shell, shell) for shell in sorted(SHELLS)]
    yield made
    for phone in made:
        phone.end_all()


SLEEPER = ("/bin/sh", "-c", "echo $$ >pid; exec sleep 300")


def _idle(phone: HostPhone) -> bool:
    return not phone.processes()


def trial_pid(phone: HostPhone, task_id: str) -> int:
    path = phone.local(block_of(task("x", "true")).directory / "part" / task_id / "pid")
    until(lambda: path.exists() and path.read_text().strip(), what=f"the process of {task_id}")
    return int(path.read_text())


def test_a_killed_script_is_started_again_and_goes_on(phone: HostPhone) -> None:
    block = block_of(task("a", "true"), task("b", *SLEEPER), task("c", "true"))
    first = phone.start(block)
    orphan = trial_pid(phone, "b")
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=10)
    assert orphan in phone.processes()
    journal = phone.run(block)
    assert journal.damage is None
    assert journal.ending is BlockEnding.DONE
    assert [(r.task_id, r.ending) for r in journal.records.values()] == [
        ("a", Ending.EXITED),
        ("b", Ending.LOST),
        ("c", Ending.EXITED),
    ]
    assert phone.local(block.directory / "part/b/pid").exists(), "the torn folder is kept as evidence"
    until(lambda: not phone.processes(), what="no process left")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("dead", [False, True], ids=["", "after its script died"])
def test_what_hangs_in_a_folder_that_somebody_clears_is_ended(phones: list[HostPhone], dead: bool) -> None:
    """Nobody could find it any more: neither its numbers nor its place are written down anywhere."""
    block = block_of(task("a", *SLEEPER), task("b", "true"))
    scripts = [phone.start(block) for phone in phones]
    hung = [trial_pid(phone, "a") for phone in phones]
    time.sleep(1.5)  # its watchdog has seen it
    for phone, script, pid in zip(phones, scripts, hung, strict=True):
        os.kill(pid, signal.SIGSTOP)
        if dead:
            script.send_signal(signal.SIGKILL)
        shutil.rmtree(phone.local(ORCH_DIR))
    until(lambda: not any(map(lives, hung)), what="the end of what hangs")
    for script in scripts:
        script.wait(timeout=10)


def test_an_orphaned_trial_is_found_by_its_folder(phone: HostPhone) -> None:
    block = block_of(task("a", *SLEEPER), task("b", "true"))
    first = phone.start(block)
    orphan = trial_pid(phone, "a")
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=10)
    phone.local(block.directory / "current").write_text("")
    phone.run(block)
    assert orphan not in phone.processes()


def test_the_watchdog_of_a_killed_script_ends_the_trial_and_itself(phones: list[HostPhone]) -> None:
    block = block_of(task("a", *SLEEPER, deadline_s=3))
    scripts = [phone.start(block) for phone in phones]
    for phone, script in zip(phones, scripts, strict=True):
        trial_pid(phone, "a")
        known = phone.local(block.directory / "current")  # from then on the watchdog knows it
        until(lambda known=known: " a " in known.read_text(), what="the watchdog is told")
        script.send_signal(signal.SIGKILL)
        script.wait(timeout=10)
    for phone in phones:
        until(partial(_idle, phone), what=f"no process left of {phone.shell_command}")


def test_a_trial_that_ended_before_its_journal_line_is_adopted(phone: HostPhone) -> None:
    block = block_of(task("a", "true"), task("b", "true"))
    phone.run(block)
    path = phone.local(block.directory / "journal")
    lines = path.read_text().splitlines(keepends=True)
    assert " exited 2 b " in lines[-2]
    path.write_text("".join(lines[:-2]))
    os.rename(phone.local(block.directory / "out/b"), phone.local(block.directory / "part/b"))
    journal = phone.run(block)
    assert journal.damage is None
    assert journal.records["b"].ending is Ending.EXITED
    assert phone.local(block.directory / "out/b/rc").exists()


def test_a_torn_line_is_bridged(phone: HostPhone) -> None:
    block = block_of(task("a", "true"), task("b", "true"))
    phone.run(block)
    path = phone.local(block.directory / "journal")
    path.write_bytes(path.read_bytes()[:-3])
    assert phone.journal(block).torn
    journal = phone.run(block)
    assert journal.damage is None
    assert journal.ending is BlockEnding.DONE


def test_a_second_script_on_the_same_block_is_refused(phone: HostPhone) -> None:
    block = block_of(task("a", "/bin/sh", "-c", "until [ -e ../../go ]; do sleep 0.05; done"))
    first = phone.start(block)
    until(lambda: phone.journal(block).running(), what="the first script")
    second = phone.start(block)
    assert second.wait(timeout=10) == 3
    refused = phone.local(block.directory / "refused").read_text()
    assert refused == f"running {first.pid}\n"
    phone.write(block.directory / "go", "")
    first.wait(timeout=20)
    assert phone.journal(block).ending is BlockEnding.DONE


def test_a_stale_lock_of_another_process_or_boot_does_not_hold(phone: HostPhone) -> None:
    block = block_of(task("a", "true"))
    lock = phone.local(block.directory / "lock")
    for owner in (f"{os.getpid()} 1 {phone.boot_id.read_text().strip()}", f"{os.getpid()} 1 other-boot", ""):
        lock.mkdir(parents=True, exist_ok=True)
        (lock / "owner").write_text(f"{owner}\n")
        assert phone.run(block).ending is BlockEnding.DONE


@pytest.mark.parametrize("stands", ["6", "4294967301", "99999999999999999999"])
def test_a_lower_epoch_is_refused(phone: HostPhone, stands: str) -> None:
    phone.write("/data/local/tmp/orch/lease", stands)
    block = block_of(task("a", "true"))
    assert phone.start(block).wait(timeout=10) == 3
    assert phone.local(block.directory / "refused").read_text() == f"lease {stands}\n"
    assert phone.lease() == stands
    assert not phone.local(block.directory / "journal").exists()


@pytest.mark.parametrize("stands", ["4", "", "garbage"])
def test_a_higher_epoch_takes_the_phone(phone: HostPhone, stands: str) -> None:
    phone.write("/data/local/tmp/orch/lease", stands)
    assert phone.run(block_of(task("a", "true"))).ending is BlockEnding.DONE
    assert phone.lease() == "5"


def test_a_changed_lease_ends_the_block_before_the_next_trial(phone: HostPhone) -> None:
    block = block_of(task("a", "sleep", "1"), task("b", "true"))
    script = phone.start(block)
    until(lambda: phone.journal(block).running(), what="the first trial")
    phone.write("/data/local/tmp/orch/lease", "6")
    script.wait(timeout=20)
    journal = phone.journal(block)
    assert journal.ending is BlockEnding.LEASE_LOST
    assert [(r.task_id, r.ending) for r in journal.records.values()] == [("a", Ending.EXITED)]


def test_after_a_reboot_no_foreign_process_is_taken_for_the_trial(phone: HostPhone) -> None:
    block = block_of(task("a", *SLEEPER), task("b", "true"))
    script = phone.start(block)
    trial_pid(phone, "a")
    phone.end_all()
    script.wait(timeout=10)
    phone.boot("99999999-2222-3333-4444-555555555555")
    bystander = phone.start(block_of(task("s", "sleep", "300"), block_id="b2"))
    current = phone.local(block.directory / "current")
    stat = Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(") ")[2].split()
    current.write_text(f"{bystander.pid} {stat[19]} 20 a 1\n")
    journal = phone.run(block)
    assert bystander.poll() is None
    assert journal.boot_id == "99999999-2222-3333-4444-555555555555"
    assert [r.ending for r in journal.records.values()] == [Ending.LOST, Ending.EXITED]
    phone.end_all()
    bystander.wait(timeout=10)


def test_a_dumpsys_that_hangs_does_not_hold_the_block(phones: list[HostPhone]) -> None:
    for phone in phones:
        phone.local("/sys/class/power_supply/battery/temp").unlink()
        (phone.tools / "dumpsys").write_text("#!/bin/sh\nexec sleep 300\n")
        (phone.tools / "dumpsys").chmod(0o755)
    block = block_of(task("a", "true"), task("b", "true"))
    for script in [phone.start(block) for phone in phones]:
        script.wait(timeout=30)
    for phone in phones:
        assert phone.journal(block).ending is BlockEnding.DONE, phone.shell_command
        until(partial(_idle, phone), what=f"no process left of {phone.shell_command}")


def test_a_trial_that_somebody_stopped_and_ended_is_lost(phone: HostPhone) -> None:
    block = block_of(task("a", *SLEEPER), task("b", "true"))
    script = phone.start(block)
    pid = trial_pid(phone, "a")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "T", what="a stopped process")
    os.kill(pid, signal.SIGKILL)
    script.wait(timeout=20)
    journal = phone.journal(block)
    assert journal.damage is None
    assert journal.records["a"].ending is Ending.LOST or journal.records["a"].exit_code == 137
    assert journal.records["b"].ending is Ending.EXITED

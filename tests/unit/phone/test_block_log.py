"""The phone's log beside a trial, under every shell of this machine: complete, marked, and nothing is left running."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from android_runner.block import LOG_FILE, Block, Ending, TrialTask
from tests.host_phone import SCRIPT, HostPhone, block_of, task, until

SAYS = 'log -p v -t onnxruntime " [V:onnxruntime:Default, x.cc:1 f] $0 $$"'
DEAF_LOG = "#!/bin/sh\nexit 0\n"
STUCK_LOGCAT = "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n"

AGAIN = '#!/bin/sh\n[ -n "$LOG_AGAIN" ] || { export LOG_AGAIN=1; exec sh "$0" "$@"; }\nunset LOG_AGAIN\n'
"""Starts itself again under the phone's own shell: its path has spaces, which `#!` can't take."""


def logged(task_id: str, *argv: str, deadline_s: int = 20) -> TrialTask:
    return replace(task(task_id, *argv, deadline_s=deadline_s), log_tags=("onnxruntime",))


def tool(phone: HostPhone, name: str, text: str) -> None:
    (phone.tools / name).write_text(text)
    (phone.tools / name).chmod(0o755)


@pytest.fixture
def logging_phone(phone: HostPhone) -> HostPhone:
    """A phone with a log: the tools of virtual phones, run by this phone's own shell."""
    for name in ("log", "logcat"):
        text = (files("android_runner.virtual") / f"{name}.sh").read_text()
        tool(phone, name, AGAIN + text)
    phone.write("/data/system/log", "01-01 00:00:00.000  1  1 V onnxruntime: of an earlier process")
    return phone


def captured(phone: HostPhone, block: Block, task_id: str, place: str = "out") -> list[str]:
    return phone.local(block.directory / place / task_id / LOG_FILE).read_text().splitlines()


def messages(lines: list[str]) -> list[str]:
    return [line.split(maxsplit=4)[4] for line in lines if not line.startswith("---------")]


def impatient(phone: HostPhone, **more: str) -> None:
    """The script with shorter waits for marks that never come, and whatever else is to stand in it."""
    script = phone.local(SCRIPT)
    text = script.read_text()
    for old, new in {"mark 3": "mark 1", "mark 5": "mark 1", **more}.items():
        assert old in text
        text = text.replace(old, new)
    script.write_text(text)


def pid_in(phone: HostPhone, block: Block, name: str) -> int:
    text = phone.local(block.directory / name).read_text().split()
    return int(text[0]) if text else 0


def test_all_that_a_process_logs_stands_between_two_marks(logging_phone: HostPhone) -> None:
    block = block_of(logged("a", "/bin/sh", "-c", f"{SAYS}; exec log -t onnxruntime last", "one"), task("b", "true"))
    journal = logging_phone.run(block)
    assert [(r.ending, r.exit_code) for r in journal.records.values()] == [(Ending.EXITED, 0)] * 2
    lines = captured(logging_phone, block, "a")
    said = messages(lines)
    begin, end = (
        said.index("I orch-mark: begin a"),
        next(n for n, m in enumerate(said) if m.startswith("I orch-mark: end")),
    )
    pid = said[end].rsplit(" ", 1)[1]
    assert said[end] == f"I orch-mark: end a {pid}"
    assert said[begin + 1 : end] == [
        f"V onnxruntime:  [V:onnxruntime:Default, x.cc:1 f] one {pid}",
        "I onnxruntime: last",
    ]
    assert not (logging_phone.local(block.directory) / "out/b" / LOG_FILE).exists()
    assert "earlier process" in logging_phone.local("/data/system/log").read_text(), "never cleared"
    until(lambda: not logging_phone.processes(), what="no process left")


def test_only_the_trial_behind_the_tags_has_a_log(logging_phone: HostPhone) -> None:
    block = block_of(task("a", "true"), logged("b", "true"), task("c", "true"), logged("d", "true"))
    logging_phone.run(block)
    out = logging_phone.local(block.directory) / "out"
    assert [(out / name / LOG_FILE).exists() for name in "abcd"] == [False, True, False, True]
    assert messages(captured(logging_phone, block, "d"))[-1].startswith("I orch-mark: end d ")


def test_a_phone_without_a_log_runs_the_trial_all_the_same(phone: HostPhone) -> None:
    block = block_of(logged("a", "true"))
    assert phone.run(block).records["a"].exit_code == 0
    assert not (phone.local(block.directory) / "out/a" / LOG_FILE).exists()


def test_marks_that_do_not_come_out_cost_seconds_only(phone: HostPhone) -> None:
    tool(phone, "log", DEAF_LOG)
    tool(phone, "logcat", STUCK_LOGCAT)
    impatient(phone)
    block = block_of(logged("a", "true"), task("b", "true"))
    journal = phone.run(block)
    assert [r.exit_code for r in journal.records.values()] == [0, 0]
    assert captured(phone, block, "a") == []
    until(lambda: not phone.processes(), what="no process left")


def test_a_trial_over_its_deadline_leaves_no_log_behind(logging_phone: HostPhone) -> None:
    block = block_of(logged("a", "/bin/sh", "-c", f"{SAYS}; sleep 300", "hangs", deadline_s=1))
    journal = logging_phone.run(block)
    assert journal.records["a"].ending is Ending.TIMED_OUT
    said = messages(captured(logging_phone, block, "a"))
    assert any(" hangs " in one for one in said)
    assert said[-1].startswith("I orch-mark: end a ")
    until(lambda: not logging_phone.processes(), what="no process left")


def test_a_kill_ends_the_log_too(logging_phone: HostPhone) -> None:
    block = block_of(logged("a", "sleep", "300", deadline_s=600))
    script = logging_phone.start(block)
    until(lambda: logging_phone.journal(block).running(), what="the trial")
    logging_phone.write(block.directory / "kill", "")
    script.wait(timeout=20)
    until(lambda: not logging_phone.processes(), what="no process left")


def test_the_watchdog_ends_the_log_when_the_script_is_killed(logging_phone: HostPhone) -> None:
    block = block_of(logged("a", "sleep", "2"), task("b", "true"))
    script = logging_phone.start(block)
    until(lambda: logging_phone.journal(block).running(), what="the trial")
    assert pid_in(logging_phone, block, "logger")
    os.kill(script.pid, signal.SIGKILL)
    script.wait(timeout=20)
    until(lambda: not logging_phone.processes(), what="no process left")


def test_a_restarted_script_ends_what_a_killed_one_left(logging_phone: HostPhone) -> None:
    block = block_of(logged("a", "sleep", "300", deadline_s=600), task("b", "true"))
    script = logging_phone.start(block)
    until(lambda: logging_phone.journal(block).running(), what="the trial")
    os.kill(script.pid, signal.SIGKILL)
    script.wait(timeout=20)
    journal = logging_phone.run(block)
    assert [r.ending for r in journal.records.values()] == [Ending.LOST, Ending.EXITED]
    assert messages(captured(logging_phone, block, "a", "part"))[-1] == "I orch-mark: begin a"
    until(lambda: not logging_phone.processes(), what="no process left")


def test_a_trial_whose_log_is_flooded_is_bounded(phone: HostPhone) -> None:
    """The bound is the kernel's; here a smaller one stands in the script, as 64 MiB take too long."""
    flood = "#!/bin/sh\nwhile :; do echo '01-01 00:00:00.000 1 1 V onnxruntime: flood flood flood flood'; done\n"
    tool(phone, "log", DEAF_LOG)
    tool(phone, "logcat", flood)
    impatient(phone, **{"ulimit -f 131072": "ulimit -f 20"})
    block = block_of(logged("a", "true"))
    assert phone.run(block).records["a"].exit_code == 0
    assert Path(phone.local(block.directory) / "out/a" / LOG_FILE).stat().st_size <= 20 * 1024

"""Cores of a trial, under every shell of this machine: bound as asked, or refused; never unbound in silence."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from android_runner.block import Block, Ending
from android_runner.errors import RunnerError, SettingRefused
from android_runner.phone.journal import Journal
from android_runner.verdict import TrialEnd, decide
from tests.host_phone import HostPhone, block_of, task

SHOW = task("a", "/bin/sh", "-c", "while read -r line; do echo $line; done </proc/self/status")


def core() -> int:
    """One core that this process may use."""
    return min(os.sched_getaffinity(0))


def error_of(phone: HostPhone, block: Block, journal: Journal) -> RunnerError:
    """The leaf that the block's first trial ends in."""
    folder = phone.local(block.directory / "out/a")
    end = TrialEnd(
        ending=Ending.EXITED,
        exit_code=journal.records["a"].exit_code,
        stdout=(folder / "stdout").read_bytes(),
        stderr=(folder / "stderr").read_bytes(),
    )
    with pytest.raises(RunnerError) as caught:
        decide(end)
    return caught.value


def test_a_trial_has_the_cores_that_were_asked_for_and_the_next_one_all(phone: HostPhone) -> None:
    block = block_of(replace(SHOW, cpu_mask=1 << core()), replace(SHOW, task_id="b"))
    journal = phone.run(block)
    assert [record.exit_code for record in journal.records.values()] == [0, 0]
    shown = {name: phone.local(block.directory / "out" / name / "stdout").read_text() for name in ("a", "b")}
    assert f"Cpus_allowed_list: {core()}\n" in shown["a"]
    assert f"Cpus_allowed_list: {core()}\n" not in shown["b"] or len(os.sched_getaffinity(0)) == 1


def test_cores_that_are_none_are_refused(phone: HostPhone) -> None:
    block = block_of(replace(SHOW, cpu_mask=1 << 63))
    error = error_of(phone, block, phone.run(block))
    assert isinstance(error, SettingRefused)
    assert "affinity" in str(error)


def test_without_taskset_a_trial_with_cores_is_refused(phone: HostPhone) -> None:
    phone.keep_tools("cat", "kill", "mkdir", "mv", "rm", "setsid", "sleep", "sync")
    block = block_of(replace(SHOW, cpu_mask=1), task("b", "/bin/sh", "-c", "true"))
    journal = phone.run(block)
    error = error_of(phone, block, journal)
    assert isinstance(error, SettingRefused)
    assert "no taskset" in str(error)
    assert journal.records["b"].exit_code == 0, "a trial without cores runs"

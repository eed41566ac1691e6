"""The script with a PATH that holds only what Android 8 has (tests/corpus/userland), and without its rarer commands."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from android_runner.block import BlockEnding, Ending
from android_runner.phone.listing import script_source
from android_runner.phone.snapshots import read_snapshots
from android_runner.validity import Limits
from tests.host_phone import PHONE_SHELLS, HostPhone, block_of, task

USERLAND = Path(__file__).parents[2] / "corpus" / "userland"


def android_8() -> tuple[str, ...]:
    """The commands of AOSP's list that this machine has by the same name."""
    return tuple(name for name in sorted(listed("8.0")) if shutil.which(name))


def listed(release: str) -> set[str]:
    """A release's commands, whoever brings them."""
    return {name for path in USERLAND.glob(f"android-{release}-*.txt") for name in path.read_text().split()}


def test_what_8_0_and_9_both_have_8_1_has() -> None:
    assert listed("9") == listed("8.0") | {"awk"}


def test_the_list_is_that_of_the_release() -> None:
    toybox = (USERLAND / "android-8.0-toybox.txt").read_text().split()
    assert len(toybox) == len(set(toybox))
    assert {"taskset", "timeout", "sha256sum", "setsid"} < set(toybox)
    assert "awk" not in toybox, "came with Android 9"


@pytest.mark.parametrize("phone", PHONE_SHELLS, indirect=True)
def test_a_block_needs_no_other_command(phone: HostPhone) -> None:
    phone.keep_tools(*android_8())
    block = block_of(
        task("a", "/bin/sh", "-c", "echo rows >result.csv"),
        replace(task("b", "/bin/sh", "-c", "exit 7"), cpu_mask=1),
        task("c", "/bin/sleep", "300", deadline_s=1),
    )
    journal = phone.run(replace(block, limits=Limits(max_load=None)))
    assert (journal.damage, journal.ending) == (None, BlockEnding.DONE)
    assert [(r.ending, r.exit_code) for r in journal.records.values()] == [
        (Ending.EXITED, 0),
        (Ending.EXITED, 7),
        (Ending.TIMED_OUT, 143),
    ]
    assert "not found" not in phone.local(block.directory / "log").read_text()


@pytest.mark.parametrize("phone", PHONE_SHELLS, indirect=True)
def test_without_taskset_timeout_and_sha256sum_only_cores_are_missing(phone: HostPhone) -> None:
    """It has a watchdog of its own, never hashes (staging does, and refuses such a phone), and refuses cores."""
    phone.keep_tools(*(name for name in android_8() if name not in ("taskset", "timeout", "sha256sum")))
    block = block_of(
        task("hang", "/bin/sleep", "300", deadline_s=1),
        replace(task("bound", "/bin/sh", "-c", "true"), cpu_mask=1),
        task("free", "/bin/sh", "-c", "true"),
    )
    journal = phone.run(block)
    assert [(r.ending, r.exit_code) for r in journal.records.values()] == [
        (Ending.TIMED_OUT, 143),
        (Ending.EXITED, 125),
        (Ending.EXITED, 0),
    ]
    record = journal.records["free"]
    vitals = read_snapshots(phone.local(block.directory / "vitals").read_bytes(), {record.before})
    assert vitals[record.before].battery_level == 88


def test_shellcheck_has_nothing_to_say(tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("this machine has no shellcheck (make system-deps installs it): the phone script is unchecked")
    script = tmp_path / "run_block.sh"
    script.write_bytes(script_source())
    done = subprocess.run(["shellcheck", "--shell=sh", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

"""The lab's file: defaults, what goes over what, and every problem at once with its path."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from android_runner.preparing.steps import StepName
from orchestrator.errors import UsageError
from orchestrator.home import Home
from orchestrator.lab import Lab, PrepareTable, Recovery, parse_lab
from orchestrator.store.lab_file import read_lab


def test_a_home_without_a_file_changes_nothing(tmp_path: Path) -> None:
    lab = read_lab(Home(tmp_path))
    assert lab == Lab() == parse_lab("", "lab.toml")
    assert lab.lab.longest_stretch_minutes is None
    assert lab.recovery_of("ANY") == Recovery(usb_reset=False, reboot=False, hub_power=False)


def test_a_phones_table_goes_over_the_labs_key_by_key(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(
        "[lab]\nlongest_stretch_minutes = 20\npush_per_hub = 3\n"
        "[recovery]\nusb_reset = true\nboot_timeout_minutes = 5.0\n"
        '[phones."R58N"]\nlabel = "B3"\nrecovery.reboot = true\nrecovery.usb_reset = false\n'
    )
    lab = read_lab(Home(tmp_path))
    assert (lab.lab.longest_stretch_minutes, lab.lab.push_per_hub, lab.lab.push_per_host) == (20.0, 3, 8)
    assert lab.recovery_of("other") == Recovery(usb_reset=True, boot_timeout_minutes=5.0)
    assert lab.recovery_of("R58N") == Recovery(usb_reset=False, reboot=True, boot_timeout_minutes=5.0)
    assert lab.labels() == {"R58N": "B3"}


def test_every_problem_is_told_at_once_with_its_path() -> None:
    text = (
        "colour = 1\n[lab]\npush_per_hub = 0\nlongest_stretch_minute = 3.0\n[recovery]\nreboot = 1\n"
        '[phones.A]\nlabel = "a b"\n[phones.B.recovery]\nrebot = true\n'
    )
    with pytest.raises(UsageError) as told:
        parse_lab(text, "lab.toml")
    lines = [problem.line() for problem in told.value.problems]
    starts = (
        "lab.toml: colour: unknown key", "lab.toml: lab.longest_stretch_minute: unknown key",
        "lab.toml: lab.push_per_hub: ", "lab.toml: recovery.reboot: ", "lab.toml: phones.A.label: ",
        "lab.toml: phones.B.recovery.rebot: unknown key",
    )  # fmt: skip
    assert len(lines) == len(starts)
    assert all(any(line.startswith(start) for line in lines) for start in starts), lines
    assert any("did you mean 'longest_stretch_minutes'?" in line for line in lines)
    assert any("did you mean 'reboot'?" in line and "usb_reset" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[lab\n", "is not TOML"),
        ("[lab]\nlongest_stretch_minutes = 0.0\n", "greater than 0"),
        ("[lab]\nlongest_stretch_minutes = nan\n", "longest_stretch_minutes"),
        ("[lab]\nlongest_stretch_minutes = inf\n", "longest_stretch_minutes"),
        ("[lab]\npush_per_host = true\n", "push_per_host"),
        ('[phones.A]\nlabel = "B3"\n[phones.B]\nlabel = "B3"\n', "'B3' is A's"),
        ('phones = "all"\n', "phones"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, word: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_lab(text, "lab.toml")
    assert word in str(told.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(b"\xff\xfe[lab]")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_lab(Home(tmp_path))
    (tmp_path / "lab.toml").write_bytes(b"#" * (1 << 21))
    with pytest.raises(UsageError, match="bytes"):
        read_lab(Home(tmp_path))


def test_a_labs_steps_are_those_of_preparing_and_a_phone_may_differ() -> None:
    assert {one.name for one in fields(PrepareTable)} == set(StepName)
    lab = parse_lab("[prepare]\ndoze = true\nawake = true\n[phones.A.prepare]\ndoze = false\nclocks = true\n", "lab")
    assert lab.prepare_of("A") == (StepName.AWAKE, StepName.CLOCKS)
    assert lab.prepare_of("B") == (StepName.AWAKE, StepName.DOZE)
    assert Lab().prepare_of("A") == ()

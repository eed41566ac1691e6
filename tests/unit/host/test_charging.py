"""A phone that can stop charging at a level is told to; one that can't is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from android_runner.charging import SWITCHES, Charge, Held, held_from, hold_command

KERNEL, PIXEL = SWITCHES


def asked(root: Path, level: int) -> tuple[Held, str]:
    """What a phone with these files answers to the command, in this host's shell."""
    command = hold_command(level, "m:")
    su = root / "bin/su"
    su.parent.mkdir(exist_ok=True)
    su.write_text("#!/bin/sh\nexec sh\n")
    su.chmod(0o755)
    env = {**os.environ, "ORCH_ROOT": str(root), "PATH": f"{su.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, timeout=20, check=True)
    return held_from(done.stdout, "m:", level), done.stdout


def switch(root: Path, path: str, value: str) -> Path:
    """A switch in the phone's files."""
    file = root / path.removeprefix("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{value}\n")
    return file


def test_a_phone_without_a_switch(tmp_path: Path) -> None:
    found, _ = asked(tmp_path, 80)
    assert found == Held(Charge.NOT_OFFERED)
    assert "no switch" in found.words(80)


@pytest.mark.parametrize("path", SWITCHES)
def test_a_switch_is_set_once(tmp_path: Path, path: str) -> None:
    file = switch(tmp_path, path, "100")
    assert asked(tmp_path, 80)[0] == Held(Charge.HELD, 80)
    assert file.read_text() == "80\n"
    os.utime(file, (5, 5))
    assert asked(tmp_path, 80)[0] == Held(Charge.HELD, 80)
    assert file.stat().st_mtime == 5, "one that stands so is left alone"


def test_the_kernels_own_switch_comes_first(tmp_path: Path) -> None:
    first, other = switch(tmp_path, KERNEL, "100"), switch(tmp_path, PIXEL, "100")
    asked(tmp_path, 70)
    assert (first.read_text(), other.read_text()) == ("70\n", "100\n")


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ("m:100\nm:end\n", Held(Charge.REFUSED, 100)),
        ("m:\nm:end\n", Held(Charge.REFUSED, None)),
        ("m:\x1b[2J\nm:end\n", Held(Charge.REFUSED, None)),
        ("noise\nm:80\nm:end\n", Held(Charge.HELD, 80)),
        ("", Held(Charge.NOT_OFFERED)),
    ],
)
def test_what_the_answer_says(answer: str, held: Held) -> None:
    assert held_from(answer, "m:", 80) == held


@pytest.mark.parametrize("level", [0, 39, 101, -5])
def test_no_level_that_puts_a_phone_out(level: int) -> None:
    with pytest.raises(ValueError, match="level"):
        hold_command(level, "m:")

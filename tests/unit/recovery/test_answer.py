"""What a phone's answer to the probe shows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from android_runner.recovery.answer import Expected, Nonce, answer_command, judged
from android_runner.recovery.rungs import Seen

NONCE = Nonce("a1" * 8, "b2" * 8)
WORD = NONCE.first + NONCE.second
WHO = Expected(identity="R58N", fingerprint="google/x:14")
BOOT = "0f0f0f0f-1111-2222-3333-444444444444"


def said(**changes: str) -> str:
    lines = {"serialno": "R58N", "fingerprint": "google/x:14", "boot_id": BOOT, "booted": "1", "kept": WORD, "end": ""}
    return "".join(f"{WORD} {name} {value}\n" for name, value in (lines | changes).items())


def test_the_phone_itself_answers() -> None:
    found = judged(said(), NONCE, WHO)
    assert (found.seen, found.boot_id) == (Seen.ANSWERS, BOOT)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", Seen.HUNG),
        ("sh: not found\n", Seen.HUNG),
        (answer_command(NONCE), Seen.HUNG),
        (said().replace(WORD, "0" * 32), Seen.HUNG),
        (said().rpartition(f"{WORD} end")[0], Seen.HUNG),
        (said(serialno="OTHER"), Seen.STRANGER),
        (said(booted=""), Seen.BOOTING),
        (said(fingerprint="google/x:15"), Seen.UPDATED),
        (said(kept=""), Seen.STORAGE),
        (said(serialno="", fingerprint=""), Seen.ANSWERS),
        (said(boot_id="; rm"), Seen.ANSWERS),
    ],
)
def test_what_is_wrong_is_seen(text: str, seen: Seen) -> None:
    assert judged(text, NONCE, WHO).seen is seen


def test_hostile_words_are_made_fit_for_a_line() -> None:
    found = judged(said(serialno="\x1b[31mX\nY" * 500), NONCE, WHO)
    assert found.words.isprintable()
    assert len(found.words) < 200


def test_what_a_look_left_that_was_cut_off_is_taken_away_by_the_next(tmp_path: Path) -> None:
    ours = tmp_path / "data/local/tmp/orch"
    ours.mkdir(parents=True)
    for name in (".probe-0123", "lease"):
        (ours / name).write_text("x")
    env = {"ORCH_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", answer_command(NONCE)], env=env, capture_output=True, check=False)
    assert [path.name for path in ours.iterdir()] == ["lease"]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_puts_the_word_together(tmp_path: Path, shell: str) -> None:
    (tmp_path / "data/local/tmp").mkdir(parents=True)
    (tmp_path / "getprop").write_text("#!/bin/sh\ncase $1 in *serialno) echo R58N ;; *completed) echo 1 ;; esac\n")
    (tmp_path / "getprop").chmod(0o755)
    env = {"ORCH_ROOT": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([shell, "-c", answer_command(NONCE)], env=env, capture_output=True, text=True, check=False)
    assert judged(done.stdout, NONCE, WHO).seen is Seen.ANSWERS, done
    ours = tmp_path / "data/local/tmp/orch"
    assert list(ours.parent.iterdir()) == [ours], "nothing beside our folder, also when the phone dies meanwhile"
    assert list(ours.iterdir()) == []
    ours.rmdir()
    ours.write_text("no folder")
    done = subprocess.run([shell, "-c", answer_command(NONCE)], env=env, capture_output=True, text=True, check=False)
    assert judged(done.stdout, NONCE, WHO).seen is Seen.STORAGE, done

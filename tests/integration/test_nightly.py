"""`orch nightly` through the real CLI: a night cut off, one that starts late, two at once, and what starts it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from android_runner.virtual.lifecycle import running_server
from orchestrator.farm.lock import PhoneLock
from tests.docs.json_shapes import COMMANDS, problems, shape_of
from tests.forked_orch import ForkedOrch
from tests.nightly_lab import PHONES, SLOTS, NightlyLab
from tests.orch_cli import Orch, wait_for_line


@pytest.fixture
def nightly(orch: Orch, mnist: Path) -> NightlyLab:
    return NightlyLab(orch, mnist)


def standing(orch: Orch) -> dict[str, Any]:
    """The nightly's standing, which is as docs/json.md says."""
    told = json.loads(orch("nightly", "status", "--json").out)
    (shape,) = (shape_of(one) for one in COMMANDS if one.words == "orch nightly status --json")
    assert list(problems(told, shape)) == []
    (found,) = told
    assert isinstance(found, dict)
    return found


def attempts(home: Path) -> list[tuple[str, str]]:
    """Each timed attempt's run and outcome, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        return list(ledger.execute("select run_id, trial_id from attempt where purpose = 'time'"))


@pytest.mark.timeout(120)
def test_a_killed_night_goes_on_and_never_with_yesterdays_run(orch: Orch, nightly: NightlyLab) -> None:
    nightly.level(1000, sleep_s=0.2)
    nightly.write(rounds=4)
    forked = ForkedOrch(orch.home)

    def killed(*words: str) -> None:
        forked.start("nightly", "run", "lab", *words, *SLOTS)
        assert forked.said("plan  1/8"), forked.log.read_text()
        forked.send(signal.SIGKILL)
        assert forked.wait() == -signal.SIGKILL

    killed("--date", "2026-03-01")
    (cut,) = standing(orch)["nights"]
    assert (cut["night"], cut["state"]) == ("2026-03-01", "cut off")
    tonight = nightly.tonight(began_s=60, ends_s=3600, rounds=4)
    killed()
    (began,) = standing(orch)["nights"][0]["runs"]
    before = attempts(orch.home)
    ended = orch("nightly", "run", "lab", *SLOTS)
    assert ended.code == 0, ended
    assert f"{began}: " in ended.err, "it is resumed"
    night, older = standing(orch)["nights"]
    assert (night["night"], night["state"], night["runs"], night["measured"]) == (tonight, "done", [began], 8)
    assert (older["state"], older["runs"]) == ("cut off", cut["runs"]), "yesterday's is left alone"
    after = attempts(orch.home)
    assert set(before) < set(after)
    assert len(set(after)) == len(after), "nothing is measured twice"

    again = orch("nightly", "run", "lab", *SLOTS)
    assert again.code == 0, again
    assert "nothing is due" in again.err
    assert attempts(orch.home) == after


@pytest.mark.timeout(120)
def test_one_that_starts_late_keeps_its_deadline(orch: Orch, nightly: NightlyLab) -> None:
    nightly.level(1000, sleep_s=0.5)
    night = nightly.tonight(began_s=3600, ends_s=6, rounds=40)
    ended = orch("nightly", "run", *SLOTS)
    assert ended.code == 3, ended
    (late,) = standing(orch)["nights"]
    assert (late["night"], late["state"], late["exit"]) == (night, "incomplete", 3)
    assert 0 < late["measured"] < 60
    assert late["measured"] + late["skipped"] == late["planned"] == 80
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        reasons = {json.loads(text)["reason"] for (text,) in ledger.execute(SKIPPED)}
        assert reasons == {"deadline"}
        tags = json.loads(ledger.execute("select tags from run").fetchone()[0])
    assert tags == ["nightly=lab", f"night={night}"]

    over = orch("nightly", "run", *SLOTS)
    assert (over.code, "nothing is due" in over.err) == (0, True), over


SKIPPED = "select outcome from trial where state = 'skipped'"


@pytest.mark.timeout(60)
def test_a_night_that_nobody_called_is_not_silently_lost(orch: Orch, nightly: NightlyLab) -> None:
    nightly.tonight(began_s=7200, ends_s=-3600)
    first = orch("nightly", "run")
    assert (first.code, "nothing is due" in first.err) == (0, True), "it was not there before"
    (nightly.folder / "lab" / "2020-01-01").mkdir(parents=True)
    kept = {"nightly": "lab", "night": "2020-01-01", "exit": 0, "problem": ""}
    times = dict.fromkeys(
        ("starts_at", "ends_at", "began_at", "ended_at"), datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    )
    (nightly.folder / "lab" / "2020-01-01" / "night.json").write_text(json.dumps(kept | times))
    ended = orch("nightly", "run")
    assert ended.code == 3, ended
    night = standing(orch)["nights"][0]
    assert night["problem"].startswith("did not run: nothing called it from ")
    assert orch("nightly", "run").code == 0, "it is said once"


@pytest.mark.timeout(60)
def test_two_at_once_and_a_lab_without_phones(orch: Orch, nightly: NightlyLab) -> None:
    from orchestrator.app.nightly.record import nightly_lock
    from orchestrator.home import Home

    lock = nightly_lock(Home(orch.home), "lab")
    assert lock.take("lab") is None
    ended = orch("nightly", "run", "lab", "--date", "2026-03-01")
    assert ended.code == 2, ended
    assert f"nightly lab: process {os.getpid()} of " in ended.err
    assert standing(orch)["living"] == os.getpid()
    lock.release()

    nightly.write(perf_test="/no/such/tool")
    ended = orch("nightly", "run", "lab", "--date", "2026-03-01")
    assert ended.code == 2, ended
    (night,) = standing(orch)["nights"]
    assert (night["state"], "/no/such/tool" in night["problem"]) == ("could not run", True)

    for words, said in (
        (("run", "lab", "--date", "tomorrow"), "--date: 'tomorrow' is no day (give YYYY-MM-DD)"),
        (("run", "lap"), "lap.toml: can't be read: No such file or directory (known: lab)"),
        (("run", "../lab"), "can't be read"),
        (("status", "--last", "0"), "--last"),
    ):
        wrong = orch("nightly", *words)
        assert (wrong.code, said in wrong.err) == (2, True), wrong


HURRIED = """\
import orchestrator.cli.night as night
from orchestrator.cli.main import main
night.AGAIN_S = 0.3
main()
"""


@pytest.mark.timeout(120)
def test_a_night_waits_for_phones_that_somebody_has(orch: Orch, nightly: NightlyLab) -> None:
    nightly.write(device=["virtual:pixel-8"], rounds=1)
    assert orch("virtual", "up", "pixel-8").code == 0
    port = running_server(orch.home)
    lock = PhoneLock(f"{PHONES[0]}@{port}")
    assert lock.take("0412-quick-abcd") is None
    by_day = orch("nightly", "run", "--date", "2026-03-01", *SLOTS)
    assert (by_day.code, "busy: abcd (" in by_day.err) == (2, True), by_day
    nightly.tonight(began_s=60, ends_s=3600, device=["virtual:pixel-8"], rounds=1)
    words = [sys.executable, "-c", HURRIED, "nightly", "run", *SLOTS]
    with subprocess.Popen(words, env=orch.env, cwd=orch.home.parent, stderr=subprocess.PIPE, text=True) as process:
        wait_for_line(process, f"waits: {PHONES[0]}: busy: abcd (")
        lock.release()
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert standing(orch)["nights"][0]["state"] == "done"


CRONTAB = """#!/bin/sh
case $1 in
  -l) [ -f "{0}" ] || {{ echo 'no crontab for you' >&2; exit 1; }}; cat "{0}" ;;
  -) cat >"{0}" ;;
esac
"""
"""As cron's own program: it lists what it was given."""


@pytest.mark.timeout(60)
def test_cron_starts_it_where_there_is_no_systemd(orch: Orch, nightly: NightlyLab, tmp_path: Path) -> None:
    programs, table = tmp_path / "bin", tmp_path / "crontab"
    programs.mkdir()
    (programs / "crontab").write_text(CRONTAB.format(table))
    (programs / "crontab").chmod(0o755)
    orch.env |= {"PATH": f"{programs}:/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}
    orch.env.pop("DBUS_SESSION_BUS_ADDRESS", None)
    shown = orch("nightly", "install", "--dry-run")
    assert (shown.code, table.exists()) == (0, False), shown
    table.write_text("0 1 * * * mine\n")
    for _ in range(2):
        ended = orch("nightly", "install")
        assert ended.code == 0, ended
        assert table.read_text() == f"0 1 * * * mine\n{shown.out}"
    assert shlex_end(shown.out) == f"{sys.executable} -m orchestrator nightly run lab --home {orch.home}"
    assert standing(orch)["installed"] == "cron"
    (nightly.folder / "lab.toml").unlink()
    removed = orch("nightly", "uninstall", "lab")
    assert (removed.code, table.read_text()) == (0, "0 1 * * * mine\n"), removed
    assert "nothing of it was installed" in orch("nightly", "uninstall", "lab").out
    shutil.rmtree(programs)
    nightly.write()
    neither = orch("nightly", "install")
    assert (neither.code, "neither a user's systemd nor crontab is there" in neither.err) == (2, True), neither


def shlex_end(line: str) -> str:
    """The command that a crontab's line executes, up to its home."""
    return line.split("exec ", 1)[1].split(" --adb-port", 1)[0]

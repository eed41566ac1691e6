"""Two runs on one phone: by turns, never both at once, also of two users; and a plan whose last run is unfinished."""

from __future__ import annotations

import itertools
import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.farm.lock import PhoneLock
from tests.forked_orch import Piped
from tests.orch_cli import ROOT, Orch, cpu_plan, wait_for_line

TURNS = "[lab]\nlongest_stretch_minutes = 0.001\n"


def turns(home: Path) -> list[str]:
    """Runs in the order in which their trials ran on the one phone; asserts that no two ran at once."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = ledger.execute(
            "SELECT started_uptime_s, ended_uptime_s, run_id, epoch FROM attempt ORDER BY 1"
        ).fetchall()
    ledger.close()
    assert all(first[1] <= second[0] + 0.02 for first, second in itertools.pairwise(rows)), rows
    epochs = [row[3] for row in rows]
    assert epochs == sorted(epochs), "a turn is held under an epoch above all before it"
    order = [row[2] for row in rows]
    return [run for at, run in enumerate(order) if at == 0 or order[at - 1] != run]


def said_by_both(both: Sequence[subprocess.Popen[str] | Piped], phone: str, port: int) -> list[str]:
    """What two runs say that meet at one phone: it is kept from both until both wait, however slowly they start."""
    lock = PhoneLock(f"{phone}@{port}")
    assert lock.take("0101-test-aaaa") is None
    try:
        for process in both:
            wait_for_line(process, f"{phone} is busy: aaaa")
    finally:
        lock.release()
    return [process.communicate(timeout=120)[1] for process in both]


def port_of(orch: Orch) -> int:
    """Of the adb server of the virtual phones."""
    return int(json.loads((orch.home / "virtual" / "server.json").read_text())["port"])


def test_two_runs_take_turns(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    orch.home.mkdir(exist_ok=True)
    (orch.home / "lab.toml").write_text(TURNS)
    assert orch("virtual", "up", "pixel-8").code == 0
    sleeper = sleeping_perf_test(tmp_path / "sleeper", 0.1)
    words = (
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", sleeper,
        "--rounds", "2", "--iterations", "5",
    )  # fmt: skip
    both = [orch.start(*words), orch.start(*words)]
    said = said_by_both(both, "virtual-pixel-8-1", port_of(orch))
    assert [process.returncode for process in both] == [0, 0], said
    assert all("ours comes after it" in words for words in said), said
    rows = json.loads(orch("runs", "--json").out)
    assert [row["measured"] for row in rows] == [rows[0]["planned"]] * 2
    assert len(turns(orch.home)) >= 3, said


def test_a_plan_that_was_cut_off_is_not_begun_anew_unasked(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    sleeper = sleeping_perf_test(tmp_path / "sleeper", 0.3)
    words = (
        "run", mnist, cpu_plan(tmp_path), "--device", "virtual:pixel-8", "--perf-test", sleeper,
        "--rounds", "1", "--iterations", "5",
    )  # fmt: skip
    first = orch.start(*words)
    wait_for_line(first, "run ")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    run = json.loads(orch("runs", "--json").out)[0]["run_id"]
    again = orch(*words)
    assert again.code == 2, again
    assert f"orch resume {run} goes on with it" in again.err
    assert "--new" in again.err
    assert len(json.loads(orch("runs", "--json").out)) == 1
    other = orch(*words[:-1], "6")
    assert other.code == 0, other
    anew = orch(*words, "--new")
    assert anew.code == 0, anew


def test_two_users_of_a_groups_home_take_turns(orch: Orch, mnist: Path) -> None:
    missing = missing_for_two_users()
    if missing:
        pytest.skip(f"two users of one home are not tried here: {missing}")
    assert orch("virtual", "up", "pixel-8").code == 0
    port = port_of(orch)
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        place = Path(name)
        place.chmod(0o755)
        home = place / "home"
        home.mkdir()
        os.chown(home, 0, 64_100)
        home.chmod(0o2775)
        (home / "lab.toml").write_text(TURNS)
        sleeping_perf_test(place / "sleeper", 0.1)
        shutil.copy(mnist, place / "mnist.onnx")
        words = [
            "run", "mnist.onnx", str(cpu_plan(place)), "--device", "virtual-pixel-8-1", "--adb-port", str(port),
            "--perf-test", "sleeper/onnxruntime_perf_test", "--rounds", "2", "--iterations", "5",
        ]  # fmt: skip
        runs = [as_user(user, place, home, words) for user in (64_001, 64_002)]
        said = said_by_both(runs, "virtual-pixel-8-1", port)
        assert [run.returncode for run in runs] == [0, 0], said
        assert len(turns(home)) >= 3, said
        with sqlite3.connect(home / "ledger.sqlite") as ledger:
            users = {row[0] for row in ledger.execute("SELECT user_name FROM run")}
        ledger.close()
        assert users == {"64001", "64002"}
        owners = {path.stat().st_uid for path in home.rglob("*") if path.is_file()} - {0}
        assert owners == {64_001, 64_002}
        assert {path.stat().st_gid for path in home.rglob("*") if path.is_file()} == {64_100}


def missing_for_two_users() -> str:
    """What this computer lacks for being two users; empty: nothing."""
    if os.geteuid() != 0:
        return "needs root"
    if any(str(uid) in {str(one.pw_uid) for one in pwd.getpwall()} for uid in (64_001, 64_002)):
        return "somebody has these user numbers"
    probe = as_user(64_001, Path("/"), Path("/"), ["--version"])
    _, said = probe.communicate(timeout=60)
    return "" if probe.returncode == 0 else f"another user can't run this Python: {said.strip()[-200:]}"


def as_user(uid: int, place: Path, home: Path, words: list[str]) -> subprocess.Popen[str]:
    """Start the command line as another user, with nothing of ours in its environment."""
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    environment: Mapping[str, str] = {
        "HOME": str(place), "ORCH_HOME": str(home), "NO_COLOR": "1", "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join([str(ROOT), *libraries]), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    same = f"{sys.version_info.major}.{sys.version_info.minor}"
    system = Path(f"/usr/bin/python{same}")
    return subprocess.Popen(
        [system if system.exists() else Path(sys.executable), "-m", "orchestrator", *words],
        env=environment, cwd=place, user=uid, group=uid, extra_groups=[64_100],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip

"""A host that dies at any moment of preparing, running or putting back: `orch devices restore` brings all back."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.farm.lock import PhoneLock
from tests.forked_orch import ForkedOrch
from tests.orch_cli import Orch

KILLS = 50
PHONE = "virtual-pixel-6-rooted-1"
BY_HAND = (
    "settings put system screen_brightness 37",
    "settings put system screen_off_timeout 60000",
    "settings put global transition_animation_scale 0.5",
    "settings delete global stay_on_while_plugged_in",
    "dumpsys deviceidle disable light",
    "input keyevent 223",
)
"""So that the phone is not as it comes: what was unset, off or odd has to be so again."""
SET = (
    "data/system/settings/*/*",
    "dev/orch/wakefulness",
    "dev/orch/doze_*",
    "sys/devices/system/cpu/cpufreq/*/*",
)
_TICKING = ("scaling_cur_freq", "time_in_state", "total_trans")


@dataclass(frozen=True)
class Bench:
    """A home with one virtual phone, a small run for it, and `orch`, forked."""

    orch: ForkedOrch
    root: Path
    run: tuple[str | Path, ...]

    def by_hand(self, command: str) -> None:
        """Change something on the phone as a person would, past everything of ours."""
        env = {"ORCH_ROOT": str(self.root), "PATH": f"{self.root}/system/bin:/usr/bin:/bin"}
        script, *words = command.split()
        subprocess.run(["/bin/sh", f"{self.root}/system/bin/{script}", *words], env=env, check=True)

    def dump(self) -> dict[str, str]:
        """Everything on the phone that can be set, read where the phone keeps it."""
        found = [one for pattern in SET for one in sorted(self.root.glob(pattern)) if one.is_file()]
        return {str(one.relative_to(self.root)): one.read_text() for one in found if one.name not in _TICKING}

    def left(self) -> int:
        """How many undo lists the home has."""
        return len(list((self.orch.home / "undo").glob("*.json")))

    def prepared(self) -> None:
        """Start a run, and kill it when the phone is prepared."""
        self.orch.start(*self.run)
        assert self.orch.said("prepared "), self.orch.log.read_text()
        self.orch.send(signal.SIGKILL)
        assert self.orch.wait() == -signal.SIGKILL

    def killed(self, delay_s: float) -> bool:
        """Kill the command that was started last after a while; False when it had come to its end by then."""
        if not self.orch.ended(delay_s):
            self.orch.send(signal.SIGKILL)
        return self.orch.wait() == -signal.SIGKILL


@pytest.fixture(scope="module")
def started(mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("prepare")
    orch = Orch(folder / "home")
    assert orch("virtual", "up", "pixel-6-rooted").code == 0
    plan = folder / "one.toml"
    plan.write_text('rounds = 1\niterations = 2\n[[matrix]]\nrecipe = ["all"]\n')
    tool = sleeping_perf_test(folder, 0.02)
    words = ("run", mnist, plan, "--device", "virtual:pixel-6-rooted", "--perf-test", tool, "--new", "--prepare")
    yield Bench(ForkedOrch(orch.home), orch.home / "virtual" / "phones" / PHONE / "root", words)
    orch.end()


@pytest.fixture
def bench(started: Bench) -> Bench:
    """The bench with the phone as somebody has set it."""
    for command in BY_HAND:
        started.by_hand(command)
    return started


@pytest.mark.timeout(600)
def test_a_host_killed_at_any_moment_leaves_nothing_that_restore_does_not_bring_back(bench: Bench) -> None:
    seed = int(os.environ.get("ORCH_SEED") or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}")
    rng = random.Random(seed)
    before = bench.dump()
    bench.orch.start(*bench.run)
    assert bench.orch.said("\nrun ")
    run_s = _until_its_end(bench)
    assert bench.dump() == before, "a run that was left alone"
    bench.prepared()
    assert bench.dump() != before
    bench.orch.start("devices", "restore", "--virtual")
    restore_s = _until_its_end(bench)
    kills, changed = 0, 0
    while kills < KILLS:
        bench.orch.start(*bench.run)
        assert bench.orch.said("\nrun ")
        delay_s = rng.uniform(0, run_s)
        died = bench.killed(delay_s)
        kills, run_s = kills + died, run_s if died else delay_s  # one that ended took no longer than that
        changed += bench.dump() != before
        for _ in range(rng.randrange(6)):
            bench.orch.start("devices", "restore", "--virtual")
            delay_s = rng.uniform(0, restore_s)
            died = bench.killed(delay_s)
            kills, restore_s = kills + died, restore_s if died else delay_s
        code, said = bench.orch("devices", "restore", "--virtual")
        assert (code, bench.left()) == (0, 0), (seed, kills, said)
        assert bench.dump() == before, (seed, kills, said)
    assert changed > 2, f"{kills} kills, of which {changed} found the phone changed"


def _until_its_end(bench: Bench) -> float:
    """Seconds that the command goes on for."""
    begun_s = time.monotonic()
    assert bench.orch.wait() == 0, bench.orch.log.read_text()
    return time.monotonic() - begun_s


def test_what_somebody_else_has_changed_since_is_said_and_left(bench: Bench) -> None:
    before = bench.dump()
    bench.prepared()
    bench.by_hand("settings put system screen_off_timeout 12345")
    code, said = bench.orch("devices", "restore", "--virtual", "--json")
    assert (code, bench.left()) == (0, 0), said
    assert "screen_off_timeout reads 12345, changed since by somebody else: left as it is (it was 60000)" in said
    changed = {name for name, text in bench.dump().items() if text != before.get(name)}
    assert changed == {"data/system/settings/system/screen_off_timeout"}
    again = bench.dump()
    code, said = bench.orch("devices", "restore", "--virtual", PHONE)
    assert (code, bench.dump()) == (0, again), said
    assert "0 settings" in said or "nothing to put back" in said


def test_the_next_run_first_puts_back_and_a_phone_of_a_living_one_is_busy(bench: Bench) -> None:
    before = bench.dump()
    bench.prepared()
    lock = PhoneLock(f"{PHONE}@{json.loads((bench.orch.home / 'virtual' / 'server.json').read_text())['port']}")
    assert lock.take("0101-other-aaaa") is None
    prepared = bench.dump()
    try:
        code, said = bench.orch("devices", "restore", "--virtual")
    finally:
        lock.release()
    assert (code, bench.dump(), bench.left()) == (2, prepared, 1), said
    code, said = bench.orch(*bench.run[:-1])
    assert (code, bench.left(), bench.dump()) == (0, 0, before), said
    assert "put back  " in said
    assert "tuned" not in said
    assert "stock phones" in said


def test_a_resumed_run_prepares_again_and_its_series_is_tuned(bench: Bench) -> None:
    before = bench.dump()
    bench.prepared()
    code, said = bench.orch("resume")
    assert (code, bench.left(), bench.dump()) == (0, 0, before), said
    assert said.index("put back ") < said.index("prepared ") < said.rindex("put back ")
    _, said = bench.orch("report", "@last", "--format", "json")
    (phone,) = json.loads(said[said.index("{") : said.rindex("}") + 1])["models"][0]["phones"]
    assert phone["tuned"]
    assert {one["step"]: one["standing"] for one in phone["prepared"]} == {
        "awake": "done",
        "screen": "done",
        "airplane": "not offered",
        "animations": "done",
        "doze": "done",
        "updates": "done",
        "profile": "not offered",
        "clocks": "done",
    }


def test_the_labs_file_prepares_a_phone_for_every_run(bench: Bench) -> None:
    before = bench.dump()
    file = bench.orch.home / "lab.toml"
    file.write_text(f'[prepare]\ndoze = true\nscreen = true\n[phones."{PHONE}"]\nprepare.screen = false\n')
    unasked = bench.run[:-1]
    try:
        _, planned = bench.orch("run", *unasked[1:], "--dry-run")
        _, without = bench.orch("run", *unasked[1:], "--dry-run", "--no-prepare")
        code, said = bench.orch(*unasked)
    finally:
        file.unlink()
    assert f"lab.toml: doze on {PHONE}" in planned
    assert "lab.toml" not in without
    assert (code, bench.left(), bench.dump()) == (0, 0, before), said
    assert f"prepared  {PHONE}: doze\n" in said
    assert "tuned" in said


def test_ctrl_c_puts_back(bench: Bench) -> None:
    before = bench.dump()
    bench.orch.start(*bench.run, "--rounds", "40")
    assert bench.orch.said("prepared ")
    bench.orch.send(signal.SIGINT)
    assert bench.orch.wait() == 130
    assert (bench.left(), bench.dump()) == (0, before), bench.orch.log.read_text()

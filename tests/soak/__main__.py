"""`python -m tests.soak [--short] [--seed N]`: a lab of virtual phones that goes through everything, and what is left.

First the plan runs without faults; then (not in the short form) with one phone that hangs for ever; then a story of
faults is played over it while the host's process and the adb server are killed again and again. After it everything
that `checks` knows must hold. Exit 0 when it does. The seed is printed; `--seed N` tells the same story again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.state import read_phone, read_server
from orchestrator.store.ledger import Ledger
from orchestrator.variants.samples import write_samples
from tests.soak import checks, hanging
from tests.soak.lab import PROFILE, Lab
from tests.soak.lives import Lives, strays
from tests.soak.story import FULL, SHORT, HostKilled, HubEvent, ServerKilled, Size, story

TICK_S = 0.02
SHOWN = 25
MAX_LINE = 600
LAST_RESUMES = 6
END_S = 420.0
"""What a run may take once the faults are over: one that meets a hub that died in the end waits for its phones twice,
when it takes over what they did and when it goes on, and for one that seems to boot five minutes."""
EARLY_S = 2.0
"""Within this time a run is planned, on a computer that has little else to do."""
PLAN = """\
models = ["{model}"]
rounds = {rounds}
iterations = 5
seed = 7
canary = false
twins = false
[[matrix]]
recipe = ["onnx", "basic", "all", "all runtime"]
"""


def main() -> int:
    """0 when everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--short", action="store_true", help="one minute instead of ten")
    parser.add_argument("--seed", type=int, default=None, help="tell this story")
    parser.add_argument("--keep", action="store_true", help="leave home and logs where they are, also when all held")
    asked = parser.parse_args()
    size = SHORT if asked.short else FULL
    seed = (
        asked.seed
        if asked.seed is not None
        else int(os.environ.get("ORCH_SEED") or random.SystemRandom().randrange(10**6))
    )
    place = Path(tempfile.mkdtemp(prefix="orch-soak-"))
    print(f"{size.name}: seed {seed}; {place}", flush=True)
    wrong = Soak(size, seed, place).run()
    for line in wrong[:SHOWN]:
        print(f"WRONG  {line[:MAX_LINE]}")
    print(
        f"{size.name}: seed {seed}: " + (f"{len(wrong)} things are wrong; see {place}" if wrong else "all of it held")
    )
    if not wrong and not asked.keep:
        shutil.rmtree(place)
    return 1 if wrong else 0


class Soak:
    """One soak in a folder of its own."""

    def __init__(self, size: Size, seed: int, place: Path) -> None:
        self.size = size
        self.seed = seed
        self.place = place
        self._begin_s = time.monotonic()
        self._model = write_samples(place / "models")[0]
        self._plan = place / "plan.toml"
        self._plan.write_text(PLAN.format(model=self._model, rounds=size.rounds))
        self._tool = sleeping_perf_test(place / "tool", size.sleep_s)

    def run(self) -> list[str]:
        """All of it; sentences on what did not hold."""
        calm_home = self._home("calm")
        wrong, reference = self._without_faults(calm_home)
        if wrong:
            return wrong
        if self.size.name == FULL.name:
            wrong += self._with_one_that_hangs(calm_home, reference)
        return wrong + self._with_everything(calm_home, reference)

    def _home(self, name: str) -> Path:
        home = self.place / name / "home"
        home.mkdir(parents=True)
        return home

    def _words(self) -> list[str]:
        return [
            "run", str(self._plan), "--new", "--device", f"virtual:{PROFILE}x{self.size.phones}", "--perf-test",
            str(self._tool), "--virtual-slots", str(self.size.phones),
        ]  # fmt: skip

    def _say(self, line: str) -> None:
        print(f"{time.monotonic() - self._begin_s:6.1f} s  {line}", flush=True)

    def _without_faults(self, home: Path) -> tuple[list[str], str]:
        lab, lives = Lab(home, self.size), Lives(home, self._words())
        lab.up()
        try:
            lives.go_on()
            ended = lives.finish(600.0)
            lives.kill()
        finally:
            lab.down()
        wrong = [*lives.surprises, *checks.check_ledger(home)] if ended else ["without faults: no end in 600 s"]
        runs = list(lives.runs())
        if lives.codes[-1:] != [0] or not runs:
            return [*wrong, f"without faults: exit {lives.codes}: {lives.said()[-2000:]}"], ""
        self._say(f"without faults: {_counts(home)}")
        return wrong, runs[0]

    def _with_one_that_hangs(self, calm_home: Path, reference: str) -> list[str]:
        home = self._home("hanging")
        *hubs, last = self.size.hubs
        lab = Lab(home, replace(self.size, hubs=(*hubs, last - 1, 1)))  # it has a daemon of its own
        lives = Lives(home, self._words())
        lab.up()
        try:
            wrong, line = hanging.cost(lab, lives, calm_home, reference)
        finally:
            lab.down()
        self._say(line)
        return wrong

    def _with_everything(self, calm_home: Path, reference: str) -> list[str]:
        home = self._home("soak")
        lab, lives = Lab(home, self.size), Lives(home, self._words())
        lab.up()
        try:
            early = self._begun(lives)
            wrong = self._play(lab, lives, early)
            wrong += self._to_the_end(home, lives)
            wrong += checks.check_phones(lab)
            daemons = {record.pid for name in lab.serialnos if (record := read_phone(lab.places.phone(name)))}
            server = read_server(lab.places)
            wrong += [f"process {one} is left" for one in strays(home, daemons | ({server.pid} if server else set()))]
        finally:
            lab.down()
        wrong += lives.surprises
        for check in (checks.check_ledger, checks.check_evidence, checks.check_home):
            wrong += check(home)
        for turn, run_id in enumerate(reversed(list(lives.runs()))):  # later ones leave out phones that are away
            wrong += checks.check_like(home, run_id, calm_home, reference, whole=turn == 0)
        self._say(f"{_counts(home)}; measured twice, counted once: {checks.measured_twice(home)}")
        return wrong

    def _begun(self, lives: Lives) -> int:
        """Kill a run in its beginning, again and again, then let one be planned; how often one was killed."""
        rng = random.Random(self.seed)
        killed = 0
        for _ in range(self.size.early_kills):
            lives.go_on()
            time.sleep(rng.uniform(0.05, EARLY_S))
            killed += lives.kill()
            lives.running()
        if not lives.runs():
            lives.go_on()
            until = time.monotonic() + 60.0
            while not lives.runs() and lives.running() and time.monotonic() < until:
                time.sleep(TICK_S)
        return killed

    def _play(self, lab: Lab, lives: Lives, killed: int) -> list[str]:
        told = story(self.size, self.seed)
        pending, servers = list(told.events), 0
        watch = _Watch(lab)
        with (self.place / "story.log").open("w") as log:
            lab.begin(told, self.seed)
            begin_s = time.monotonic()
            while (now_s := time.monotonic() - begin_s) < self.size.story_s:
                lab.tick(now_s)
                if not lives.running():
                    lives.go_on()
                while pending and pending[0].at_s <= now_s:
                    event = pending.pop(0)
                    log.write(f"{now_s:7.2f} s  {event.line()}\n")
                    match event:
                        case HubEvent():
                            lab.befall(event, now_s)
                        case HostKilled():
                            killed += lives.kill()
                        case ServerKilled():
                            servers += lab.kill_server()
                watch.look(now_s)
                time.sleep(TICK_S)
        lab.calm()
        faults = lab.counts.total()
        self._say(f"story over: {faults} faults, host killed {killed} times, adb server {servers} times")
        self._say("  " + ", ".join(f"{count} {name}" for name, count in sorted(lab.counts.items())))
        names = ("faults", "kills of the host", "kills of the adb server")
        had = zip(names, (faults, killed, servers), self.size.least, strict=True)
        return [*watch.seen, *(f"{count} {name}, {least} were due" for name, count, least in had if count < least)]

    def _to_the_end(self, home: Path, lives: Lives) -> list[str]:
        """No faults any more, and no quarantine: every run is resumed until it has nothing left; then once more, which
        does nothing."""
        if not lives.finish(END_S):
            lives.kill()
            lives.finish(10.0)
            return [f"after the story: a run does not end in {END_S:.0f} s"]
        for run_id in reversed(list(lives.runs())):
            for _ in range(LAST_RESUMES):
                if mended := checks.in_quarantine(home):
                    self._say(f"mended by a person: {', '.join(mended)}")
                    lives.start(["devices", "release", *mended, "--virtual"])
                    lives.finish(60.0)
                lives.start(lives.resume(run_id))
                if not lives.finish(END_S):
                    lives.kill()
                    return [f"{run_id}: a last resume does not end in {END_S:.0f} s"]
                if "nothing is left" in lives.said():
                    break
            else:
                return [f"{run_id}: {LAST_RESUMES} resumes without faults were not enough: {lives.said()[-1500:]}"]
            before = checks.rows_of(home)
            lives.start(lives.resume(run_id))
            lives.finish(60.0)
            if lives.codes[-1] != 0 or checks.rows_of(home) != before:
                return [f"{run_id}: a second resume did something: {lives.said()[-1500:]}"]
        return []


class _Watch:
    """Looks now and then whether two trials run at once on one phone."""

    EVERY_S = 3.0
    SURE_S = 0.25

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._last_s = 0.0
        self.seen: list[str] = []

    def look(self, now_s: float) -> None:
        """Two looks in a row, so that a process which is about to end is no alarm."""
        if now_s - self._last_s < self.EVERY_S:
            return
        self._last_s = now_s
        serialno = random.choice(self._lab.serialnos)
        first = set(self._lab.processes_on(serialno, "onnxruntime_perf_test"))
        if len(first) > 1:
            time.sleep(self.SURE_S)
            still = first & set(self._lab.processes_on(serialno, "onnxruntime_perf_test"))
            if len(still) > 1:
                self.seen.append(f"{now_s:.1f} s: {serialno}: processes {sorted(still)} of perf_test run at once")


def _counts(home: Path) -> str:
    ledger = Ledger.open(home)
    try:
        lines = [
            f"{one.run.run_id}: {one.planned} planned = {one.measured} measured + {one.failed} failed + "
            f"{one.skipped} skipped"
            for one in ledger.runs()
        ]
    finally:
        ledger.close()
    return "; ".join(lines)


if __name__ == "__main__":
    sys.exit(main())

"""Runs whose phones and adb servers fail for longer than a blip: what is tried, told, and kept out."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from android_runner.virtual import lifecycle
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.fault_schedule import Fault, FaultSchedule, write_schedule
from android_runner.virtual.fault_steps import Step
from android_runner.virtual.faults import NO_FAULTS, FaultPlan, write_faults
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import Counts
from orchestrator.store.registered import RegisteredPhone
from tests.forked_orch import ForkedOrch

PHONE = "virtual-pixel-8-1"
QUICK = "[recovery]\nwait_seconds = 1\n"
"""A lab whose phones are not waited for."""


class Farm:
    """A home with one virtual phone, and a run of sleeping trials on it."""

    def __init__(self, folder: Path, mnist: Path) -> None:
        self.orch = ForkedOrch(folder / "home")
        self.home = folder / "home"
        self.home.mkdir()
        plan = folder / "plan.toml"
        plan.write_text(
            f'models = ["{mnist}"]\nrounds = 3\niterations = 5\ntwins = false\n[[matrix]]\nrecipe = ["onnx", "all"]\n'
        )
        tool = sleeping_perf_test(folder, 0.3)
        self.words = (
            "run", plan, "--device", "virtual:pixel-8", "--perf-test", tool, "--virtual-slots", "2",
        )  # fmt: skip
        code, said = self.orch("virtual", "up", "pixel-8")
        assert code == 0, said

    def faults(self, plan: FaultPlan = NO_FAULTS) -> None:
        write_faults(self.home / "virtual" / "phones" / PHONE, plan)

    def begin(self) -> None:
        """Start the run, and wait until a trial of it runs."""
        self.orch.start(*self.words)
        assert self.orch.said("staged")
        time.sleep(1.0)

    def end(self, code: int) -> str:
        ended = self.orch.wait()
        said = self.orch.log.read_text()
        assert ended == code, said
        return said

    def ledger(self) -> Ledger:
        return Ledger.open(self.home)

    def counts(self) -> Counts:
        with closing(self.ledger()) as ledger:
            return ledger.counts(ledger.find_run("@last"))

    def incidents(self) -> list[IncidentRecord]:
        with closing(self.ledger()) as ledger:
            return ledger.incidents.of(ledger.find_run("@last"))

    def registered(self) -> RegisteredPhone:
        with closing(self.ledger()) as ledger:
            return ledger.phones.get(PHONE)


@pytest.fixture
def farm(tmp_path: Path, mnist: Path) -> Iterator[Farm]:
    made = Farm(tmp_path, mnist)
    yield made
    made.faults()
    made.orch("virtual", "down")


def test_an_adb_server_that_is_killed_in_a_run_is_started_again_and_nothing_is_lost(farm: Farm) -> None:
    farm.begin()
    server = json.loads((farm.home / "virtual/server.json").read_text())
    os.kill(server["pid"], signal.SIGKILL)
    said = farm.end(0)
    assert "the adb server had died" in said
    counts = farm.counts()
    assert counts.measured == counts.planned > 0
    assert [(one.phone, one.seen, one.rung, one.result) for one in farm.incidents()] == [
        ("", "adb server", "started again", "back")
    ]


def test_a_phone_that_hangs_is_put_aside_with_evidence_and_proves_itself_before_it_is_used_again(farm: Farm) -> None:
    (farm.home / "lab.toml").write_text(QUICK)
    farm.begin()
    farm.faults(FaultPlan(hang=True))
    said = farm.end(3)
    assert "is lost: no answer" in said
    assert f"needs hands: {PHONE}: no answer, quarantine: hold its power button" in " ".join(said.split())
    counts = farm.counts()
    assert counts.open == 0
    assert counts.skipped > 0
    tried = [(one.phone, one.rung, one.result) for one in farm.incidents()]
    assert tried == [
        (PHONE, "wait", "in vain"), (PHONE, "reconnect", "in vain"), (PHONE, "quarantine", "ended"),
    ]  # fmt: skip
    shown = farm.orch("show", "@last")[1]
    assert "no answer; reconnect: in vain" in " ".join(shown.split())
    aside = farm.registered().quarantine
    assert aside is not None
    assert aside.reason.startswith("no answer")
    assert "reconnect: in vain" in aside.evidence
    assert aside.expires is not None
    assert timedelta(minutes=29) < aside.expires - aside.since < timedelta(minutes=31)
    farm.faults()
    with closing(farm.ledger()) as ledger:
        ledger.phones.quarantine(PHONE, replace(aside, expires=aside.since))
    farm.orch.start(*farm.words, "--new")
    farm.end(0)
    assert farm.registered().quarantine is None
    assert farm.counts().measured == farm.counts().planned
    with closing(farm.ledger()) as ledger:
        assert [one.kind for one in ledger.phones.history(PHONE)][-2:] == ["quarantine", "release"]
        attempts = ledger.attempts(ledger.find_run("@last"))
    assert (attempts[0].purpose, attempts[0].trial_id) == ("canary", "")
    assert attempts[1].block_id != attempts[0].block_id


def test_a_phone_whose_cable_is_out_is_left_to_a_person_and_needs_no_release(farm: Farm) -> None:
    (farm.home / "lab.toml").write_text(QUICK)
    farm.begin()
    farm.faults(FaultPlan(unplugged=True))
    farm.end(3)
    assert farm.incidents()[-1].rung in ("leave to a person", "quarantine")
    farm.faults()


def test_resume_waits_once_for_a_phone_that_goes_while_it_takes_over(farm: Farm) -> None:
    (farm.home / "lab.toml").write_text(QUICK)
    farm.begin()
    farm.orch.send(signal.SIGKILL)
    farm.orch.wait()
    gone = Fault(kind=FaultKind.HANG, step=Step.PULL, for_s=600.0)
    write_schedule(farm.home / "virtual" / "phones" / PHONE, FaultSchedule(fault=(gone,)))
    lifecycle.poke(farm.home, PHONE)
    code, said = farm.orch("resume")
    assert code == 3, said
    assert f"left out  {PHONE}: no answer" in said
    assert [(one.rung, one.result) for one in farm.incidents()] == [
        ("wait", "in vain"), ("reconnect", "in vain"), ("quarantine", "ended"),
    ]  # fmt: skip
    counts = farm.counts()
    assert counts.open == 0
    assert counts.skipped > 0

"""The gate before a trial, under shells that phones may have: what it waits for, when it gives up, what it tells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from android_runner.block import Block, BlockEnding, GateOutcome, GateWait
from android_runner.phone.snapshots import read_snapshots
from android_runner.validity import Limits
from tests.host_phone import PHONE_SHELLS, HostPhone, block_of, task, until

TEMP, LEVEL = "/sys/class/power_supply/battery/temp", "/sys/class/power_supply/battery/capacity"
ZONE, LOAD = "/sys/class/thermal/thermal_zone0/temp", "/proc/loadavg"
CALM = "0.10 0.20 0.30 1/345 4711"
PATIENT = Limits(flat_window_s=600)


pytestmark = pytest.mark.parametrize("phone", PHONE_SHELLS, indirect=True)


def gated(limits: Limits, *, trials: int = 1) -> Block:
    return replace(block_of(*[task(f"t{n}", "true") for n in range(trials)]), limits=limits)


def looked(phone: HostPhone, block: Block) -> bool:
    """Whether the first snapshot, which the gate goes by, is taken: the battery's temperature is its last line."""
    vitals = phone.local(block.directory) / "vitals"
    return vitals.exists() and "/battery/temp:" in vitals.read_text()


def waited(phone: HostPhone, block: Block, cure: tuple[str, str] | None) -> GateWait | None:
    """The wait of a block's first trial; `cure` is a file and its text, written when the phone waits."""
    script = phone.start(block)
    if cure is not None:
        until(lambda: looked(phone, block), what="the first look")
        phone.write(*cure)
    assert script.wait(timeout=30) == 0
    journal = phone.journal(block)
    assert (journal.damage, journal.ending) == (None, BlockEnding.DONE)
    return journal.records["t0"].gate


@pytest.fixture
def calm(phone: HostPhone) -> HostPhone:
    phone.write(LOAD, CALM)
    return phone


def test_a_phone_within_its_limits_is_not_held(calm: HostPhone) -> None:
    assert waited(calm, gated(Limits(max_zone_c=60.0), trials=3), None) is None


@pytest.mark.parametrize(
    ("path", "bad", "good", "cause"),
    [
        (TEMP, "401", "350", "battery"),
        (LEVEL, "20", "90", "level"),
        (ZONE, "71000", "40000", "zone"),
        (ZONE, "71", "40", "zone"),
        (LOAD, "9.05 2.00 1.00 7/345 4711", CALM, "load"),
    ],
)
def test_each_limit_holds_the_trial_until_it_is_met(
    calm: HostPhone, path: str, bad: str, good: str, cause: str
) -> None:
    calm.write(path, bad)
    block = gated(replace(PATIENT, max_zone_c=60.0))
    wait = waited(calm, block, (path, good))
    assert wait is not None
    assert (wait.outcome, wait.cause) == (GateOutcome.READY, cause)
    record = calm.journal(block).records["t0"]
    before = read_snapshots((calm.local(block.directory) / "vitals").read_bytes(), {record.before})[record.before]
    assert (before.battery_c, before.battery_level, before.zones_c["cpu-0-0"]) in (
        (35.0, 88, 41.5),
        (30.1, 90, 41.5),
        (30.1, 88, 40.0),
        (30.1, 88, 41.5),
    ), "the snapshot before the trial is one of after the wait"


def test_our_own_last_trial_in_the_mean_is_no_load(calm: HostPhone) -> None:
    calm.write(LOAD, "9.05 2.00 1.00 1/345 4711")
    assert waited(calm, gated(PATIENT), None) is None


def test_a_battery_that_was_too_low_must_come_further(calm: HostPhone) -> None:
    calm.write(LEVEL, "20")
    wait = waited(calm, gated(replace(PATIENT, gate_timeout_s=3)), (LEVEL, "33"))
    assert wait is not None
    assert (wait.outcome, wait.cause) == (GateOutcome.TIMEOUT, "level")


def test_a_phone_that_does_not_get_cooler_is_let_through(calm: HostPhone) -> None:
    calm.write(TEMP, "401")
    wait = waited(calm, gated(Limits(flat_window_s=2)), None)
    assert wait is not None
    assert (wait.outcome, wait.cause) == (GateOutcome.FLAT, "battery")
    assert wait.waited_s >= 2


def test_patience_ends(calm: HostPhone) -> None:
    calm.write(TEMP, "401")
    wait = waited(calm, gated(replace(PATIENT, gate_timeout_s=1)), None)
    assert wait is not None
    assert (wait.outcome, wait.cause) == (GateOutcome.TIMEOUT, "battery")


def test_stop_ends_a_wait(calm: HostPhone) -> None:
    calm.write(TEMP, "401")
    block = gated(PATIENT)
    script = calm.start(block)
    until(lambda: looked(calm, block), what="the first look")
    calm.write(block.directory / "stop", "")
    script.wait(timeout=20)
    journal = calm.journal(block)
    assert (journal.ending, dict(journal.records)) == (BlockEnding.STOPPED, {})


def test_what_is_not_offered_is_not_waited_for(phone: HostPhone) -> None:
    for path in (TEMP, LEVEL, ZONE, "/sys/class/thermal/thermal_zone1/temp"):
        phone.local(path).unlink()
    phone.write(LOAD, "nonsense")
    assert waited(phone, gated(replace(PATIENT, max_zone_c=20.0)), None) is None


def test_a_hostile_figure_is_no_figure(calm: HostPhone) -> None:
    calm.write(TEMP, "a[$(touch pwned)]")
    calm.write(LEVEL, "099999999999999999")
    calm.write(LOAD, "9$(x).05 2.00 1.00 7*9/345 4711")
    assert waited(calm, gated(replace(PATIENT, max_zone_c=60.0)), None) is None
    assert not list(calm.root.rglob("pwned"))


def test_a_gate_that_stands_once_holds_the_first_trial_only(calm: HostPhone) -> None:
    calm.write(TEMP, "401")
    block = replace(gated(replace(PATIENT, gate_timeout_s=1), trials=3), gate_once=True)
    assert waited(calm, block, None) is not None
    records = calm.journal(block).records
    assert [records[f"t{n}"].gate for n in (1, 2)] == [None, None]

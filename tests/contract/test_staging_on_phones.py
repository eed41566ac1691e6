"""Staging, lease and probe on phones behind the true adb server."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

import pytest

from android_runner.block import ORCH_DIR
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, quoted
from android_runner.errors import LeaseLost, LinkLost, PhoneFull, TransferCorrupt
from android_runner.lease import LEASE, take_lease
from android_runner.probe import probe_facts, read_vitals
from android_runner.staging import StageFile, StageUnit, stage, staged_dir
from android_runner.virtual.faults import Drop, DropKind, FaultPlan
from tests.contract.lent_phone import SERIAL, Lent, wait_for
from tests.contract.lent_phone import lent as lent
from tests.contract.lent_phone import phone_kind as phone_kind
from tests.contract.lent_phone import scratch as scratch
from tests.contract.lent_phone import station as station


def soon() -> Deadline:
    return Deadline.after(60)


@pytest.fixture
def clean(lent: Lent) -> Lent:
    """A virtual phone without anything of ours (on a real one only what the tests put there is taken away)."""
    if lent.lab is not None:
        lent.device.shell(f"rm -rf {quoted(ORCH_DIR)}", deadline=soon())
    return lent


def unit(*sizes: int, known: bool = True) -> StageUnit:
    """A unit of its own, never seen before."""
    contents = [os.urandom(size) for size in sizes]
    names = ["model.ort", *(f"test_data_set_0/input_{number}.pb" for number in range(len(sizes) - 1))]
    shas = [hashlib.sha256(content).hexdigest() if known else "" for content in contents]
    files = zip(names, contents, shas, strict=True)
    return StageUnit(
        digest=secrets.token_hex(32),
        files=tuple(StageFile(name=name, source=content, sha256=sha) for name, content, sha in files),
    )


def content_on(lent: Lent, path: str) -> bytes | None:
    return lent.device.read(PhonePath(path), deadline=soon(), max_bytes=10**8)


@pytest.mark.parametrize("known", [True, False])
def test_first_pushed_then_not_a_byte(clean: Lent, known: bool) -> None:
    units = [unit(300_000, 10, 0, known=known), unit(5, known=known)]
    first = stage(clean.device, units, deadline=soon())
    assert (first.pushed_bytes, first.reused_units) == (300_015, ())
    assert set(first.paths) == {one.digest for one in units}
    for one in units:
        for file in one.files:
            assert content_on(clean, staged_dir(one.digest) / file.name) == file.source
    again = stage(clean.device, units, deadline=soon())
    assert (again.pushed_bytes, again.hashed_units) == (0, ())
    assert set(again.reused_units) == {one.digest for one in units}
    verified = stage(clean.device, units, deadline=soon(), verify=True)
    assert verified.pushed_bytes == 0
    assert set(verified.hashed_units) == {one.digest for one in units}


def test_a_change_that_keeps_the_size_is_seen_and_mended(clean: Lent) -> None:
    wanted = unit(100_000, 50)
    stage(clean.device, [wanted], deadline=soon())
    model = staged_dir(wanted.digest) / "model.ort"
    clean.device.shell(f"sleep 1.1; printf X 1<>{quoted(model)}", deadline=soon())
    report = stage(clean.device, [wanted], deadline=soon())
    assert report.pushed_bytes == 100_000, "only the changed file travels"
    assert content_on(clean, model) == wanted.files[0].source
    assert stage(clean.device, [wanted], deadline=soon()).hashed_units == ()


def test_a_change_hidden_from_the_receipt_is_found_by_verify(clean: Lent) -> None:
    wanted = unit(1000)
    stage(clean.device, [wanted], deadline=soon())
    model = quoted(staged_dir(wanted.digest) / "model.ort")
    hide = f"touch -r {model} {model}.t; printf X 1<>{model}; touch -r {model}.t {model}"
    clean.device.shell(hide, deadline=soon())
    assert stage(clean.device, [wanted], deadline=soon(), verify=True).pushed_bytes == 1000


@pytest.mark.parametrize("damage", ["rm {f}", "rm {r}", "echo junk >{r}", "head -c 40 {r} >{r}.x; mv {r}.x {r}"])
def test_missing_parts_are_put_back(clean: Lent, damage: str) -> None:
    wanted = unit(1000, 20)
    stage(clean.device, [wanted], deadline=soon())
    file = quoted(staged_dir(wanted.digest) / "model.ort")
    receipt = quoted(PhonePath(f"{staged_dir(wanted.digest)}.receipt"))
    clean.device.shell(damage.format(f=file, r=receipt), deadline=soon())
    report = stage(clean.device, [wanted], deadline=soon())
    assert report.pushed_bytes == (1000 if damage == "rm {f}" else 0)
    assert stage(clean.device, [wanted], deadline=soon()).hashed_units == ()


def test_the_same_digest_with_other_content_is_pushed(clean: Lent) -> None:
    first = unit(1000)
    stage(clean.device, [first], deadline=soon())
    other = StageUnit(digest=first.digest, files=unit(1000).files)
    assert stage(clean.device, [other], deadline=soon()).pushed_bytes == 1000


def test_a_source_that_is_not_what_it_should_be(clean: Lent) -> None:
    wrong = StageUnit(digest=secrets.token_hex(32), files=(StageFile(name="m", source=b"x", sha256="0" * 64),))
    with pytest.raises(TransferCorrupt):
        stage(clean.device, [wrong], deadline=soon())
    assert content_on(clean, staged_dir(wrong.digest) / "m") is None


def test_a_drop_costs_only_what_was_under_way(clean: Lent) -> None:
    small, big = unit(50_000), unit(70_000_000)
    clean.faults(FaultPlan(drop=Drop(kind=DropKind.PUSH, after_bytes=10_000_000)))
    with pytest.raises(LinkLost):
        stage(clean.device, [small, big], deadline=soon())
    clean.faults()
    wait_for(clean.device.server, clean.device.serial)
    report = stage(clean.device, [small, big], deadline=soon())
    assert report.reused_units == (small.digest,)
    assert report.pushed_bytes == 70_000_000
    parts = clean.device.shell(f"find {quoted(ORCH_DIR)} -name '.part-*'", deadline=soon())
    assert parts.stdout == b""


def test_a_phone_without_space_says_so(clean: Lent) -> None:
    clean.faults(FaultPlan(full_after_bytes=1_000))
    with pytest.raises(PhoneFull):
        stage(clean.device, [unit(500_000)], deadline=soon())


def test_fifty_units_at_once(clean: Lent, scratch: Path) -> None:
    units = []
    for number in range(50):
        (scratch / str(number)).write_bytes(os.urandom(1000 + number))
        units.append(
            StageUnit(digest=secrets.token_hex(32), files=(StageFile(name="model.onnx", source=scratch / str(number)),))
        )
    assert stage(clean.device, units, deadline=soon()).pushed_bytes == sum(1000 + number for number in range(50))
    assert stage(clean.device, units, deadline=soon()).pushed_bytes == 0


def test_lease_goes_up_only(clean: Lent) -> None:
    if SERIAL and clean.lab is None:
        pytest.skip("a real phone's lease is not ours to play with")
    take_lease(clean.device, 5, deadline=soon())
    take_lease(clean.device, 5, deadline=soon())
    assert content_on(clean, LEASE) == b"5\n"
    take_lease(clean.device, 7, deadline=soon())
    with pytest.raises(LeaseLost, match="epoch 7, ours is 6"):
        take_lease(clean.device, 6, deadline=soon())
    clean.device.shell(f"echo garbage >{quoted(LEASE)}", deadline=soon())
    take_lease(clean.device, 1, deadline=soon())
    clean.device.shell(f"echo 99999999999999999999 >{quoted(LEASE)}", deadline=soon())
    with pytest.raises(LeaseLost):
        take_lease(clean.device, 999_999_999, deadline=soon())
    assert [e.name for e in clean.device.listing(ORCH_DIR, deadline=soon()) if e.name.startswith("lease")] == ["lease"]


def test_facts_and_vitals(lent: Lent) -> None:
    facts = probe_facts(lent.device, deadline=soon())
    vitals = read_vitals(lent.device, deadline=soon())
    assert facts.identity
    assert facts.cores >= 1
    assert facts.exec_abis
    assert facts.shell
    if "getprop" in facts.tools:  # else it is no Android, but some other target of adb
        assert facts.api_level >= 26
    assert vitals.uptime_s is not None
    assert vitals.boot_id is not None
    if lent.lab is None:
        assert not facts.virtual
        return
    assert (facts.device_model, facts.virtual, facts.profile, facts.rooted) == ("Pixel 8", True, "pixel-8", False)
    assert facts.exec_abis[0].startswith("linux-")
    assert len(facts.max_freq_khz) == facts.cores == 9
    assert facts.memory_bytes == 8_000_000_000
    assert facts.free_bytes > 0
    assert (vitals.battery_level, vitals.battery_c, vitals.thermal_status) == (78, 28.4, 0)
    assert vitals.zones_c["skin"] == 30.5
    assert len(vitals.current_freq_khz) == 3

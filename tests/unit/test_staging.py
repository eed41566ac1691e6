"""Staging where phones differ and space is short, with the shells and tools of this host as the phone's."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from android_runner.block import ORCH_DIR
from android_runner.deadline import Deadline
from android_runner.device import Device, PushedFile, PushItem, ShellResult
from android_runner.errors import LeaseLost, PhoneFull, PhoneRefused
from android_runner.lease import take_lease
from android_runner.staging import ANSWER_S, RESERVE_BYTES, SLOWEST_BYTES_S, StageFile, StageUnit, stage
from tests.unit.adb.scripted import Files, ScriptedPhone, Wire

SHELLS = {
    "dash": (shutil.which("dash") or "sh", "-c"),
    "mksh": ("mksh", "-c"),
    "busybox": ("busybox", "sh", "-c"),
}
TOOLS = ["cat", "chmod", "df", "du", "mkdir", "mv", "rm", "sha256sum", "stat", "touch", "sh"]


def soon() -> Deadline:
    return Deadline.after(30)


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[ScriptedPhone]:
    scripted = ScriptedPhone(tmp_path / "phone")
    yield scripted
    scripted.close()


def unit(size: int = 1000) -> StageUnit:
    content = secrets.token_bytes(size)
    return StageUnit(digest=secrets.token_hex(32), files=(StageFile(name="model.ort", source=content, mode=0o755),))


def tools(folder: Path, family: str, without: tuple[str, ...] = ()) -> str:
    """A PATH with one family's tools only."""
    folder.mkdir()
    for tool in TOOLS:
        if tool in without:
            continue
        program = shutil.which(tool if family == "gnu" else family)
        assert program, f"this host lacks {family}"
        (folder / tool).symlink_to(program)
    return str(folder)


def free_space(phone: ScriptedPhone, folder: Path, free_bytes: int) -> None:
    """A `df` that says how much is free, less what stands in the staging folder."""
    folder.mkdir(exist_ok=True)
    staged = phone.local(ORCH_DIR / "staged")
    script = folder / "df"
    script.write_text(
        f"#!/bin/sh\nused=$(du -sk '{staged}' 2>/dev/null | cut -f1)\n"
        f"echo 'Filesystem 1K-blocks Used Available Use% Mounted on'\n"
        f'echo "/dev/x 9999999 1 $(( {free_bytes // 1024} - ${{used:-0}} )) 1% /data"\n'
    )
    script.chmod(0o755)
    phone.path = f"{folder}:{phone.path}"


def there(phone: ScriptedPhone) -> set[str]:
    return {path.name for path in phone.local(ORCH_DIR / "staged").iterdir() if path.is_dir()}


@pytest.mark.parametrize("shell", sorted(SHELLS))
@pytest.mark.parametrize("family", ["gnu", "toybox", "busybox"])
def test_shells_and_tools_of_every_kind(phone: ScriptedPhone, tmp_path: Path, shell: str, family: str) -> None:
    phone.shell = tuple([str(shutil.which(SHELLS[shell][0])), *SHELLS[shell][1:]])
    phone.path = tools(tmp_path / "tools", family)
    device, units = phone.device(), [unit(), unit(70_000)]
    assert stage(device, units, deadline=soon()).pushed_bytes == 71_000
    before = len(phone.commands())
    again = stage(device, units, deadline=soon())
    assert (again.pushed_bytes, again.hashed_units) == (0, ())
    assert len(phone.commands()) == before + 1, "an unchanged set costs one shell call"
    assert stage(device, units, deadline=soon(), verify=True).pushed_bytes == 0
    model = phone.local(ORCH_DIR / "staged" / units[0].digest / "model.ort")
    model.write_bytes(b"x" * 1000)
    os.utime(model, (5, 5))  # a receipt knows whole seconds
    assert stage(device, units, deadline=soon()).pushed_bytes == 1000
    take_lease(device, 3, deadline=soon())
    with pytest.raises(LeaseLost):
        take_lease(device, 2, deadline=soon())


def test_without_stat_every_time_is_hashed_and_still_nothing_travels(phone: ScriptedPhone, tmp_path: Path) -> None:
    phone.path = tools(tmp_path / "tools", "gnu", without=("stat",))
    device, wanted = phone.device(), unit()
    assert stage(device, [wanted], deadline=soon()).pushed_bytes == 1000
    assert stage(device, [wanted], deadline=soon()).pushed_bytes in (0, 1000)
    assert phone.local(ORCH_DIR / "staged" / wanted.digest / "model.ort").read_bytes() == wanted.files[0].source


def test_without_sha256sum_nothing_is_called_staged(phone: ScriptedPhone, tmp_path: Path) -> None:
    phone.path = tools(tmp_path / "tools", "gnu", without=("sha256sum",))
    with pytest.raises(PhoneRefused, match="sha256sum"):
        stage(phone.device(), [unit()], deadline=soon())


def test_the_least_recently_used_makes_room(phone: ScriptedPhone, tmp_path: Path) -> None:
    device = phone.device()
    old, used, kept = unit(400_000), unit(400_000), unit(400_000)
    for number, one in enumerate((old, used, kept)):
        stage(device, [one], deadline=soon())
        receipt = phone.local(ORCH_DIR / "staged" / f"{one.digest}.receipt")
        os.utime(receipt, (1000 + number, 1000 + number))
    stage(device, [used], deadline=soon())  # touches its receipt, so that `old` stays the oldest but for `kept`
    free_space(phone, tmp_path / "bin", RESERVE_BYTES + 1_300_000)
    report = stage(device, [unit(400_000)], deadline=soon(), keep={kept.digest})
    assert report.evicted_units == (old.digest,)
    assert {used.digest, kept.digest} < there(phone)
    assert old.digest not in there(phone)
    assert not phone.local(ORCH_DIR / "staged" / f"{old.digest}.receipt").exists()


def test_nothing_left_to_evict_is_a_full_phone(phone: ScriptedPhone, tmp_path: Path) -> None:
    kept = unit(400_000)
    stage(phone.device(), [kept], deadline=soon())
    free_space(phone, tmp_path / "bin", 1_000_000)
    with pytest.raises(PhoneFull, match="nothing left to evict"):
        stage(phone.device(), [unit(5_000_000)], deadline=soon(), keep={kept.digest})
    assert there(phone) == {kept.digest}


def test_what_the_push_says_counts_more_than_df(phone: ScriptedPhone) -> None:
    """df promises space, the file service has none until something was evicted."""
    device, old = phone.device(), unit(300_000)
    stage(device, [old], deadline=soon())

    def full(wire: Wire, service: str) -> None:
        files = Files(phone, wire)
        if there(phone) & {old.digest}:
            files._fail("write failed: No space left on device")
            wire.hang_up()
        else:
            files.send(service.partition(":")[2])

    phone.scripts["sync-SEND:"] = full
    wanted = unit(100_000)
    report = stage(device, [wanted], deadline=soon())
    assert (report.evicted_units, report.pushed_bytes) == ((old.digest,), 100_000)

    def always_full(wire: Wire, service: str) -> None:
        Files(phone, wire)._fail("No space left on device")
        wire.hang_up()

    phone.scripts["sync-SEND:"] = always_full
    with pytest.raises(PhoneFull):
        stage(device, [unit(100)], deadline=soon(), keep={wanted.digest})
    assert there(phone) == {wanted.digest}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_half_of_a_push_is_taken_away_also_where_nothing_is_missing(phone: ScriptedPhone, shell: str) -> None:
    """Garbled answers made it push again what was there; then the cable was pulled."""
    phone.shell = SHELLS[shell]
    wanted, other = unit(), unit()
    stage(phone.device(), [wanted, other], deadline=soon())
    folder = phone.local(ORCH_DIR / "staged" / wanted.digest)
    beside = phone.local(ORCH_DIR / "staged" / other.digest)
    (folder / "test_data_set_0").mkdir()
    for path in (folder / ".part-0123-4", folder / "test_data_set_0/.part-0123-5", beside / ".part-0123-6"):
        path.write_bytes(b"half")
    assert stage(phone.device(), [wanted], deadline=soon()).pushed_bytes == 0
    assert [path.name for path in folder.rglob(".part-*")] == []
    assert [path.name for path in beside.iterdir()] == [".part-0123-6", "model.ort"], "another push may be on its way"


class Watched:
    """A phone that notes how long each of its answers may take."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.serial = device.serial
        self.allowed_s: list[tuple[str, float]] = []

    def shell(self, command: str, *, deadline: Deadline, max_output_bytes: int) -> ShellResult:
        self.allowed_s.append(("shell", deadline.remaining_s()))
        return self._device.shell(command, deadline=deadline, max_output_bytes=max_output_bytes)

    def push(self, items: Sequence[PushItem], *, deadline: Deadline) -> list[PushedFile]:
        self.allowed_s.append(("push", deadline.remaining_s()))
        return self._device.push(items, deadline=deadline)


def test_no_answer_may_take_all_the_time_that_staging_has(phone: ScriptedPhone) -> None:
    """A phone that hangs is found out by the answer that does not come, not half an hour later."""
    watched = Watched(phone.device())
    wanted = unit(2_000_000)
    for verify in (False, True):
        stage(cast(Device, watched), [wanted], deadline=Deadline.after(1800), verify=verify)
    shells = [allowed for kind, allowed in watched.allowed_s if kind == "shell"]
    pushes = [allowed for kind, allowed in watched.allowed_s if kind == "push"]
    assert len(shells) >= 4
    assert max(shells) <= ANSWER_S + 2_000_000 / SLOWEST_BYTES_S
    assert len(pushes) == 1
    assert ANSWER_S < pushes[0] <= ANSWER_S + 2_000_000 / SLOWEST_BYTES_S
    stage(cast(Device, watched), [wanted], deadline=Deadline.after(9))
    assert watched.allowed_s[-1][1] <= 9


def test_what_is_not_ours_is_never_evicted(phone: ScriptedPhone, tmp_path: Path) -> None:
    staged = phone.local(ORCH_DIR / "staged")
    (staged / "notes").mkdir(parents=True)
    (staged / "notes" / "file").write_bytes(bytes(500_000))
    free_space(phone, tmp_path / "bin", 1_000_000)
    with pytest.raises(PhoneFull):
        stage(phone.device(), [unit(5_000_000)], deadline=soon())
    assert (staged / "notes" / "file").exists()


def test_a_hostile_folder_name_is_not_a_command(phone: ScriptedPhone, tmp_path: Path) -> None:
    staged = phone.local(ORCH_DIR / "staged")
    (staged / "deadbeef; touch evil").mkdir(parents=True)
    free_space(phone, tmp_path / "bin", 1_000_000)
    with pytest.raises(PhoneFull):
        stage(phone.device(), [unit(5_000_000)], deadline=soon())
    assert not list(phone.root.rglob("evil"))
    assert (staged / "deadbeef; touch evil").is_dir()


def test_the_same_unit_twice_travels_once(phone: ScriptedPhone) -> None:
    wanted = unit()
    assert stage(phone.device(), [wanted, wanted], deadline=soon()).pushed_bytes == 1000
    assert stage(phone.device(), [], deadline=soon()).pushed_bytes == 0

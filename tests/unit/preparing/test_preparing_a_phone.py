"""Preparing and putting back over a phone's own shells and tools, without adb; and two hosts that meet on one phone."""

from __future__ import annotations

import importlib.resources
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.device import ShellResult
from android_runner.errors import DeadlinePassed
from android_runner.facts import PhoneFacts
from android_runner.preparing import carry_out
from android_runner.preparing.carry_out import Prepared, prepare, restore
from android_runner.preparing.commands import changing_command
from android_runner.preparing.knobs import setting
from android_runner.preparing.steps import Standing, StepName
from android_runner.preparing.undo import Todo, UndoList
from tests.host_phone import SHELLS, HostPhone, soon, until

SETTINGS = {"system/screen_brightness": "37", "system/screen_brightness_mode": "1", "global/airplane_mode_on": "0"}
MAX_FREQ = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq"


class Lists:
    """What the host would have on its disk, list after list."""

    def __init__(self) -> None:
        self.kept = [UndoList(phone="p", run_id="r", made_at="now", entries=())]

    def keep(self, undo: UndoList) -> None:
        self.kept.append(undo)

    @property
    def last(self) -> UndoList:
        return self.kept[-1]


def facts(*, api_level: int = 28, rooted: bool = True) -> PhoneFacts:
    return PhoneFacts(
        identity="p", device_model="", manufacturer="", fingerprint="", soc="", api_level=api_level, abis=(),
        exec_abis=(), cores=1, max_freq_khz=(), memory_bytes=0, rooted=rooted, virtual=False, confinement="", shell="",
        tools=(), launcher="", profile="", free_bytes=0,
    )  # fmt: skip


@pytest.fixture(params=sorted(SHELLS))
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostPhone]:
    made = HostPhone(tmp_path / "root", request.param)
    equip(made)
    yield made
    made.end_all()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[HostPhone]:
    made = HostPhone(tmp_path / "root", "dash")
    equip(made)
    yield made
    made.end_all()


def equip(phone: HostPhone) -> None:
    """The virtual phone's own tools, a `su` and an `am` that does nothing."""
    for name in ("settings", "dumpsys", "cmd", "input"):
        text = importlib.resources.files("android_runner.virtual").joinpath(f"{name}.sh").read_text()
        tool(phone, name, text)
    tool(phone, "su", "exec sh\n")
    tool(phone, "am", 'echo "$*" >>"$ORCH_ROOT/casts"\n')
    tool(phone, "id", "echo 2000\n")
    phone.write("/dev/__properties__/ro.build.version.sdk", "28")
    phone.write("/dev/orch/wakefulness", "Asleep")
    phone.write("/dev/orch/doze_deep", "1")
    phone.write("/dev/orch/doze_light", "0")
    for name, value in SETTINGS.items():
        phone.write(f"/data/system/settings/{name}", value)
    phone.write("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "1800000")
    phone.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "300000")
    phone.write(MAX_FREQ, "1800000")


def tool(phone: HostPhone, name: str, text: str) -> None:
    path = phone.tools / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def dump(phone: HostPhone) -> dict[str, str]:
    folders = ("data/system/settings", "dev/orch", "sys/devices")
    files = [one for folder in folders for one in (phone.root / folder).rglob("*") if one.is_file()]
    return {str(one): one.read_text() for one in files}


def standings(prepared: Prepared) -> dict[str, Standing]:
    return {one.step.value: one.standing for one in prepared.reports}


def test_every_step_and_back_in_every_shell(phone: HostPhone) -> None:
    tool(phone, "id", 'if [ "$1" = -u ] && [ -n "$AS_SU" ]; then echo 0; else echo 2000; fi\n')
    tool(phone, "su", "AS_SU=1 exec sh\n")
    tool(phone, "settaskprofile", 'echo "Profile $2 is applied successfully!"\n')
    before, lists = dump(phone), Lists()
    done = prepare(phone, facts(), list(StepName), lists.last, lists.keep, deadline=soon())
    assert set(standings(done).values()) == {Standing.DONE}, done.reports
    assert done.task_profile == "MaxPerformance"
    assert phone.local(MAX_FREQ).read_text() == "1575000\n"
    assert "--ez state true" in (phone.root / "casts").read_text()
    assert all(one.confirmed for one in lists.last.entries)
    back = restore(phone, lists.last, lists.keep, deadline=soon())
    assert all(one.back and one.todo is Todo.PUT_BACK for one in back)
    assert lists.last.entries == ()
    assert dump(phone) == before
    assert "--ez state false" in (phone.root / "casts").read_text()
    assert restore(phone, lists.kept[2], lists.keep, deadline=soon())[0].todo is Todo.NOTHING, "again: nothing to do"
    assert dump(phone) == before


def test_the_list_is_there_before_the_first_change(plain: HostPhone) -> None:
    before, seen = dump(plain), []

    def keep(undo: UndoList) -> None:
        seen.append((undo, dump(plain) == before))
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        prepare(plain, facts(rooted=False), list(StepName), Lists().last, keep, deadline=soon())
    ((undo, untouched),) = seen
    assert untouched
    assert len(undo.entries) == 10
    assert dump(plain) == before


def test_what_the_phone_refuses_is_reported_and_not_on_the_list(plain: HostPhone) -> None:
    text = (plain.tools / "settings").read_text()
    tool(plain, "settings", f'case $* in "put system"*) echo "SecurityException: no" >&2; exit 255;; esac\n{text}')
    lists = Lists()
    wanted = [StepName.SCREEN, StepName.ANIMATIONS, StepName.CLOCKS, StepName.PROFILE]
    done = prepare(plain, facts(rooted=False), wanted, lists.last, lists.keep, deadline=soon())
    assert standings(done) == {
        "screen": Standing.REFUSED,
        "animations": Standing.DONE,
        "profile": Standing.NOT_OFFERED,
        "clocks": Standing.NOT_OFFERED,
    }
    assert "SecurityException: no" in done.reports[0].words
    assert {one.step for one in lists.last.entries} == {StepName.ANIMATIONS}


def test_a_phone_without_the_tools_offers_nothing(plain: HostPhone) -> None:
    for name in ("settings", "dumpsys", "cmd", "input"):
        tool(plain, name, "exit 127\n")
    lists = Lists()
    done = prepare(plain, facts(rooted=False), list(StepName), lists.last, lists.keep, deadline=soon())
    assert set(standings(done).values()) == {Standing.NOT_OFFERED}
    assert not done.tuned
    assert lists.last.entries == ()


def test_a_su_that_never_answers_is_no_root(plain: HostPhone, monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(HostPhone):
        def shell(self, command: str, **more: object) -> ShellResult:
            if command.endswith("'id -u'"):
                raise DeadlinePassed("no answer")
            return HostPhone.shell(self, command, **more)  # type: ignore[arg-type]

    plain.__class__ = Waiting
    done = prepare(plain, facts(), [StepName.CLOCKS], Lists().last, Lists().keep, deadline=soon())
    assert "does its screen ask" in done.reports[0].words


def test_a_dead_hosts_last_command_is_waited_for_and_a_late_one_does_nothing(plain: HostPhone) -> None:
    """A settings command takes long, its host dies; whoever puts back comes while it still works."""
    text = (plain.tools / "settings").read_text()
    slow = f'case $* in "put system screen_brightness 102") : >"$ORCH_ROOT/begun"; sleep 1;; esac\n{text}'
    tool(plain, "settings", slow)
    before, lists = dump(plain), Lists()

    def dying_host() -> None:
        prepare(plain, facts(), [StepName.SCREEN], lists.last, lists.keep, deadline=soon())

    thread = threading.Thread(target=dying_host)
    thread.start()
    until((plain.root / "begun").exists, what="the slow command")
    back = restore(plain, lists.kept[1], Lists().keep, deadline=soon())
    assert all(one.back and one.todo is Todo.PUT_BACK for one in back), "read before it was done: nothing to put back"
    thread.join()
    assert dump(plain) == before
    brightness = setting("system", "screen_brightness")
    late = plain.shell(changing_command("n", "not-ours", [(brightness, "1")]), deadline=soon())
    assert (late.exit_code, dump(plain)) == (97, before)


def test_a_lock_of_a_dead_shell_is_passed(plain: HostPhone) -> None:
    folder = plain.local("/data/local/tmp/orch/preparing")
    folder.mkdir(parents=True)
    (folder / "lock").symlink_to("999999999")
    lists = Lists()
    prepare(plain, facts(), [StepName.DOZE], lists.last, lists.keep, deadline=soon())
    assert plain.local("/dev/orch/doze_deep").read_text() == "0\n"
    assert not (folder / "lock").is_symlink()
    assert carry_out.restore(plain, lists.last, lists.keep, deadline=soon())[0].back

"""Starting, following and pulling a block while links drop, scripts die and phones reboot."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.block import BlockEnding, Ending
from android_runner.deadline import Deadline, SystemClock
from android_runner.device import Device
from android_runner.errors import DeadlinePassed, LeaseLost, LinkLost, PhoneRefused
from android_runner.phone.journal import TrialRecord
from android_runner.run import (
    BlockControl,
    Pace,
    clean_block,
    follow_block,
    start_block,
    sweep,
)
from tests.host_phone import SCRIPT, HostPhone, block_of, soon, task, until

QUICK = Pace(poll_s=0.02, silence_s=2.5, lost_after_s=20.0)
SLEEPER = ("/bin/sh", "-c", "echo torn; exec sleep 300")


@pytest.fixture(params=["dash", "mksh-toybox"])
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostPhone]:
    made = HostPhone(tmp_path / "the phone", str(request.param))
    yield made
    made.end_all()


def test_a_block_from_start_to_clean(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(
        task("a", "/bin/sh", "-c", "echo hello; echo 1 >result.csv; mkdir sub; ln -s /etc/passwd link"),
        task("b", "/bin/sh", "-c", "kill -SEGV $$"),
        task("c", "/bin/sh", "-c", "echo 100.25 101.75 >slot_wait"),
    )
    told: list[TrialRecord] = []
    start_block(phone, block, SCRIPT, deadline=soon())
    report = follow_block(
        lambda: phone,
        block,
        collect_dir=tmp_path / "got",
        control=BlockControl(),
        clock=SystemClock(),
        pace=QUICK,
        on_progress=told.append,
    )
    assert report.ending is BlockEnding.DONE
    assert report.problems == ()
    assert report.not_started == ()
    a, b, c = report.folders
    assert (a.ending, a.exit_code, a.slot_wait_s) == (Ending.EXITED, 0, 0.0)
    assert set(a.files) == {"stdout", "stderr", "result.csv"}, "neither folders nor links"
    assert a.files["stdout"].read_bytes() == b"hello\n"
    assert b.exit_code == 139
    assert c.slot_wait_s == 1.5
    assert a.after == b.before
    assert a.before is not None
    assert a.before.battery_level == 88
    assert {r.task_id for r in told if r.ending is not None} == {"a", "b", "c"}
    clean_block(phone, block, deadline=soon())
    assert not phone.local(block.directory).exists()
    assert not phone.processes()


class FlakyLine:
    """A source whose phone answers some calls, is cut off, and comes back when it was asked for three times."""

    def __init__(self, phone: HostPhone, calls: int) -> None:
        self.phone, self.calls, self.left, self.cuts, self.asked = phone, calls, calls, 0, 0

    def __call__(self) -> Device:
        if not self.phone.up:
            self.asked += 1
            if self.asked % 3:
                raise LinkLost("away")
            self.phone.up, self.left = True, self.calls
        return self.phone

    def tick(self) -> None:
        self.left -= 1
        if self.left <= 0 and self.phone.up:
            self.phone.up = False
            self.cuts += 1


@pytest.mark.parametrize("calls", [2, 3, 5])
def test_a_link_that_drops_all_the_time_costs_waiting_only(phone: HostPhone, tmp_path: Path, calls: int) -> None:
    block = block_of(*[task(f"t{n}", "/bin/sh", "-c", f"sleep 0.2; echo {n}") for n in range(4)])
    start_block(phone, block, SCRIPT, deadline=soon())
    line = FlakyLine(phone, calls)
    answer = phone._answer

    def flaky() -> None:
        answer()
        line.tick()

    phone._answer = flaky  # type: ignore[method-assign]
    report = follow_block(
        line, block, collect_dir=tmp_path / "got", control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert line.cuts
    assert report.ending is BlockEnding.DONE
    assert [f.files["stdout"].read_text() for f in report.folders] == ["0\n", "1\n", "2\n", "3\n"]


def test_a_phone_that_never_comes_back_is_given_up_and_adopted_later(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "sleep", "1"))
    start_block(phone, block, SCRIPT, deadline=soon())
    phone.up = False
    pace = Pace(poll_s=0.02, lost_after_s=0.3)
    with pytest.raises(LinkLost, match="given up"):
        follow_block(lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=pace)
    phone.up = True
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.DONE
    assert report.folders[0].ending is Ending.EXITED


def test_a_phone_that_hangs_while_it_is_pulled_from_is_not_waited_for_longer_than_its_bytes_need(
    phone: HostPhone, tmp_path: Path
) -> None:
    """A soak's run stood still for 300 s: so long one pull might take, however little was to be pulled."""
    block = block_of(task("a", "/bin/sh", "-c", "head -c 2000000 /dev/zero"))
    start_block(phone, block, SCRIPT, deadline=soon())
    given_s: list[float] = []

    def hang(items: object, *, deadline: Deadline) -> list[bool]:
        given_s.append(deadline.remaining_s())
        raise DeadlinePassed("hangs")

    phone.pull = hang  # type: ignore[method-assign,assignment]
    pace = Pace(poll_s=0.02, silence_s=2.5, answer_s=5.0, lost_after_s=0.1)
    with pytest.raises(LinkLost, match="given up"):
        follow_block(lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=pace)
    assert given_s
    assert all(5.0 + 2.0 < each < 5.0 + 5.0 for each in given_s), "an answer's time, and 2 MB at 0.5 MB/s"


def test_who_asks_for_a_kill_does_not_wait_long_for_a_lost_phone(phone: HostPhone, tmp_path: Path) -> None:
    phone.up = False
    control = BlockControl()
    control.kill()
    with pytest.raises(LinkLost, match="given up after 0 s"):
        follow_block(
            lambda: phone,
            block_of(task("a", "true")),
            collect_dir=tmp_path,
            control=control,
            clock=SystemClock(),
            pace=Pace(poll_s=0.02, answer_s=0.1, lost_after_s=600.0),
        )


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_block_ends_when_asked(phone: HostPhone, tmp_path: Path, how: str) -> None:
    block = block_of(task("a", "sleep", "2" if how == "stop" else "300", deadline_s=600), task("b", "true"))
    start_block(phone, block, SCRIPT, deadline=soon())
    control = BlockControl()
    timer = threading.Timer(0.5, getattr(control, how))
    timer.start()
    report = follow_block(lambda: phone, block, collect_dir=tmp_path, control=control, clock=SystemClock(), pace=QUICK)
    timer.join()
    assert report.ending is BlockEnding.STOPPED
    assert report.not_started == ("b",)
    assert report.folders[0].ending is (Ending.EXITED if how == "stop" else Ending.STOPPED)
    until(lambda: not phone.processes(), what="no process left")


def test_a_script_that_was_killed_is_noticed_and_its_trial_ended(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "true"), task("b", *SLEEPER), task("c", "true"))
    start_block(phone, block, SCRIPT, deadline=soon())
    until(lambda: phone.local(block.directory / "part/b/stdout").exists() and phone.journal(block).running())
    pid = phone.journal(block).script_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in phone.processes())
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.VANISHED
    assert [(f.task_id, f.ending, f.exit_code) for f in report.folders] == [
        ("a", Ending.EXITED, 0),
        ("b", Ending.LOST, None),
    ]
    assert report.folders[1].files["stdout"].read_bytes() == b"torn\n"
    assert report.not_started == ("c",)
    assert not phone.processes()


def test_a_reboot_in_the_middle_is_noticed(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "true"), task("b", *SLEEPER), task("c", "true"))
    start_block(phone, block, SCRIPT, deadline=soon())
    until(lambda: phone.local(block.directory / "part/b/stdout").exists() and phone.journal(block).running())
    phone.end_all()
    phone.boot("99999999-2222-3333-4444-555555555555")
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.VANISHED
    assert [f.ending for f in report.folders] == [Ending.EXITED, Ending.LOST]
    assert report.not_started == ("c",)


def test_a_torn_block_goes_on_when_started_again(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "true"), task("b", *SLEEPER), task("c", "true"))
    start_block(phone, block, SCRIPT, deadline=soon())
    until(lambda: phone.local(block.directory / "part/b/stdout").exists() and phone.journal(block).running())
    phone.end_all()
    start_block(phone, block, SCRIPT, deadline=soon())
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.DONE
    assert [f.ending for f in report.folders] == [Ending.EXITED, Ending.LOST, Ending.EXITED]


def test_starting_twice_leaves_one(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "/bin/sh", "-c", "echo x >>../../runs; sleep 1"))
    start_block(phone, block, SCRIPT, deadline=soon())
    start_block(phone, block, SCRIPT, deadline=soon())
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.DONE
    assert phone.local(block.directory / "runs").read_text() == "x\n"


def test_a_higher_epoch_refuses_the_start(phone: HostPhone) -> None:
    phone.write("/data/local/tmp/orch/lease", "6")
    with pytest.raises(LeaseLost, match="epoch 6, ours is 5"):
        start_block(phone, block_of(task("a", "true")), SCRIPT, deadline=soon())


class TenTimesAsFast(SystemClock):
    """Ten seconds a second: what is waited for is the same, and the test is over sooner."""

    def monotonic_s(self) -> float:
        return 10 * super().monotonic_s()

    def sleep(self, seconds_s: float) -> None:
        super().sleep(seconds_s / 10)


def test_a_script_that_does_not_come_up_is_a_refusal(phone: HostPhone) -> None:
    missing = SCRIPT / "missing"
    with pytest.raises(PhoneRefused, match="does not start"):
        start_block(phone, block_of(task("a", "true")), missing, deadline=Deadline.after(60.0, TenTimesAsFast()))


def test_a_damaged_journal_costs_what_stands_behind_the_damage(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "true"), task("b", "true"))
    phone.run(block)
    path = phone.local(block.directory / "journal")
    path.write_bytes(path.read_bytes().replace(b"exited 2 b 0 ", b"exited 2 b 1 "))
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert report.ending is BlockEnding.VANISHED
    assert "wrong check figure" in report.problems[0]
    assert [f.ending for f in report.folders] == [Ending.EXITED, Ending.EXITED]
    assert [f.exit_code for f in report.folders] == [0, 0], "the folder's own word is believed where the journal ends"


def test_a_folder_that_contradicts_the_journal_is_not_believed(phone: HostPhone, tmp_path: Path) -> None:
    block = block_of(task("a", "true"), task("b", "true"))
    phone.run(block)
    rc = phone.local(block.directory / "out/a/rc")
    rc.write_text("1" + rc.read_text()[1:])
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert [f.ending for f in report.folders] == [Ending.LOST, Ending.EXITED]
    assert "contradicts" in report.problems[0]


def test_odd_files_of_a_trial_are_left_out_and_said(phone: HostPhone, tmp_path: Path) -> None:
    odd = "echo x >good; echo x >'a\nb'; echo x >locked; chmod 0 locked; mkfifo pipe"
    block = block_of(task("a", "/bin/sh", "-c", odd))
    phone.run(block)
    report = follow_block(
        lambda: phone, block, collect_dir=tmp_path, control=BlockControl(), clock=SystemClock(), pace=QUICK
    )
    assert set(report.folders[0].files) == {"stdout", "stderr", "good"}
    assert len(report.problems) == 2


def test_a_sweep_ends_everything_of_ours_and_says_what(phone: HostPhone) -> None:
    blocks = [block_of(task("a", *SLEEPER), block_id=f"b{n}") for n in range(2)]
    for block in blocks:
        start_block(phone, block, SCRIPT, deadline=soon())
    until(lambda: all(phone.journal(block).running() for block in blocks), what="both trials")
    said = sweep(phone, deadline=soon())
    until(lambda: not phone.processes(), what="no process left")
    for number in range(2):
        assert any(line.startswith(f"block b{number}: script ") for line in said)
        assert any(line.startswith(f"block b{number}: trial ") for line in said)
    assert sweep(phone, deadline=soon()) == []

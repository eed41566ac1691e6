"""What every implementation of the phone port must hold, against phones behind the true adb server."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from android_runner.adb.discovery import attached, open_device
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem, PushItem, quoted
from android_runner.errors import (
    DeadlinePassed,
    HostileAnswer,
    LinkLost,
    LinkRefused,
    PhoneFull,
    PhoneRefused,
)
from android_runner.virtual.faults import Drop, DropKind, FaultPlan, ShellExit
from tests.contract.lent_phone import Lent, wait_for
from tests.contract.lent_phone import lent as lent
from tests.contract.lent_phone import phone_kind as phone_kind
from tests.contract.lent_phone import scratch as scratch
from tests.contract.lent_phone import station as station

HOSTILE = [
    "a b",
    "quo'te",
    'dou"ble',
    "semi;colon",
    "$(touch x)",
    "`id`",
    "-rf",
    "*",
    "né",
    "back\\slash",
    "#",
    "~",
    "!",
    "&",
]


def soon() -> Deadline:
    return Deadline.after(30)


# --- shell ---


@pytest.mark.parametrize("code", [0, 1, 7, 126, 127, 139, 255])
def test_exit_codes(lent: Lent, code: int) -> None:
    assert lent.device.shell(f"exit {code}", deadline=soon()).exit_code == code


def test_streams_are_apart_and_bytes_are_kept(lent: Lent) -> None:
    result = lent.device.shell("printf 'a\\377\\000b'; printf 'c\\376' >&2", deadline=soon())
    assert (result.stdout, result.stderr) == (b"a\xff\0b", b"c\xfe")
    assert result.text() == "a\ufffd\0b"


def test_stdin_reaches_the_command_and_ends(lent: Lent) -> None:
    data = os.urandom(700_000)
    assert lent.device.shell("cat", deadline=soon(), stdin=data).stdout == data
    assert lent.device.shell("cat", deadline=soon()).stdout == b""


def test_large_output_is_whole_and_bounded(lent: Lent) -> None:
    whole = lent.device.shell("head -c 5000000 /dev/zero", deadline=soon())
    assert whole.stdout == bytes(5_000_000)
    with pytest.raises(HostileAnswer):
        lent.device.shell("head -c 5000000 /dev/zero", deadline=soon(), max_output_bytes=4_999_999)


def test_a_command_beyond_its_deadline_is_ended_there_too(lent: Lent) -> None:
    pid_file = quoted(lent.folder / "pid")
    started = time.monotonic()
    with pytest.raises(DeadlinePassed):
        lent.device.shell(f"echo $$ >{pid_file}; exec sleep 60", deadline=Deadline.after(0.8))
    assert time.monotonic() - started < 10
    alive = (
        f"for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $(cat {pid_file}) 2>/dev/null || exit 0; sleep 0.3; done; exit 1"
    )
    assert lent.device.shell(alive, deadline=soon()).exit_code == 0, "the command outlived its stream"


def test_a_slow_command_among_quick_ones(lent: Lent) -> None:
    done = threading.Event()

    def slow() -> None:
        lent.device.shell("sleep 1.5", deadline=soon())
        done.set()

    thread = threading.Thread(target=slow)
    thread.start()
    assert lent.device.shell("echo quick", deadline=soon()).text() == "quick\n"
    assert not done.is_set()
    thread.join()


@pytest.mark.parametrize("name", HOSTILE)
def test_quoted_names_are_only_names(lent: Lent, name: str) -> None:
    target = lent.folder / name / name
    lent.device.push([PushItem(b"content", target)], deadline=soon())
    assert lent.left() == [f"./{name}/{name}"]
    assert lent.device.shell(f"cat {quoted(target)}", deadline=soon()).stdout == b"content"
    assert lent.device.shell(f"echo {quoted(name)} | cat", deadline=soon()).exit_code == 0
    assert [entry.name for entry in lent.device.listing(lent.folder / name, deadline=soon())] == [name]
    assert lent.device.read(target, deadline=soon(), max_bytes=7) == b"content"


def test_missing_exit_packet_is_lost(lent: Lent) -> None:
    lent.faults(FaultPlan(shell_exit=ShellExit.MISSING))
    with pytest.raises(LinkLost):
        lent.device.shell("echo whole", deadline=soon())


def test_endless_output_ends(lent: Lent) -> None:
    lent.faults(FaultPlan(endless_output=True))
    with pytest.raises(HostileAnswer):
        lent.device.shell("true", deadline=soon(), max_output_bytes=1_000_000)
    lent.faults()
    assert lent.device.shell("echo fine", deadline=soon()).text() == "fine\n"


def test_drop_in_a_shell_is_lost(lent: Lent) -> None:
    lent.faults(FaultPlan(drop=Drop(kind=DropKind.SHELL, after_bytes=5_000)))
    with pytest.raises(LinkLost):
        lent.device.shell("head -c 1000000 /dev/zero", deadline=soon())


# --- push ---


@pytest.mark.parametrize("size", [0, 1, 70_000, 10_000_000])
def test_push_arrives_whole(lent: Lent, size: int, scratch: Path) -> None:
    data = os.urandom(size)
    (scratch / "source").write_bytes(data)
    items = [PushItem(scratch / "source", lent.folder / "new" / "a", 0o755), PushItem(data, lent.folder / "b")]
    pushed = lent.device.push(items, deadline=soon())
    digest = hashlib.sha256(data).hexdigest()
    assert [(one.size_bytes, one.sha256) for one in pushed] == [(size, digest)] * 2
    stats = lent.device.stat([one.target for one in pushed], deadline=soon())
    assert [stat and (stat.size_bytes, stat.mode & 0o777) for stat in stats] == [(size, 0o755), (size, 0o644)]
    assert lent.left() == ["./b", "./new/a"]
    said = lent.device.shell(f"sha256sum <{quoted(lent.folder / 'b')}", deadline=soon()).text()
    assert said.startswith(digest)


def test_push_replaces_and_may_be_executed(lent: Lent) -> None:
    target = lent.folder / "tool"
    lent.device.push([PushItem(b"#!/bin/sh\necho first\n", target, 0o755)], deadline=soon())
    lent.device.push([PushItem(b"echo second\n", target, 0o755)], deadline=soon())
    assert lent.device.shell(f"sh {quoted(target)}", deadline=soon()).text() == "second\n"


def test_push_to_where_nobody_may_write_tells_the_phones_words(lent: Lent) -> None:
    with pytest.raises(PhoneRefused, match=r"(?i)denied|read-only|not permitted") as caught:
        lent.device.push([PushItem(b"x", PhonePath("/system/orch-contract"))], deadline=soon())
    assert "/system/orch-contract" in str(caught.value)


def test_push_onto_a_folder_is_refused(lent: Lent) -> None:
    lent.device.shell(f"mkdir {quoted(lent.folder / 'd')}", deadline=soon())
    with pytest.raises(PhoneRefused):
        lent.device.push([PushItem(b"x", lent.folder / "d")], deadline=soon())
    assert lent.left() == []


def test_a_full_phone_says_so_and_keeps_nothing(lent: Lent) -> None:
    lent.faults(FaultPlan(full_after_bytes=300_000))
    lent.device.push([PushItem(bytes(100_000), lent.folder / "fits")], deadline=soon())
    with pytest.raises(PhoneFull, match=r"(?i)no space"):
        lent.device.push([PushItem(os.urandom(30_000_000), lent.folder / "big")], deadline=soon())
    assert lent.left() == ["./fits"]


def test_drop_in_a_push_leaves_nothing_under_the_final_name(lent: Lent) -> None:
    lent.faults(FaultPlan(drop=Drop(kind=DropKind.PUSH, after_bytes=1_000_000)))
    with pytest.raises(LinkLost):
        lent.device.push([PushItem(os.urandom(20_000_000), lent.folder / "big")], deadline=soon())
    lent.faults()
    wait_for(lent.device.server, lent.device.serial)
    assert [name for name in lent.left() if "part" not in name] == []


# --- pull, read, stat, listing ---


@pytest.mark.parametrize("size", [0, 1, 65_536, 70_000, 10_000_000])
def test_pull_gives_back_what_was_pushed(lent: Lent, size: int, scratch: Path) -> None:
    data = os.urandom(size)
    lent.device.push([PushItem(data, lent.folder / "f")], deadline=soon())
    pull = PullItem(lent.folder / "f", scratch / "f", size)
    assert lent.device.pull([pull], deadline=soon()) == [True]
    assert (scratch / "f").read_bytes() == data
    assert os.listdir(scratch) == ["f"]


def test_pull_of_many_with_some_missing(lent: Lent, scratch: Path) -> None:
    items = [PushItem(b"x" * number, lent.folder / str(number)) for number in range(0, 200, 2)]
    lent.device.push(items, deadline=soon())
    pulls = [PullItem(lent.folder / str(number), scratch / str(number), 1000) for number in range(200)]
    assert lent.device.pull(pulls, deadline=soon()) == [number % 2 == 0 for number in range(200)]
    assert {path.name: path.stat().st_size for path in scratch.iterdir()} == {str(n): n for n in range(0, 200, 2)}


def test_pull_above_its_bound(lent: Lent, scratch: Path) -> None:
    lent.device.push([PushItem(bytes(200_001), lent.folder / "f")], deadline=soon())
    with pytest.raises(HostileAnswer):
        lent.device.pull([PullItem(lent.folder / "f", scratch / "f", 200_000)], deadline=soon())
    assert os.listdir(scratch) == []


def test_pull_of_a_folder_is_refused(lent: Lent, scratch: Path) -> None:
    with pytest.raises(PhoneRefused):
        lent.device.pull([PullItem(lent.folder, scratch / "f", 1000)], deadline=soon())
    assert os.listdir(scratch) == []


def test_drop_in_a_pull_leaves_nothing_under_the_final_name(lent: Lent, scratch: Path) -> None:
    lent.device.push([PushItem(os.urandom(10_000_000), lent.folder / "f")], deadline=soon())
    lent.faults(FaultPlan(drop=Drop(kind=DropKind.PULL, after_bytes=1_000_000)))
    with pytest.raises(LinkLost):
        lent.device.pull([PullItem(lent.folder / "f", scratch / "f", 10_000_000)], deadline=soon())
    assert os.listdir(scratch) == []


def test_more_bytes_than_there_are_end_at_the_bound(lent: Lent, scratch: Path) -> None:
    lent.device.push([PushItem(b"small", lent.folder / "f")], deadline=soon())
    lent.faults(FaultPlan(recv_size_bytes=5_000_000))
    with pytest.raises(HostileAnswer):
        lent.device.pull([PullItem(lent.folder / "f", scratch / "f", 1000)], deadline=soon())
    assert os.listdir(scratch) == []


def test_read(lent: Lent) -> None:
    lent.device.push([PushItem(b"\xff\0text", lent.folder / "f")], deadline=soon())
    assert lent.device.read(lent.folder / "f", deadline=soon(), max_bytes=6) == b"\xff\0text"
    assert lent.device.read(lent.folder / "none", deadline=soon(), max_bytes=6) is None
    with pytest.raises(HostileAnswer):
        lent.device.read(lent.folder / "f", deadline=soon(), max_bytes=5)


def test_stat_of_many(lent: Lent) -> None:
    lent.device.push([PushItem(bytes(number), lent.folder / str(number)) for number in range(20)], deadline=soon())
    paths = [lent.folder / str(number) for number in range(300)] + [lent.folder, lent.folder / "1" / "below"]
    stats = lent.device.stat(paths, deadline=soon())
    assert [stat.size_bytes if stat else None for stat in stats[:300]] == [*range(20), *[None] * 280]
    assert stats[300] is not None
    assert stats[300].is_dir()
    assert stats[301] is None
    assert stats[5] is not None
    assert stats[5].is_file()
    assert abs(stats[5].mtime_s - time.time()) < 600


def test_listing(lent: Lent) -> None:
    lent.device.push([PushItem(b"12", lent.folder / "f"), PushItem(b"", lent.folder / "d" / "g")], deadline=soon())
    entries = {entry.name: entry.stat for entry in lent.device.listing(lent.folder, deadline=soon())}
    assert set(entries) == {"f", "d"}
    assert (entries["f"].size_bytes, entries["f"].is_file(), entries["d"].is_dir()) == (2, True, True)
    assert lent.device.listing(lent.folder / "none", deadline=soon()) == []


@pytest.mark.parametrize("name", ["../../x", "a/b", "..\\..", "/etc/passwd", "x\ny"])
def test_names_that_leave_their_folder(lent: Lent, name: str) -> None:
    lent.faults(FaultPlan(extra_names=(name,)))
    if "/" in name:
        with pytest.raises(HostileAnswer):
            lent.device.listing(lent.folder, deadline=soon())
    else:  # a legal name on the phone; it is one name, whatever it looks like
        assert [entry.name for entry in lent.device.listing(lent.folder, deadline=soon())] == [name]


def test_lying_sizes_do_not_make_a_transfer_true(lent: Lent) -> None:
    lent.faults(FaultPlan(stat_size_bytes=2**50))
    data = os.urandom(50_000)
    lent.device.push([PushItem(data, lent.folder / "f")], deadline=soon())
    (stat,) = lent.device.stat([lent.folder / "f"], deadline=soon())
    assert stat is not None
    assert stat.size_bytes == 2**50
    assert lent.device.read(lent.folder / "f", deadline=soon(), max_bytes=50_000) == data


# --- the way there ---


def test_reading_goes_on_after_the_phone_was_away(lent: Lent) -> None:
    lent.device.push([PushItem(b"x", lent.folder / "f")], deadline=soon())
    assert lent.device.stat([lent.folder / "f"], deadline=soon())[0]
    lent.faults(FaultPlan(drop=Drop(kind=DropKind.SHELL, after_bytes=0)))
    with pytest.raises(LinkLost):
        lent.device.shell("echo x", deadline=soon())
    lent.faults()
    wait_for(lent.device.server, lent.device.serial)
    assert lent.device.stat([lent.folder / "f"], deadline=soon())[0]


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for what was ordered to have happened: on a busy computer it takes a while."""
    until = time.monotonic() + 20.0
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_an_unplugged_phone_is_lost_for_every_call(lent: Lent, scratch: Path) -> None:
    lent.faults(FaultPlan(unplugged=True))
    wait_until(lambda: lent.device.serial not in [seen.serial for seen in attached(lent.device.server) if seen.usable])
    path = lent.folder / "f"
    calls = [
        lambda: lent.device.shell("true", deadline=Deadline.after(5)),
        lambda: lent.device.push([PushItem(b"x", path)], deadline=Deadline.after(5)),
        lambda: lent.device.pull([PullItem(path, scratch / "f", 10)], deadline=Deadline.after(5)),
        lambda: lent.device.stat([path], deadline=Deadline.after(5)),
        lambda: lent.device.listing(path, deadline=Deadline.after(5)),
        lambda: lent.device.read(path, deadline=Deadline.after(5), max_bytes=10),
    ]
    for call in calls:
        with pytest.raises((LinkLost, DeadlinePassed)):
            call()


def test_the_phone_is_listed_once_and_opens(lent: Lent) -> None:
    listed = [seen for seen in attached(lent.device.server) if seen.serial == lent.device.serial]
    assert [(seen.state, seen.mend, seen.usable) for seen in listed] == [("device", "", True)]


@pytest.mark.parametrize(
    ("serial", "error"),
    [("NOSUCHPHONE", LinkLost), ("a b", LinkRefused), ("x;host:kill", LinkRefused), ("", LinkRefused)],
)
def test_serials_that_cannot_be_opened(lent: Lent, serial: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_device(lent.device.server, serial)


def test_a_lying_exit_code_does_not_make_a_push_a_success(lent: Lent) -> None:
    lent.faults(FaultPlan(shell_exit=ShellExit.WRONG))
    with pytest.raises(PhoneRefused):
        lent.device.push([PushItem(b"x", lent.folder / "f")], deadline=soon())

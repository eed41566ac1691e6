"""The file half of the port: what a phone can do wrong, and what must not be left behind."""

from __future__ import annotations

import os
import struct
import threading
from pathlib import Path

import pytest

from android_runner.adb.sending import finishing_command, parts_of, send_parts
from android_runner.adb.sync import checked_name, request
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem, PushItem
from android_runner.errors import DeadlinePassed, HostileAnswer, LinkLost, PhoneFull, PhoneRefused, TransferCorrupt
from tests.unit.adb.scripted import SERIAL, V2, Files, ScriptedPhone, Wire

TMP = PhonePath("/data/local/tmp")


def soon() -> Deadline:
    return Deadline.after(20)


def dent(name: bytes, claimed: int | None = None) -> bytes:
    return b"DENT" + struct.pack("<IIII", 0o100644, 1, 1, len(name) if claimed is None else claimed) + name


def left_on(phone: ScriptedPhone) -> list[str]:
    return sorted(str(path.relative_to(phone.root)) for path in phone.root.rglob("*") if path.is_file())


@pytest.mark.parametrize("features", [V2, ""])
def test_push_and_pull_sizes_that_matter(phone: ScriptedPhone, tmp_path: Path, features: str) -> None:
    phone.features = features
    device = phone.device()
    sizes = [0, 1, 65_535, 65_536, 65_537, 16 * 65_536, 16 * 65_536 + 1, 3_000_000]
    sources = [tmp_path / f"s{size}" for size in sizes]
    for source, size in zip(sources, sizes, strict=True):
        source.write_bytes(os.urandom(size))
    items = [PushItem(source, TMP / "deep" / source.name, 0o755) for source in sources]
    items += [PushItem(source.read_bytes(), TMP / "deep" / f"b{source.name}") for source in sources]
    pushed = device.push(items, deadline=soon())
    assert [one.size_bytes for one in pushed] == sizes * 2
    assert len(set(one.sha256 for one in pushed)) == len(sizes)
    assert len([name for name in left_on(phone) if ".part-" in name]) == 0
    assert phone.local(TMP / "deep" / "s1").stat().st_mode & 0o777 == 0o755
    assert phone.local(TMP / "deep" / "bs1").stat().st_mode & 0o777 == 0o644
    pulls = [PullItem(item.target, tmp_path / f"back{number}", 3_000_000) for number, item in enumerate(items)]
    assert device.pull(pulls, deadline=soon()) == [True] * len(items)
    assert [pull.target.read_bytes() for pull in pulls] == [source.read_bytes() for source in sources] * 2


def test_one_shell_call_finishes_a_push(phone: ScriptedPhone) -> None:
    phone.device().push([PushItem(b"x", TMP / str(number)) for number in range(20)], deadline=soon())
    assert len(phone.commands()) == 1


def test_pushing_nothing_asks_nothing(phone: ScriptedPhone) -> None:
    assert phone.device().push([], deadline=soon()) == []
    assert phone.device().pull([], deadline=soon()) == []
    assert phone.seen == []


@pytest.mark.parametrize(
    "name",
    ["a b", "quo'te", 'dou"ble', "semi;colon", "$(touch x)", "`id`", "-rf", "*", "né", "back\\slash", "#", "~", "!"],
)
def test_hostile_names_are_only_names(phone: ScriptedPhone, name: str, tmp_path: Path) -> None:
    device = phone.device()
    folder = TMP / f"d {name}"
    device.push([PushItem(b"content", folder / name)], deadline=soon())
    assert left_on(phone) == [f"data/local/tmp/d {name}/{name}"]
    assert [entry.name for entry in device.listing(folder, deadline=soon())] == [name]
    assert device.read(folder / name, deadline=soon(), max_bytes=7) == b"content"


@pytest.mark.parametrize("target", ["/a/../b", "/a/./b", "/a/b\n", "/a/\x1b", "/", "", "/a/", "/" + "x" * 256])
def test_targets_that_we_never_name_so(phone: ScriptedPhone, target: str) -> None:
    with pytest.raises(ValueError, match="name"):
        phone.device().push([PushItem(b"", PhonePath(target))], deadline=soon())
    assert phone.seen == []


@pytest.mark.parametrize("path", ["relative", "/nul\0", "/" + "x" * 1024])
def test_paths_that_the_protocol_cannot_carry(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        request(b"RECV", path)


def test_what_arrives_wrong_is_not_renamed(phone: ScriptedPhone) -> None:
    def corrupt(wire: Wire, service: str) -> None:
        files = Files(phone, wire)
        files.send(service.partition(":")[2])
        path = phone.local(service.partition(":")[2].rpartition(",")[0])
        path.write_bytes(b"X" + path.read_bytes()[1:])

    phone.scripts["sync-SEND:"] = corrupt
    with pytest.raises(TransferCorrupt, match="/data/local/tmp/a"):
        phone.device().push([PushItem(b"content", TMP / "a")], deadline=soon())
    assert left_on(phone) == []


def test_an_old_file_stays_when_the_new_one_is_corrupt(phone: ScriptedPhone) -> None:
    phone.local(TMP / "a").write_bytes(b"old")

    def forget(wire: Wire, service: str) -> None:
        Files(phone, wire).send(service.partition(":")[2])
        phone.local(service.partition(":")[2].rpartition(",")[0]).unlink()

    phone.scripts["sync-SEND:"] = forget
    with pytest.raises(PhoneRefused, match="No such file"):
        phone.device().push([PushItem(b"content", TMP / "a")], deadline=soon())
    assert phone.local(TMP / "a").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"write failed: No space left on device", PhoneFull),
        (b"Disk quota exceeded", PhoneFull),
        (b"couldn't create file: Permission denied", PhoneRefused),
        (b"couldn't create file: Read-only file system", PhoneRefused),
    ],
)
@pytest.mark.parametrize("early", [True, False])
def test_the_phones_words_are_kept(phone: ScriptedPhone, text: bytes, error: type[Exception], early: bool) -> None:
    def fail(wire: Wire, service: str) -> None:
        if not early:
            while struct.unpack("<4sI", head := wire.take(8))[0] != b"DONE":
                wire.take(struct.unpack("<4sI", head)[1])
        wire.give(struct.pack("<4sI", b"FAIL", len(text)) + text)
        wire.hang_up()

    phone.scripts["sync-SEND:"] = fail
    with pytest.raises(error, match=text.decode().partition(":")[2].strip() or text.decode()):
        phone.device().push([PushItem(os.urandom(2_000_000), TMP / "a")], deadline=soon())
    assert left_on(phone) == []


def test_one_bad_file_of_many_leaves_no_parts(phone: ScriptedPhone) -> None:
    phone.local(TMP / "taken").mkdir()
    items = [PushItem(b"1", TMP / "one"), PushItem(b"2", TMP / "taken")]
    with pytest.raises(PhoneRefused, match="Is a directory"):
        phone.device().push(items, deadline=soon())
    assert [name for name in left_on(phone) if "part" in name] == []


def test_folders_are_made_where_the_file_service_does_not(phone: ScriptedPhone) -> None:
    def strict(wire: Wire, service: str) -> None:
        files = Files(phone, wire)
        path = service.partition(":")[2]
        if phone.local(path).parent.is_dir():
            files.send(path)
            return
        while struct.unpack("<4sI", head := wire.take(8))[0] != b"DONE":
            wire.take(struct.unpack("<4sI", head)[1])
        files._fail("couldn't create file: No such file or directory")
        wire.hang_up()

    phone.scripts["sync-SEND:"] = strict
    assert phone.device().push([PushItem(b"x", TMP / "new" / "folder" / "f")], deadline=soon())
    assert left_on(phone) == ["data/local/tmp/new/folder/f"]


def test_a_phone_without_sha256sum_says_so(phone: ScriptedPhone, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "rm", "mv", "chmod"):
        (tools / tool).symlink_to(f"/bin/{tool}")
    phone.path, phone.shell = str(tools), ("/bin/sh", "-c")
    with pytest.raises(PhoneRefused, match="no sha256sum"):
        phone.device().push([PushItem(b"x", TMP / "f")], deadline=soon())
    assert left_on(phone) == []
    (tools / "busybox").symlink_to("/bin/busybox")
    assert phone.device().push([PushItem(b"x", TMP / "f")], deadline=soon())
    (tools / "busybox").unlink()
    (tools / "toybox").symlink_to("/usr/bin/toybox")
    assert phone.device().push([PushItem(b"y", TMP / "f")], deadline=soon())


def test_push_drop_leaves_nothing_under_the_final_name(phone: ScriptedPhone) -> None:
    def drop(wire: Wire, service: str) -> None:
        wire.take(100_000)
        wire.hang_up()

    phone.scripts["sync-SEND:"] = drop
    with pytest.raises(LinkLost):
        phone.device().push([PushItem(os.urandom(3_000_000), TMP / "a")], deadline=soon())
    assert left_on(phone) == []


def test_a_stalled_push_ends_at_its_deadline(phone: ScriptedPhone) -> None:
    phone.scripts["sync:"] = stalled
    with pytest.raises(DeadlinePassed):
        phone.device().push([PushItem(bytes(50_000_000), TMP / "a")], deadline=Deadline.after(0.5))


def stalled(wire: Wire, service: str) -> None:
    wire.give(b"OKAY")
    threading.Event().wait(3)


def test_a_source_that_cannot_be_read_is_ours(phone: ScriptedPhone, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        phone.device().push([PushItem(b"1", TMP / "a"), PushItem(tmp_path / "none", TMP / "b")], deadline=soon())
    assert left_on(phone) == []


def test_pull_where_some_are_missing(phone: ScriptedPhone, tmp_path: Path) -> None:
    for number in range(0, 300, 3):
        phone.local(TMP / str(number)).write_bytes(b"x" * number)
    items = [PullItem(TMP / str(number), tmp_path / str(number), 300) for number in range(300)]
    found = phone.device().pull(items, deadline=soon())
    assert found == [number % 3 == 0 for number in range(300)]
    assert sorted(int(path.name) for path in tmp_path.iterdir() if path.name != "phone") == list(range(0, 300, 3))


def test_pull_above_its_bound_leaves_nothing(phone: ScriptedPhone, tmp_path: Path) -> None:
    phone.local(TMP / "big").write_bytes(bytes(200_000))
    (tmp_path / "out").mkdir()
    with pytest.raises(HostileAnswer, match="larger"):
        phone.device().pull([PullItem(TMP / "big", tmp_path / "out" / "big", 199_999)], deadline=soon())
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(HostileAnswer):
        phone.device().read(TMP / "big", deadline=soon(), max_bytes=100)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (struct.pack("<4sI", b"DATA", 65_537) + bytes(65_537), HostileAnswer),
        (struct.pack("<4sI", b"DATA", 0xFFFFFFFF), HostileAnswer),
        (struct.pack("<4sI", b"JUNK", 4), HostileAnswer),
        (struct.pack("<4sI", b"FAIL", 0xFFFFFFF), HostileAnswer),
        (struct.pack("<4sI", b"DATA", 100) + b"short", LinkLost),
        (b"DA", LinkLost),
        (b"", LinkLost),
        (struct.pack("<4sI", b"FAIL", 17) + b"Permission denied", PhoneRefused),
    ],
)
def test_pull_of_lies(phone: ScriptedPhone, tmp_path: Path, answer: bytes, error: type[Exception]) -> None:
    target = tmp_path / "out" / "f"
    target.parent.mkdir()

    def lie(wire: Wire, service: str) -> None:
        wire.give(answer)
        wire.hang_up()

    phone.scripts["sync-RECV:"] = lie
    with pytest.raises(error):
        phone.device().pull([PullItem(TMP / "f", target, 10**6)], deadline=soon())
    assert list(target.parent.iterdir()) == []


def test_pull_keeps_what_was_there_when_the_phone_has_none(phone: ScriptedPhone, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    assert phone.device().pull([PullItem(TMP / "f", tmp_path / "f", 10)], deadline=soon()) == [False]
    assert (tmp_path / "f").read_bytes() == b"old"


@pytest.mark.parametrize("name", [b"../../x", b"a/b", b"/etc/passwd", b"", b"a\0b", b"\xff\xfe", b"x" * 256])
def test_hostile_names_in_a_listing(phone: ScriptedPhone, name: bytes) -> None:
    phone.features = ""
    phone.scripts["sync-LIST:"] = lambda wire, service: wire.give(dent(b"fine") + dent(name) + b"DONE" + bytes(16))
    with pytest.raises(HostileAnswer):
        phone.device().listing(TMP, deadline=soon())


def test_listing_that_lies_about_lengths(phone: ScriptedPhone) -> None:
    phone.features = ""
    phone.scripts["sync-LIST:"] = lambda wire, service: wire.give(dent(b"x", claimed=0xFFFFFFFF))
    with pytest.raises(HostileAnswer):
        phone.device().listing(TMP, deadline=soon())


def test_endless_listing_ends(phone: ScriptedPhone) -> None:
    def endless(wire: Wire, service: str) -> None:
        block = b"".join(dent(b"%d" % number) for number in range(1000))
        while True:
            wire.give(block)

    phone.features = ""
    phone.scripts["sync-LIST:"] = endless
    with pytest.raises(HostileAnswer, match="more than"):
        phone.device().listing(TMP, deadline=soon())


@pytest.mark.parametrize("features", [V2, ""])
def test_listing_and_stat(phone: ScriptedPhone, features: str) -> None:
    phone.features = features
    device = phone.device()
    phone.local(TMP / "f").write_bytes(b"12345")
    phone.local(TMP / "d").mkdir()
    entries = {entry.name: entry.stat for entry in device.listing(TMP, deadline=soon())}
    assert set(entries) == {"f", "d"}
    assert entries["f"].size_bytes == 5
    assert entries["d"].is_dir()
    assert device.listing(TMP / "none", deadline=soon()) == []
    paths = [TMP / ("f" if number % 2 else "none") for number in range(500)]
    stats = device.stat([*paths, TMP / "f" / "below"], deadline=soon())
    assert [stat is not None for stat in stats] == [number % 2 == 1 for number in range(500)] + [False]
    assert stats[1] is not None and stats[1].is_file() and stats[1].size_bytes == 5  # noqa: PT018 - one fact


def test_stat_that_may_not_be_asked_is_refused(phone: ScriptedPhone) -> None:
    phone.scripts["sync-STA2:"] = lambda wire, service: wire.give(b"STA2" + struct.pack("<IQQIIIIQqqq", 13, *[0] * 10))
    with pytest.raises(PhoneRefused, match="error 13"):
        phone.device().stat([TMP], deadline=soon())


def test_reading_calls_share_one_session_and_survive_its_end(phone: ScriptedPhone) -> None:
    device = phone.device()
    wires: list[Wire] = []
    phone.scripts["sync-STA2:/data"] = lambda wire, service: (wires.append(wire), Files(phone, wire).sta2("/data"))[0]
    for _ in range(5):
        device.stat([PhonePath("/data")], deadline=soon())
    assert phone.seen.count("sync:") == 1
    wires[-1].hang_up()
    assert device.stat([PhonePath("/data")], deadline=soon())[0] is not None
    assert phone.seen.count("sync:") == 2
    device.close()
    assert device.stat([PhonePath("/data")], deadline=soon())[0] is not None


def test_a_session_is_not_used_again_after_an_error(phone: ScriptedPhone) -> None:
    device = phone.device()
    phone.local(TMP / "f").write_bytes(bytes(100_000))
    with pytest.raises(HostileAnswer):
        device.read(TMP / "f", deadline=soon(), max_bytes=10)
    assert device.read(TMP / "f", deadline=soon(), max_bytes=100_000) == bytes(100_000)


def test_an_answer_cut_short_is_not_asked_for_again(phone: ScriptedPhone) -> None:
    device = phone.device()
    device.stat([TMP], deadline=soon())

    def cut(wire: Wire, service: str) -> None:
        wire.give(b"STA2" + bytes(10))
        wire.hang_up()

    phone.scripts["sync-STA2:"] = cut
    with pytest.raises(LinkLost):
        device.stat([TMP], deadline=soon())


def test_names_of_a_listing() -> None:
    assert checked_name(SERIAL, b".") is None
    assert checked_name(SERIAL, b"..") is None
    assert checked_name(SERIAL, b"...") == "..."
    assert checked_name(SERIAL, "né \n".encode()) == "né \n"


def test_the_finishing_command_of_many_files_is_split(phone: ScriptedPhone) -> None:
    items = [PushItem(b"%d" % number, TMP / ("n" * 200 + str(number))) for number in range(150)]
    assert len(phone.device().push(items, deadline=soon())) == 150
    assert 1 < len(phone.commands()) < 8
    assert len([name for name in left_on(phone) if "part" in name]) == 0


def test_nothing_is_renamed_before_all_of_a_batch_is_proven(phone: ScriptedPhone) -> None:
    device = phone.device()
    parts = parts_of([PushItem(b"a", TMP / "a"), PushItem(b"b", TMP / "b")], "nonce")
    session = device._new_session(soon())
    sent = send_parts(session, SERIAL, parts, soon())
    session.close()
    phone.local(parts[1].temporary).write_bytes(b"changed")
    assert device.shell(finishing_command(sent), deadline=soon()).exit_code == 98
    assert not phone.local(TMP / "a").exists()

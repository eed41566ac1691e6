"""No path leaves a phone's root, whatever its links and dots say."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.virtual.phone_fs import PhoneFs


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    return secret


@pytest.fixture
def fs(tmp_path: Path, outside: Path) -> PhoneFs:
    root = tmp_path / "root"
    (root / "data/local/tmp").mkdir(parents=True)
    (root / "system").mkdir()
    (root / "system/build").write_text("b")
    (root / "storage/emulated/0").mkdir(parents=True)
    (root / "sdcard").symlink_to("/storage/emulated/0")
    return PhoneFs(root)


def _write(fs: PhoneFs, path: str, data: bytes = b"x") -> None:
    fd = fs.create(path, 0o644)
    os.write(fd, data)
    os.close(fd)


def _read(fs: PhoneFs, path: str) -> bytes:
    fd = fs.open_for_reading(path)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def test_dots_stop_at_the_root(fs: PhoneFs) -> None:
    for path in ("../../secret", "/../../../secret", "/data/local/tmp/../../../../secret"):
        with pytest.raises(OSError, match="No such file") as caught:
            fs.open_for_reading(path)
        assert caught.value.errno == errno.ENOENT


@pytest.mark.parametrize("relative", [True, False])
def test_links_that_leave_are_not_followed(fs: PhoneFs, outside: Path, relative: bool) -> None:
    target = "../../../../secret" if relative else str(outside)
    (fs.root / "data/local/tmp/link").symlink_to(target)
    with pytest.raises(FileNotFoundError):
        fs.open_for_reading("/data/local/tmp/link")
    (fs.root / "data/local/tmp/folder").symlink_to(str(outside.parent))
    with pytest.raises(FileNotFoundError):
        fs.open_for_reading("/data/local/tmp/folder/secret")
    with pytest.raises(OSError, match=r"No such file|Permission denied"):
        _write(fs, "/data/local/tmp/folder/made")
    assert sorted(path.name for path in outside.parent.iterdir()) == ["root", "secret"]


def test_a_push_replaces_a_link_and_does_not_write_through_it(fs: PhoneFs, outside: Path) -> None:
    (fs.root / "data/local/tmp/link").symlink_to(outside)
    _write(fs, "/data/local/tmp/link", b"pushed")
    assert outside.read_text() == "outside"
    assert not (fs.root / "data/local/tmp/link").is_symlink()
    assert _read(fs, "/data/local/tmp/link") == b"pushed"


def test_absolute_links_mean_the_phones_root(fs: PhoneFs) -> None:
    _write(fs, "/sdcard/file", b"photo")
    assert (fs.root / "storage/emulated/0/file").read_bytes() == b"photo"
    assert _read(fs, "/sdcard/file") == b"photo"
    (fs.root / "data/local/tmp/inside").symlink_to(str(fs.root / "storage/emulated/0/file"))
    assert _read(fs, "/data/local/tmp/inside") == b"photo"


def test_loops_end(fs: PhoneFs) -> None:
    (fs.root / "data/local/tmp/a").symlink_to("b")
    (fs.root / "data/local/tmp/b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught:
        fs.open_for_reading("/data/local/tmp/a")
    assert caught.value.errno == errno.ELOOP


def test_the_shell_user_writes_where_a_phone_lets_it(fs: PhoneFs) -> None:
    _write(fs, "/data/local/tmp/new/deep/file")
    for path, number in (("/system/x", errno.EROFS), ("/data/x", errno.EACCES), ("/x", errno.EACCES)):
        with pytest.raises(OSError, match=r".") as caught:
            _write(fs, path)
        assert caught.value.errno == number
    fs.superuser = True
    _write(fs, "/data/x")


def test_a_folder_is_no_file(fs: PhoneFs) -> None:
    with pytest.raises(IsADirectoryError):
        fs.open_for_reading("/data/local/tmp")
    with pytest.raises(OSError, match=r"."):
        _write(fs, "/data/local/tmp")
    with pytest.raises(NotADirectoryError):
        fs.open_for_reading("/system/build/x")


def test_an_unreadable_file_is_refused_also_to_root(fs: PhoneFs) -> None:
    _write(fs, "/data/local/tmp/closed")
    (fs.root / "data/local/tmp/closed").chmod(0)
    with pytest.raises(PermissionError):
        fs.open_for_reading("/data/local/tmp/closed")


def test_a_pipe_does_not_hang_it(fs: PhoneFs) -> None:
    os.mkfifo(fs.root / "data/local/tmp/pipe")
    with pytest.raises(PermissionError):
        fs.open_for_reading("/data/local/tmp/pipe")


def test_no_descriptor_is_left(fs: PhoneFs) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("/data/local/tmp/none", "/sdcard/../x/y", "/data/local", "/system/build/x"):
        for act in (fs.open_for_reading, lambda p: fs.stat(p, follow=True), fs.listing):
            try:
                found = act(path)
            except OSError:
                continue
            if isinstance(found, int):
                os.close(found)
    assert len(os.listdir("/proc/self/fd")) == before


@given(parts=st.lists(st.sampled_from(["..", ".", "", "data", "local", "tmp", "up", "abs", "sdcard", "secret"])))
def test_whatever_the_path_it_stays_inside(parts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("fs")
    (base / "secret").write_text("outside")
    root = base / "root"
    (root / "data/local/tmp").mkdir(parents=True)
    (root / "data/local/tmp/up").symlink_to("../../../..")
    (root / "data/local/tmp/abs").symlink_to(base)
    fs = PhoneFs(root)
    try:
        with fs.place("/".join(parts), make_parents=True) as place:
            at = Path(os.readlink(f"/proc/self/fd/{place.folder}"))
            assert at == root or at.is_relative_to(root)
            assert "/" not in place.name
            assert place.name != ".."
    except OSError:
        pass


def test_used_and_free_bytes(fs: PhoneFs) -> None:
    bounded = PhoneFs(fs.root, storage_bytes=1000)
    _write(bounded, "/data/local/tmp/f", b"x" * 300)
    assert bounded.free_bytes() == 700
    assert fs.free_bytes() is None

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from orchestrator.app.binaries.taking import MAX_FILE_BYTES, PERF_TEST, RUNTIME, take
from orchestrator.errors import UsageError

ELF = b"\x7fELF" + bytes(60)


def refused(source: Path, into: Path) -> str:
    folder = into / "scratch"
    folder.mkdir()
    with pytest.raises(UsageError) as caught:
        take(source, folder)
    assert str(source) in str(caught.value)
    return str(caught.value)


def tar_of(path: Path, *members: tarfile.TarInfo, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member in members:
            archive.addfile(member, io.BytesIO(ELF[: member.size]))
    return path


def plain(name: str, size: int = len(ELF)) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_of_each_kind(tmp_path: Path, mode: str) -> None:
    source = tar_of(tmp_path / "a.tar", plain("b/README"), plain(f"b/arm64-v8a/{PERF_TEST}"), mode=mode)
    (tmp_path / "into").mkdir()
    (found,) = take(source, tmp_path / "into")
    assert (found.place, found.name, found.path.read_bytes()) == (f"b/arm64-v8a/{PERF_TEST}", PERF_TEST, ELF)


def test_a_zip_and_a_folder_with_links(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.aar", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("classes.jar", b"x")
        archive.writestr(f"jni/x86_64/{RUNTIME}", ELF)
    (tmp_path / "into").mkdir()
    (found,) = take(tmp_path / "a.aar", tmp_path / "into")
    assert (found.place, found.path.read_bytes()) == (f"jni/x86_64/{RUNTIME}", ELF)
    folder = tmp_path / "build" / "Release"
    folder.mkdir(parents=True)
    (folder / "libonnxruntime.so.1.23.2").write_bytes(ELF)
    (folder / RUNTIME).symlink_to("libonnxruntime.so.1.23.2")
    (folder / "around").symlink_to("..", target_is_directory=True)
    assert [one.place for one in take(tmp_path / "build", tmp_path / "into")] == [f"Release/{RUNTIME}"]


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "C:/x", "..\\x", f"../{PERF_TEST}"])
def test_what_would_lie_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    assert "would lie outside" in refused(tar_of(tmp_path / "a.tar", plain(name)), tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, ELF)
    (tmp_path / "scratch").rmdir()
    assert "would lie outside" in refused(tmp_path / "a.zip", tmp_path)


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (special(PERF_TEST, tarfile.SYMTYPE, "/etc/shadow"), "a link to /etc/shadow"),
        (special(PERF_TEST, tarfile.LNKTYPE, "other"), "a link to other"),
        (special(PERF_TEST, tarfile.FIFOTYPE), "no plain file"),
        (special(PERF_TEST, tarfile.CHRTYPE), "no plain file"),
        (plain(PERF_TEST, 0), "has 0 bytes"),
    ],
)
def test_what_is_no_plain_file_is_refused(tmp_path: Path, member: tarfile.TarInfo, why: str) -> None:
    assert why in refused(tar_of(tmp_path / "a.tar", member), tmp_path)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = plain(name, size)
    member.type = kind
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (header(PERF_TEST, MAX_FILE_BYTES + 1), "are taken"),
        (header("other", 2**50), "unpacks to more than"),
        (header("././@LongLink", 2**40, tarfile.GNUTYPE_LONGNAME), "a header of"),
        (header("pax", 2**33, tarfile.XHDTYPE), "a header of"),
        (header(PERF_TEST, 4096) + bytes(512), "not as long as it says|unexpected end"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_sizes_that_a_tar_lies_about(tmp_path: Path, content: bytes, why: str, packed: bool) -> None:
    import gzip
    import re

    (tmp_path / "a.tar").write_bytes(gzip.compress(content) if packed else content)
    assert re.search(why, refused(tmp_path / "a.tar", tmp_path))


def test_a_zip_that_unpacks_to_more_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PERF_TEST, bytes(5_000_000))
    content = bytearray(path.read_bytes())
    at = bytes(content).rindex(b"PK\x01\x02") + 24
    struct.pack_into("<I", content, at, 100)
    path.write_bytes(content)
    assert "a.zip" in refused(path, tmp_path)


def test_links_and_passwords_in_a_zip(tmp_path: Path) -> None:
    link = zipfile.ZipInfo(RUNTIME)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/shadow")
    assert "is a link" in refused(tmp_path / "link.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as archive:
        archive.writestr(RUNTIME, ELF)
    content = bytearray((tmp_path / "locked.zip").read_bytes())
    content[bytes(content).rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    (tmp_path / "scratch").rmdir()
    assert "is encrypted" in refused(tmp_path / "locked.zip", tmp_path)


def test_what_is_none_of_them_or_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no archive")
    assert "is no program, folder, tar" in refused(tmp_path / "text", tmp_path)
    for name, mend in (("none", "is not there"), ("empty", "none of")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        (tmp_path / "scratch").rmdir()
        assert mend in refused(tmp_path / name, tmp_path)
    whole = tar_of(tmp_path / "a.tgz", plain(PERF_TEST), mode="w:gz").read_bytes()
    (tmp_path / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "scratch").rmdir()
    assert "damaged archive" in refused(tmp_path / "cut.tgz", tmp_path)

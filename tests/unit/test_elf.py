from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from android_runner.elf import BinaryFile, inspect_binary, mismatch, missing_libraries
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion
from tests.unit.crafted_elf import AARCH64, ANDROID_LINKER, ARM, X86, X86_64, elf


def written(folder: Path, content: bytes, name: str = "perf") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def inspected(folder: Path, content: bytes, name: str = "perf") -> BinaryFile:
    return inspect_binary(written(folder, content, name))


@pytest.mark.parametrize(
    ("machine", "bits", "interpreter", "abi"),
    [
        (AARCH64, 64, ANDROID_LINKER, "arm64-v8a"),
        (ARM, 32, "/system/bin/linker", "armeabi-v7a"),
        (X86_64, 64, ANDROID_LINKER, "x86_64"),
        (X86, 32, "/system/bin/linker", "x86"),
        (AARCH64, 64, "/apex/com.android.runtime/bin/linker64", "arm64-v8a"),
        (X86_64, 64, "/lib64/ld-linux-x86-64.so.2", "linux-x86_64"),
        (AARCH64, 64, "/lib/ld-musl-aarch64.so.1", "linux-aarch64"),
        (243, 64, "/lib/ld-linux-riscv64-lp64d.so.1", "riscv"),
    ],
)
def test_each_abi_has_its_name(tmp_path: Path, machine: int, bits: int, interpreter: str, abi: str) -> None:
    found = inspected(tmp_path, elf(machine, interpreter, bits=bits))
    assert (found.kind, found.bits, found.interpreter, found.exec_abi) == ("elf", bits, interpreter, abi)
    assert found.is_executable


def test_what_an_android_program_needs(tmp_path: Path) -> None:
    needed = ("libonnxruntime.so", "libc++_shared.so", "liblog.so", "libc.so")
    found = inspected(tmp_path, elf(interpreter=ANDROID_LINKER, needed=needed, api=27, tail=b"\0VERS_1.23.2\0"))
    assert (found.needed, found.android_api, found.ort_version) == (needed, 27, OrtVersion(1, 23, 2))
    assert missing_libraries(found, []) == ["libonnxruntime.so", "libc++_shared.so"]
    runtime = written(tmp_path, elf(soname="libonnxruntime.so"), "libonnxruntime.so")
    shared = written(tmp_path, elf(), "libc++_shared.so")
    assert missing_libraries(found, [runtime]) == ["libc++_shared.so"]
    assert missing_libraries(found, [runtime, shared]) == []


def test_a_library_under_another_name_does_not_count(tmp_path: Path) -> None:
    found = inspected(tmp_path, elf(X86_64, "/lib64/ld-linux-x86-64.so.2", ("libonnxruntime.so", "libstdc++.so.6")))
    wheel = written(tmp_path, elf(X86_64), "libonnxruntime.so.1.21.0")
    assert missing_libraries(found, [wheel]) == ["libonnxruntime.so"]


def test_what_a_given_library_needs_counts_too(tmp_path: Path) -> None:
    found = inspected(tmp_path, elf(interpreter=ANDROID_LINKER, needed=("libonnxruntime.so",)))
    runtime = written(tmp_path, elf(needed=("libc++_shared.so", "libm.so")), "libonnxruntime.so")
    assert missing_libraries(found, [runtime]) == ["libc++_shared.so"]


def test_a_lone_library_is_no_program(tmp_path: Path) -> None:
    found = inspected(tmp_path, elf(soname="libonnxruntime.so", api=24))
    assert (found.is_executable, found.soname, found.exec_abi) == (False, "libonnxruntime.so", "arm64-v8a")


def test_a_static_program_tells_its_runtime(tmp_path: Path) -> None:
    words = (
        b"\x001.2.13\x00SequentialExecutor::Execute\0_kernel_time\0ORT Build Info: git-branch=x\0"
        b"\x001.23.2\x00NnapiExecutionProvider::GetCapability\0"
    )
    found = inspected(tmp_path, elf(interpreter=ANDROID_LINKER, tail=words))
    assert (found.ort_version, found.has_nnapi, found.replay_key) == (OrtVersion(1, 23, 2), True, False)
    two = inspected(tmp_path, elf(interpreter=ANDROID_LINKER, tail=words + b"\x001.22.0\x00"))
    assert two.ort_version is None


def test_a_script_names_its_interpreter(tmp_path: Path) -> None:
    found = inspected(tmp_path, b"#!/usr/bin/python3 -IS\nprint()\n")
    assert (found.kind, found.interpreter, found.exec_abi, found.is_executable) == (
        "script", "/usr/bin/python3", None, True
    )  # fmt: skip


def test_libraries_must_go_with_the_program(tmp_path: Path) -> None:
    needed = ("libonnxruntime.so", "libc.so")
    program = inspected(tmp_path, elf(interpreter=ANDROID_LINKER, needed=needed, api=27, tail=b"\0VERS_1.21.0\0"))
    same = inspected(tmp_path, elf(api=27, tail=b"\0VERS_1.21.0\0"), "libonnxruntime.so")
    newer = inspected(tmp_path, elf(api=27, tail=b"\0VERS_1.31.1\0"), "libonnxruntime.so")
    narrow = inspected(tmp_path, elf(ARM, api=27, bits=32), "libonnxruntime.so")
    assert mismatch(program, [same]) is None
    assert "asks for onnxruntime 1.21.0, libonnxruntime.so is 1.31.1" in str(mismatch(program, [newer]))
    glibc = inspected(tmp_path, elf(needed=("libc.so.6",)), "libonnxruntime.so")
    unmarked = inspected(tmp_path, elf(needed=("libc.so",)), "libonnxruntime.so")
    of_the_dsp = inspected(tmp_path, elf(164, bits=32), "libQnnHtpV73Skel.so")
    assert "built for armeabi-v7a" in str(mismatch(program, [narrow]))
    assert "built for linux-aarch64, perf for arm64-v8a" in str(mismatch(program, [glibc]))
    assert mismatch(program, [unmarked, of_the_dsp]) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"MZ\x90\0", "neither an ELF file nor a script"),
        (b"#!\n", "names no interpreter"),
        (b"\x7fELF", "damaged or cut"),
        (b"\x7fELF" + bytes(60), "damaged or cut"),
        (elf(interpreter=ANDROID_LINKER, needed=("a.so",))[:150], "damaged or cut"),
    ],
)
def test_what_is_no_program_is_refused_with_file_and_mend(tmp_path: Path, content: bytes, why: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BinaryUnusable, match=why) as caught:
        inspect_binary(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(BinaryUnusable, match="cannot be read"):
            inspect_binary(path)


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_lies_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(
        elf(interpreter=ANDROID_LINKER, needed=("libonnxruntime.so", "libc.so"), soname="x", api=27, tail=bytes(40))
    )
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(4, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(5, len(content))) :]
    try:
        found = inspected(tmp_path, bytes(content))
    except BinaryUnusable as error:
        said = str(error)
    else:
        said = f"{found.interpreter}{found.soname}{''.join(found.needed)}"
    assert said.isprintable()


TRUE = os.environ.get("ORCH_PERF_TEST", "")


@pytest.mark.skipif(not TRUE, reason="ORCH_PERF_TEST names no true onnxruntime_perf_test")
def test_the_true_perf_test() -> None:
    found = inspect_binary(Path(TRUE))
    assert (found.exec_abi, found.is_executable, str(found.ort_version)) == ("linux-x86_64", True, "1.21.0")
    assert missing_libraries(found, []) == ["libonnxruntime.so"]


def test_the_page_is_the_least_alignment_of_what_is_loaded(tmp_path: Path) -> None:
    found = inspected(tmp_path, elf(needed=("libc.so",), api=27, page=16384))
    assert (found.page_bytes, found.position_independent, found.text_relocations) == (16384, True, False)
    assert inspected(tmp_path, elf(page=4096)).page_bytes == 4096
    apart = elf(page=16384)  # loaded 4 KB behind where its offset would have it
    at = 64 + 56 + 16  # the second program header's p_vaddr
    assert inspected(tmp_path, patched(apart, at, "<Q", 4096)).page_bytes == 4096
    assert inspected(tmp_path, elf(kind=2, interpreter=ANDROID_LINKER)).position_independent is False


def test_text_relocations_are_seen_in_either_tag(tmp_path: Path) -> None:
    for tag in ((22, 0), (30, 4)):
        assert inspected(tmp_path, elf(needed=("libc.so",), more_tags=(tag,))).text_relocations


def patched(content: bytes, at: int, layout: str, *values: int) -> bytes:
    changed = bytearray(content)
    struct.pack_into(layout, changed, at, *values)
    return bytes(changed)


PROGRAM = elf(interpreter=ANDROID_LINKER, needed=("libonnxruntime.so", "libc.so"), api=27)


@pytest.mark.parametrize(
    "content",
    [
        patched(PROGRAM, 0x38, "<H", 0xFFFF),  # e_phnum
        patched(PROGRAM, 0x20, "<Q", 2**63),  # e_phoff
        patched(PROGRAM, 0x36, "<H", 1),  # e_phentsize
        patched(PROGRAM, 64 + 32, "<Q", 2**64 - 1),  # PT_INTERP's p_filesz
        patched(PROGRAM, 64 + 8, "<Q", 2**40),  # its p_offset
        elf(needed=("a.so",), page=3),
        elf(needed=("a.so",), more_tags=tuple((1, 1) for _ in range(300))),
        patched(elf(needed=("a.so",)), elf(needed=("a.so",)).index(struct.pack("<Q", 5)) + 8, "<Q", 2**62),
    ],
)
def test_sizes_and_places_that_cannot_be_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BinaryUnusable, match="damaged or cut"):
        inspected(tmp_path, content)


@pytest.mark.parametrize(
    "table",
    [
        (2**63, 64, 0xFFFF, 0xFFFE),
        (2**40, 0xFFFF, 10, 5),
        (0, 64, 0, 0),
        (16, 0, 0xFFFF, 1),
        (64, 64, 0xFF00, 0xFF01),
        (64, 1, 3, 0xFFFF),
    ],
)
def test_a_hostile_section_table_is_no_matter(tmp_path: Path, table: tuple[int, int, int, int]) -> None:
    """Phones don't read sections, and strip removes them: read, or refused as damaged, at once."""
    offset, *sizes = table
    content = patched(patched(PROGRAM, 0x28, "<Q", offset), 0x3A, "<HHH", *sizes)
    with contextlib.suppress(BinaryUnusable):
        assert inspected(tmp_path, content).needed == ("libonnxruntime.so", "libc.so")


def test_names_without_an_end_are_cut(tmp_path: Path) -> None:
    long = elf(needed=("a.so",), tail=b"x" * 4_000_000, more_tags=tuple((1, 1) for _ in range(200)))
    found = inspected(tmp_path, long.replace(b"\0a.so\0", b"\0a.soa"))
    assert max(map(len, found.needed)) <= 512


def test_each_first_part_of_a_file_is_read_or_refused(tmp_path: Path) -> None:
    for size in range(4, len(PROGRAM), 7):
        with contextlib.suppress(BinaryUnusable):
            inspected(tmp_path, PROGRAM[:size])

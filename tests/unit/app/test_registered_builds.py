from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from orchestrator.app.binaries import registry
from orchestrator.app.binaries.words import build_lines, check_lines
from orchestrator.errors import UsageError
from orchestrator.home import Home
from tests.unit.crafted_elf import AARCH64, ANDROID_LINKER, ARM, elf

USAGE = b"perf_test [options...] model_path [result_file]\n\t-C: Specify session\0"
RUNTIME_WORDS = (
    b"Failed to load model because protobuf parsing failed.\0"
    b"ORT Build Info: git-branch=HEAD, git-commit-id=0123456789, build type=Release\0"
    b"onnxruntime/core/providers/nnapi/nnapi_builtin/nnapi_execution_provider.cc\0"
)
PERF_TEST, RUNTIME = "onnxruntime_perf_test", "libonnxruntime.so"
NEEDS = (RUNTIME, "liblog.so", "libc.so")


def program(version: str = "1.23.2", machine: int = AARCH64, kind: int = 3, page: int = 16384) -> bytes:
    tail = USAGE + b"\0VERS_" + version.encode() + b"\0"
    bits = 64 if machine == AARCH64 else 32
    linker = ANDROID_LINKER if bits == 64 else "/system/bin/linker"
    return elf(machine, linker, NEEDS, api=27, tail=tail, kind=kind, page=page, bits=bits)


def library(version: str = "1.23.2", machine: int = AARCH64, page: int = 16384) -> bytes:
    tail = RUNTIME_WORDS + b"\0VERS_" + version.encode() + b"\0"
    bits = 64 if machine == AARCH64 else 32
    return elf(machine, needed=("liblog.so", "libc.so"), soname=RUNTIME, api=24, tail=tail, page=page, bits=bits)


def folder_of(path: Path, **files: bytes) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (path / {"perf_test": PERF_TEST, "runtime": RUNTIME}[name]).write_bytes(content)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / "home"
    root.mkdir()
    return Home(root)


def test_a_zip_of_two_abis_becomes_two_builds(home: Home, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for abi, machine in (("arm64-v8a", AARCH64), ("armeabi-v7a", ARM)):
            archive.writestr(f"{abi}/{PERF_TEST}", program(machine=machine))
            archive.writestr(f"{abi}/{RUNTIME}", library(machine=machine))
    added = registry.add(home, tmp_path / "a.zip")
    assert [(one.name, one.facts.abi) for one in added] == [("ort-1.23.2", "arm64-v8a"), ("ort-1.23.2", "armeabi-v7a")]
    assert registry.registered(home) == added
    facts = added[0].facts
    assert (facts.kind, facts.dialect, facts.eps, facts.commit) == ("full", "mid", ("cpu", "nnapi"), "0123456789")
    assert (facts.android_api, facts.page_bytes, facts.ort_version) == (27, 16384, "1.23.2")
    assert added[0].path(PERF_TEST).read_bytes() == program()
    assert added[0].path(PERF_TEST).stat().st_mode & 0o111
    assert registry.add(home, tmp_path / "a.zip") == added
    assert "ort-1.23.2  arm64-v8a  onnxruntime 1.23.2, full, Release" in build_lines(added[0])[0]
    assert [one.problems for one in map(registry.check, added)] == [(), ()]
    assert registry.remove(home, "ort-1.23.2") == added
    assert registry.registered(home) == []
    assert [one.name for one in (home.binaries / "registered").iterdir()] == []


@pytest.mark.parametrize(
    ("perf_test", "runtime", "why"),
    [
        (program("1.24.1"), library("1.23.2"), "is of 1.24.1, libonnxruntime.so of 1.23.2: the library lacks"),
        (program("1.21.0"), library("1.23.2"), "asks for onnxruntime 1.21.0, libonnxruntime.so is 1.23.2"),
        (program(kind=2), library(), r"not position-independent \(PIE\)"),
        (program().replace(USAGE, bytes(len(USAGE))), library(), "no usage text of onnxruntime_perf_test"),
        (library(), library(), "is a shared library, no program"),
        (program()[:300], library(), "damaged or cut"),
        (b"#!/bin/sh\n", library(), "is a script"),
    ],
)
def test_what_does_not_go_together_is_refused_whole(
    home: Home, tmp_path: Path, perf_test: bytes, runtime: bytes, why: str
) -> None:
    source = folder_of(tmp_path / "build", perf_test=perf_test, runtime=runtime)
    with pytest.raises(UsageError, match=why):
        registry.add(home, source)
    assert registry.registered(home) == []
    assert list((home.binaries / "registered").iterdir()) == []
    (checked, *_) = registry.check_path(source)
    assert any(checked.problems)
    assert "unusable: " in check_lines(checked)[-1]


def test_a_lone_program_asks_for_its_library_and_takes_it(home: Home, tmp_path: Path) -> None:
    source = folder_of(tmp_path / "a", perf_test=program()) / PERF_TEST
    with pytest.raises(UsageError, match=r"needs libonnxruntime.so .*--with"):
        registry.add(home, source)
    runtime = folder_of(tmp_path / "b", runtime=library()) / RUNTIME
    stub = tmp_path / "libQnnHtpV73Skel.so"
    stub.write_bytes(elf(164, bits=32))
    (build,) = registry.add(home, source, "mine", [runtime, stub])
    assert (build.name, set(build.files)) == ("mine", {PERF_TEST, RUNTIME, stub.name})
    with pytest.raises(UsageError, match="is not a file"):
        registry.add(home, source, "x", [tmp_path / "none.so"])


def test_a_library_alone_is_kept_as_one(home: Home, tmp_path: Path) -> None:
    (build,) = registry.add(home, folder_of(tmp_path / "a", runtime=library(page=4096)))
    assert build.name == "ort-1.23.2-lib"
    assert any("no program" in one for one in build.remarks)
    assert any("phones with pages of 16384" in one for one in build.remarks)


def test_a_name_stands_for_one_build_of_an_abi(home: Home, tmp_path: Path) -> None:
    registry.add(home, folder_of(tmp_path / "a", perf_test=program(), runtime=library()))
    other = folder_of(tmp_path / "b", perf_test=program(), runtime=library(page=4096))
    with pytest.raises(UsageError, match="is another build already"):
        registry.add(home, other)
    registry.add(home, other, "small-pages")
    assert [one.name for one in registry.registered(home)] == ["ort-1.23.2", "small-pages"]
    for name in ("../x", " ", "a b", "-x"):
        with pytest.raises(UsageError, match="is no name"):
            registry.add(home, other, name)
    with pytest.raises(UsageError, match=r"registered: ort-1\.23\.2, small-pages"):
        registry.remove(home, "none")


def test_two_files_of_one_name_and_abi(home: Home, tmp_path: Path) -> None:
    folder_of(tmp_path / "a" / "x", runtime=library())
    folder_of(tmp_path / "a" / "y", runtime=library())
    assert len(registry.add(home, tmp_path / "a", "same")) == 1
    folder_of(tmp_path / "a" / "y", runtime=library("1.22.0"))
    with pytest.raises(UsageError, match="two different files: "):
        registry.add(home, tmp_path / "a", "other")


def test_what_was_changed_in_the_home_is_seen(home: Home, tmp_path: Path) -> None:
    (build,) = registry.add(home, folder_of(tmp_path / "a", perf_test=program(), runtime=library()))
    build.path(RUNTIME).write_bytes(library("1.22.0"))
    assert "has changed since it was added" in registry.check(build).problems[0]
    build.path(RUNTIME).unlink()
    assert "is gone" in registry.check(build).problems[0]
    description = Path(build.folder) / "build.json"
    for text in ("{", "[]", json.dumps({"form": 9}), json.dumps({"form": 1, "name": "x"})):
        description.write_text(text)
        with pytest.raises(UsageError, match=r"build\.json: can't be read"):
            registry.registered(home)

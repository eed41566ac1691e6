from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from android_runner.facts import PhoneFacts
from orchestrator.app.binaries import registry
from orchestrator.app.binaries.build import BuildFacts
from orchestrator.app.binaries.choosing import choose, why_not_on
from orchestrator.app.binaries.registry import Build
from orchestrator.app.site import check_on_host, tools_for
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import UsageError
from orchestrator.home import Home
from tests.unit.crafted_elf import X86_64, elf

FACTS = BuildFacts(
    abi="arm64-v8a", programs=("onnxruntime_perf_test",), ort_version="1.23.2", commit="", build_type="Release",
    kind="full", eps=("cpu", "nnapi"), openmp=False, dialect="new", android_api=27, page_bytes=16384,
)  # fmt: skip


def build(name: str, added_at: str = "", **facts: object) -> Build:
    changed = dataclasses.replace(FACTS, **facts)  # type: ignore[arg-type]
    return Build(name=name, digest=name, added_at=added_at, source="", facts=changed, remarks=(), files={}, folder="")


def virtual_phone() -> PhoneFacts:
    return PhoneFacts(
        identity="virtual-1", device_model="Pixel 8", manufacturer="Google", fingerprint="", soc="", api_level=34,
        abis=("arm64-v8a",), exec_abis=("linux-x86_64",), cores=8, max_freq_khz=(), memory_bytes=2**33, rooted=False,
        virtual=True, confinement="", shell="", tools=(), launcher="", profile="pixel-8", free_bytes=2**33,
    )  # fmt: skip


def phone(identity: str = "R58", abis: tuple[str, ...] = ("arm64-v8a", "armeabi-v7a"), api: int = 34) -> PhoneFacts:
    return dataclasses.replace(
        virtual_phone(), identity=identity, exec_abis=abis, abis=abis, api_level=api, virtual=False
    )


def test_the_fuller_then_the_newer_then_the_later(tmp_path: Path) -> None:
    builds = [
        build("small", ort_version="1.24.0", kind="extended minimal"),
        build("old", ort_version="1.9.0"),
        build("new", ort_version="1.23.2", added_at="2026-01-01"),
        build("newest", ort_version="1.23.2", added_at="2026-01-02"),
        build("narrow", ort_version="1.25.0", abi="armeabi-v7a"),
        build("library", ort_version="1.30.0", programs=()),
        build("unknown", ort_version=""),
    ]
    assert choose(builds, [phone()]).name == "newest"
    assert choose(builds, [phone(abis=("armeabi-v7a",))]).name == "narrow"
    assert choose(builds, [phone(), phone("B4", ("armeabi-v7a", "arm64-v8a"))]).name == "newest"


def test_what_no_phone_or_not_every_phone_executes() -> None:
    narrow = phone("A1", ("armeabi-v7a",), 26)
    assert why_not_on(FACTS, phone()) is None
    assert why_not_on(FACTS, phone(api=26)) == "needs API 27, R58 has API 26"
    large = dataclasses.replace(phone(), page_bytes=16384)
    small = dataclasses.replace(FACTS, page_bytes=4096)
    assert why_not_on(FACTS, large) is None
    assert why_not_on(small, phone()) is None
    assert why_not_on(small, large) == "is aligned to 4096 bytes, R58 has pages of 16384"
    assert why_not_on(FACTS, narrow) == "is built for arm64-v8a, A1 executes armeabi-v7a"
    with pytest.raises(UsageError, match=r"A1: wide is built for arm64-v8a.*orch binaries add one for armeabi-v7a"):
        choose([build("wide")], [phone(), narrow])
    only = build("narrow", abi="armeabi-v7a", android_api=24)
    strict = phone("B3", ("arm64-v8a",))
    with pytest.raises(UsageError, match=r"A1: takes narrow armeabi-v7a, which other phones .*--device"):
        choose([build("wide"), only], [strict, narrow])
    with pytest.raises(UsageError, match="lib: has no onnxruntime_perf_test"):
        choose([build("lib", programs=())], [phone()])


def test_a_name_is_found_and_a_file_goes_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path / "home")
    (tmp_path / "home").mkdir()
    (tmp_path / "m.onnx").write_bytes(b"x")
    program = tmp_path / "b" / "onnxruntime_perf_test"
    program.parent.mkdir()
    usage = b"perf_test [options...] model_path\0"
    program.write_bytes(elf(X86_64, "/lib64/ld-linux-x86-64.so.2", ("libc.so.6",), tail=usage))
    registry.add(home, program, "mine")
    wish = wish_of(RunOptions(things=("m.onnx",), perf_test="mine"))
    virtual = virtual_phone()
    found = tools_for(wish, [virtual], home, (None, None))
    assert (found.a.name, found.a.file.exec_abi) == ("mine", "linux-x86_64")
    assert found.a.refusal(virtual) is None
    assert found.a.page_bytes == 8  # as the crafted file has it
    large = dataclasses.replace(virtual, page_bytes=16384)
    assert found.a.refusal(large) == "mine is aligned to 8 bytes, this phone has pages of 16384"
    with pytest.raises(UsageError, match="v0: mine is built for linux-x86_64"):
        tools_for(wish, [phone("v0")], home, (None, None))
    without = wish_of(RunOptions(things=("m.onnx",)))
    with pytest.raises(UsageError, match=r"R58: mine is built for linux-x86_64.*orch binaries add one for arm64-v8a"):
        tools_for(without, [phone()], home, (None, None))
    with pytest.raises(UsageError, match=r"no onnxruntime_perf_test for arm64-v8a was given"):
        tools_for(without, [phone()], Home(tmp_path / "other"), (None, None))
    unknown = wish_of(RunOptions(things=("m.onnx",), perf_test="yours"))
    with pytest.raises(UsageError, match=r"yours is no file, and no registered build .registered: mine"):
        check_on_host(unknown, home)
    both = wish_of(RunOptions(things=("m.onnx",), perf_test="mine", lib=("libonnxruntime.so",)))
    with pytest.raises(UsageError, match="mine is a registered build and has its libraries with it"):
        check_on_host(both, home)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.capabilities import Capabilities, CommandDialect, parse_usage, probe, wants_help
from android_runner.deadline import Deadline
from android_runner.device import (
    MAX_OUTPUT_BYTES,
    DirEntry,
    FileStat,
    PhonePath,
    PullItem,
    PushedFile,
    PushItem,
    Serial,
    ShellResult,
)
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion

CORPUS = Path(__file__).parent.parent / "corpus"
MID_USAGE = (CORPUS / "perf_test-1.21" / "help" / "stdout").read_text()
COMMAND_LINE = CORPUS / "command_line"
OLD_USAGE = (COMMAND_LINE / "usage-1.8.txt").read_text()
NEW_USAGE = (COMMAND_LINE / "help-1.24.txt").read_text()
NEW_USAGE_1_23 = (COMMAND_LINE / "help-1.23.txt").read_text()
HINT = "See 'onnxruntime_perf_test --help'."


def test_the_mid_usage() -> None:
    found = parse_usage(MID_USAGE, "", 255)
    assert found.dialect is CommandDialect.MID
    assert {*"meritpxycdouifFSTCAMPIDZvhsqznlR"} - {"g"} <= found.flags
    assert {"cpu", "nnapi", "xnnpack", "qnn"} <= found.eps
    assert (found.layout_level, found.session_config, found.seeded_inputs, found.nnapi_flags) == (
        False, True, True, True
    )  # fmt: skip


def test_the_old_usage() -> None:
    found = parse_usage(OLD_USAGE, "", 255)
    assert found.dialect is CommandDialect.OLD
    assert {"nnapi", "coreml", "nuphar"} <= found.eps
    assert (found.session_config, found.seeded_inputs, found.nnapi_flags) == (False, False, False)
    assert "D" not in found.flags


def test_the_new_usage() -> None:
    found = parse_usage(NEW_USAGE, "", 1)
    assert found.dialect is CommandDialect.NEW
    assert found.layout_level
    assert {"nnapi", "webgpu", "xnnpack"} <= found.eps
    assert {*"AMPDZCSIemorxypvz"} <= found.flags
    assert not found.inverted_switches


def test_the_usage_of_1_23_tells_of_its_switches() -> None:
    found = parse_usage(NEW_USAGE_1_23, "", 1)
    assert (found.dialect, found.layout_level, found.inverted_switches) == (CommandDialect.NEW, True, True)
    assert found.with_ort_version(OrtVersion(1, 31, 1)).inverted_switches


@pytest.mark.parametrize("usage", [OLD_USAGE, MID_USAGE, NEW_USAGE_1_23, NEW_USAGE])
def test_json_there_and_back(usage: str) -> None:
    found = parse_usage(usage, "", 255)
    assert Capabilities.from_json(found.to_json()) == found
    versioned = found.with_ort_version(OrtVersion(1, 21, 0))
    assert Capabilities.from_json(versioned.to_json()) == versioned


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dialect": "mid"}', '{"dialect": "no"}', "null"])
def test_json_that_is_no_capabilities(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own message, or ours
        Capabilities.from_json(text)


@pytest.mark.parametrize(
    ("stdout", "stderr", "exit_code", "why"),
    [
        ("", "sh: ./x: not found", 127, "not found"),
        ("", "sh: ./x: can't execute: Permission denied", 126, "Permission denied"),
        ("", "sh: ./x: not executable: 64-bit ELF file", 126, "64-bit ELF"),
        ("", 'CANNOT LINK EXECUTABLE "./x": library "libonnxruntime.so" not found', 1, "libonnxruntime"),
        ("", "ERROR: Unknown command line flag 'help'. Did you mean: x ?", 1, "ABSL_FLAGS_STRIP_NAMES"),
        ("", "", 132, "SIGILL"),
        ("hello\n", "", 0, "exit code 0: hello"),
        ("perf_test [options...] model_path [result_file]\n", "", 255, "names no -e"),
    ],
)
def test_what_is_no_perf_test_there(stdout: str, stderr: str, exit_code: int, why: str) -> None:
    with pytest.raises(BinaryUnusable, match=why):
        parse_usage(stdout, stderr, exit_code)


@given(st.text(max_size=500), st.text(max_size=200), st.integers(0, 255), st.sampled_from(["", MID_USAGE, NEW_USAGE]))
def test_any_answer_is_capabilities_or_unusable(stdout: str, stderr: str, exit_code: int, usage: str) -> None:
    half = len(usage) // 2
    try:
        found = parse_usage(usage[:half] + stdout + usage[half:], stderr, exit_code)
    except BinaryUnusable:
        return
    assert {"e", "m", "r"} <= found.flags
    assert Capabilities.from_json(found.to_json()) == found


@dataclass
class Phone:
    """A phone that answers shell commands from a list and keeps what it was asked; nothing else is used here."""

    answers: Sequence[ShellResult]
    asked: list[str] = field(default_factory=list)

    @property
    def serial(self) -> Serial:
        return Serial("phone-1")

    def shell(
        self, command: str, *, deadline: Deadline, stdin: bytes = b"", max_output_bytes: int = MAX_OUTPUT_BYTES
    ) -> ShellResult:
        deadline.check(command)
        assert max_output_bytes < MAX_OUTPUT_BYTES
        self.asked.append(command)
        return self.answers[len(self.asked) - 1]

    def push(self, items: Sequence[PushItem], *, deadline: Deadline) -> list[PushedFile]:
        raise AssertionError

    def pull(self, items: Sequence[PullItem], *, deadline: Deadline) -> list[bool]:
        raise AssertionError

    def read(self, path: PhonePath, *, deadline: Deadline, max_bytes: int) -> bytes | None:
        raise AssertionError

    def stat(self, paths: Sequence[PhonePath], *, deadline: Deadline) -> list[FileStat | None]:
        raise AssertionError

    def listing(self, path: PhonePath, *, deadline: Deadline) -> list[DirEntry]:
        raise AssertionError


FOLDER = PhonePath("/data/local/tmp/orch/staged/it's")


def answer(exit_code: int, stdout: str = "", stderr: str = "") -> ShellResult:
    return ShellResult(exit_code=exit_code, stdout=stdout.encode(), stderr=stderr.encode(), duration_s=0.0)


def test_the_probe_asks_once_in_the_getopt_eras() -> None:
    phone = Phone([answer(255, MID_USAGE)])
    assert probe(phone, FOLDER / "perf", FOLDER, deadline=Deadline.after(5)).dialect is CommandDialect.MID
    quoted = "\"${ORCH_ROOT-}\"'/data/local/tmp/orch/staged/it'\"'\"'s"
    assert phone.asked == [f"LD_LIBRARY_PATH={quoted}' {quoted}/perf'"]


def test_the_probe_asks_for_help_in_the_abseil_era() -> None:
    phone = Phone([answer(255, "", HINT), answer(1, NEW_USAGE)])
    assert wants_help("", HINT)
    assert probe(phone, FOLDER / "perf", FOLDER, deadline=Deadline.after(5)).dialect is CommandDialect.NEW
    assert [command.endswith(" --help") for command in phone.asked] == [False, True]


def test_the_probe_names_binary_and_phone() -> None:
    phone = Phone([answer(127, "", "sh: not found")])
    with pytest.raises(BinaryUnusable, match=r"staged/it's/perf on phone-1: .*not found"):
        probe(phone, FOLDER / "perf", FOLDER, deadline=Deadline.after(5))

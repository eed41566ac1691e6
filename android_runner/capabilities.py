"""What one binary can do on one phone: asked once (`probe`), read by a pure parser, kept as JSON.

The binary is started without arguments and, where it is of the Abseil era, with `--help`; nothing is loaded, nothing
measured. The words are those of `test/perftest/command_args_parser.cc`, ONNX Runtime 1.8 to 1.31:

* getopt eras print the usage text on stdout and end with 255: *old* to 1.17, *mid* 1.18-1.22 (has `-C`);
* *new*, from 1.23 on, prints `See 'onnxruntime_perf_test --help'.` on stderr and ends with 255; `--help` lists the
  flags on stdout and ends with 1.

Which execution providers a build *contains* it does not tell: `eps` are the names its command line knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from android_runner.deadline import Deadline
from android_runner.device import Device, PhonePath, ShellResult, quoted
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion
from android_runner.tool_words import USAGE, signal_name, unusable_words, words

MAX_USAGE_BYTES = 1024 * 1024
MAX_NAMES = 256


class CommandDialect(StrEnum):
    """How the command line is parsed; see the module's text."""

    OLD = "old"
    MID = "mid"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What one binary understands. `flags` are letters and, in the new dialect, long names, without dashes.

    `ort_version` is None where the ELF did not tell.
    """

    dialect: CommandDialect
    flags: frozenset[str]
    eps: frozenset[str]
    layout_level: bool
    nnapi_flags: bool
    ort_version: OrtVersion | None = None

    @property
    def session_config(self) -> bool:
        """Whether `-C` takes session configuration entries (from 1.18)."""
        return "C" in self.flags

    @property
    def seeded_inputs(self) -> bool:
        """Whether `-S` seeds generated inputs (from 1.13); before, they are uninitialised memory."""
        return "S" in self.flags

    @property
    def inverted_switches(self) -> bool:
        """Whether `-A` and `-M` do nothing and `--noA`, `--noM` must be used: 1.23, mended in 1.24 (e6023b0c6).

        The flags tell, not the version: that is the library's, which may be newer than the program.
        """
        return self.dialect is CommandDialect.NEW and "shrink_arena_between_runs" not in self.flags

    def with_ort_version(self, version: OrtVersion | None) -> Capabilities:
        """The same with the runtime's version, which only the ELF tells."""
        return replace(self, ort_version=version)

    def to_json(self) -> str:
        """As text to keep; `from_json` reads it."""
        return json.dumps(
            {
                "dialect": self.dialect.value,
                "flags": sorted(self.flags),
                "eps": sorted(self.eps),
                "layout_level": self.layout_level,
                "nnapi_flags": self.nnapi_flags,
                "ort_version": str(self.ort_version) if self.ort_version else None,
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> Capabilities:
        """What `to_json` wrote. Raises ValueError on anything else."""
        try:
            value = json.loads(text)
            if not isinstance(value, Mapping):
                raise ValueError("capabilities: not a JSON object")
            version = value["ort_version"]
            return cls(
                dialect=CommandDialect(value["dialect"]),
                flags=frozenset(str(flag) for flag in value["flags"]),
                eps=frozenset(str(ep) for ep in value["eps"]),
                layout_level=bool(value["layout_level"]),
                nnapi_flags=bool(value["nnapi_flags"]),
                ort_version=None if version is None else OrtVersion.parse(str(version)),
            )
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"capabilities: {error!r}") from error


_GETOPT_FLAG = re.compile(r"^\t-([A-Za-z])(?![A-Za-z])", re.MULTILINE)
_ABSEIL_FLAG = re.compile(r"^\s{2,8}--?([A-Za-z][A-Za-z0-9_]{0,63}) \(", re.MULTILINE)
_EP_LIST = re.compile(r"-e \[([a-z0-9_|]{1,1000})\]")
_EP_PROSE = re.compile(r"Specifies\s+the\s+provider((?:[\s,]|and|or|'[a-z0-9_]{1,40}')+)")
_QUOTED = re.compile(r"'([a-z0-9_]{1,40})'")
_SEE_HELP = re.compile(r"See '[^'\n]{0,200}--help'")
_NAMES_STRIPPED = re.compile(r"ERROR: Unknown command line flag 'help'")


def wants_help(stdout: str, stderr: str) -> bool:
    """Whether a start without arguments was answered by the Abseil era's hint, so that `--help` must be asked."""
    return USAGE.search(stdout) is None and _SEE_HELP.search(stderr) is not None


def parse_usage(stdout: str, stderr: str, exit_code: int) -> Capabilities:
    """Read the usage text: a start without arguments (getopt eras), or with `--help` (Abseil).

    Raises BinaryUnusable when it was not executed there, is no onnxruntime_perf_test, or was built with Abseil's flag
    names stripped (Android builds of 1.23 in development refuse every flag: microsoft/onnxruntime issue 25755).
    """
    stdout, stderr = stdout[:MAX_USAGE_BYTES], stderr[:MAX_USAGE_BYTES]
    if USAGE.search(stdout) is None:
        raise BinaryUnusable(_why_no_usage(stdout, stderr, exit_code))
    getopt, abseil = _GETOPT_FLAG.findall(stdout), _ABSEIL_FLAG.findall(stdout)
    flags = frozenset((abseil if len(abseil) > len(getopt) else getopt)[:MAX_NAMES])
    if len(abseil) > len(getopt):
        dialect = CommandDialect.NEW
    else:
        dialect = CommandDialect.MID if "C" in flags else CommandDialect.OLD
    if not {"e", "r", "m"} <= flags:
        raise BinaryUnusable("its usage text names no -e, -m and -r: not a perf_test that can be commanded")
    return Capabilities(
        dialect=dialect,
        flags=flags,
        eps=_eps(stdout),
        layout_level="3 (layout)" in stdout,
        nnapi_flags="NNAPI_FLAG_" in stdout,
    )


def _eps(usage: str) -> frozenset[str]:
    """Names after `-e`: from the bracketed list and from the prose, as neither is whole in every release."""
    listed = _EP_LIST.search(usage)
    prose = _EP_PROSE.search(usage)
    names = (listed[1].split("|") if listed else []) + (_QUOTED.findall(prose[1]) if prose else [])
    return frozenset(name for name in names[:MAX_NAMES] if name) | {"cpu"}


def _why_no_usage(stdout: str, stderr: str, exit_code: int) -> str:
    out, err = stdout.encode(errors="replace"), stderr.encode(errors="replace")
    if (unusable := unusable_words(exit_code, err)) is not None:
        return f"the phone cannot start it: {unusable}"
    if (name := signal_name(exit_code)) is not None:
        return f"it is ended by {name} as soon as it starts"
    if _NAMES_STRIPPED.search(stderr):
        return (
            "it was built with its flag names stripped and refuses every option: build it with ABSL_FLAGS_STRIP_NAMES=0"
        )
    said = words(out, err)
    return f"it does not answer as onnxruntime_perf_test does (exit code {exit_code}" + (f": {said})" if said else ")")


def probe(device: Device, binary: PhonePath, libraries: PhonePath, *, deadline: Deadline) -> Capabilities:
    """Ask the staged `binary` on `device` what it understands; `libraries` is the folder of its shared libraries.

    Raises BinaryUnusable when the phone can't execute it or it is none, LinkError when the phone doesn't answer.
    """
    command = f"LD_LIBRARY_PATH={quoted(libraries)} {quoted(binary)}"

    def ask(arguments: str) -> ShellResult:
        return device.shell(command + arguments, deadline=deadline, max_output_bytes=MAX_USAGE_BYTES)

    answer = ask("")
    if wants_help(answer.text(), _err(answer)):
        answer = ask(" --help")
    try:
        return parse_usage(answer.text(), _err(answer), answer.exit_code)
    except BinaryUnusable as error:
        raise BinaryUnusable(f"{binary} on {device.serial}: {error}") from error


def _err(answer: ShellResult) -> str:
    return answer.stderr.decode("utf-8", errors="replace")

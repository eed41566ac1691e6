"""`--custom-ops`: libraries of custom operators, one for each kind of machine that loads the model."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.elf import inspect_binary
from android_runner.errors import BinaryUnusable
from orchestrator.digest import digest_of_file
from orchestrator.errors import Problem, UsageError
from orchestrator.variants.naming import shown

_HOST_ABIS = {"aarch64": "linux-aarch64", "x86_64": "linux-x86_64", "arm64": "linux-aarch64", "AMD64": "linux-x86_64"}
_OPTION = "--custom-ops"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomOps:
    """The libraries by the ABI that they are for; `host` is for converting (path, sha256), empty where none is."""

    by_abi: Mapping[str, Path] = field(default_factory=dict)
    host: tuple[tuple[str, str], ...] = ()

    def for_abi(self, abi: str | None) -> Path | None:
        """The library for programs of an ABI; the host's for the virtual phones' stand-in, which has none."""
        return self.by_abi.get(abi or host_abi())


def still_there(libraries: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of libraries (path, sha256) the paths that lie there as they did, and of the others why they don't."""
    found, lost = [], []
    for path, sha256 in libraries:
        try:
            same = digest_of_file(Path(path)) == sha256
        except OSError as error:
            lost.append(f"{shown(path)}: {error.strerror or error}")
            continue
        if same:
            found.append(path)
        else:
            lost.append(f"{shown(path)}: is another file than when the run began")
    return tuple(found), tuple(lost)


def host_abi() -> str:
    """The ABI whose libraries this host loads."""
    return _HOST_ABIS.get(platform.machine(), f"linux-{platform.machine()}")


def custom_ops(paths: Sequence[str]) -> CustomOps:
    """Read the libraries and tell for what they are. Raises UsageError with every problem."""
    by_abi: dict[str, Path] = {}
    problems: list[Problem] = []
    for text in paths:
        path = Path(text)
        if not path.is_file():
            problems.append(Problem(f"{_OPTION} {text}", "is not a file", "give a shared library"))
            continue
        try:
            file = inspect_binary(path)
        except BinaryUnusable as error:
            problems.append(Problem(_OPTION, str(error), "give a shared library"))
            continue
        if file.kind != "elf" or file.is_executable or file.exec_abi is None:
            problems.append(Problem(f"{_OPTION} {text}", "is no shared library", "give the library of the operators"))
        elif file.exec_abi in by_abi:
            what = f"is for {file.exec_abi}, as {by_abi[file.exec_abi]} is"
            problems.append(Problem(f"{_OPTION} {text}", what, "give one library for each ABI"))
        else:
            by_abi[file.exec_abi] = path
    if problems:
        raise UsageError(*problems)
    here = by_abi.get(host_abi())
    host = () if here is None else ((str(here.absolute()), digest_of_file(here)),)
    return CustomOps(by_abi=by_abi, host=host)

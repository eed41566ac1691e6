"""Which onnxruntime_perf_test a run uses: the user's, read and checked on the host, or the virtual phones' stand-in."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from android_runner.capabilities import CommandDialect
from android_runner.elf import BinaryFile, inspect_binary, mismatch, missing_libraries
from android_runner.errors import BinaryUnusable
from android_runner.facts import PhoneFacts
from android_runner.ort import OrtVersion
from android_runner.profile import ProfileError, load_profile
from android_runner.staging import StageFile, StageUnit
from orchestrator.app.binaries.registry import Build
from orchestrator.app.binaries.taking import PERF_TEST, TEST_RUNNER
from orchestrator.app.custom_ops import CustomOps
from orchestrator.digest import digest_of, digest_of_file
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.kit import BINARY_NAME, CUSTOM_OPS_NAME, has_custom_ops
from orchestrator.home import Home

STAND_IN = "virtual stand-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A perf_test with the libraries it brings. `unit` is what goes to a phone, its digest the tool's identity.

    `has_nnapi` is None where the files do not tell.
    """

    name: str
    unit: StageUnit
    file: BinaryFile
    ort_version: OrtVersion | None
    has_nnapi: bool | None
    page_bytes: int | None = None
    """The largest memory page that the program and its libraries can be loaded with; None where nothing is told."""

    @property
    def has_custom_ops(self) -> bool:
        """Whether it brings a library of custom operators."""
        return has_custom_ops(self.unit)

    def refusal(self, facts: PhoneFacts) -> str | None:
        """Why this phone can't execute it; None when nothing speaks against it."""
        abi = self.file.exec_abi
        if abi is not None and abi not in facts.exec_abis:
            executes = ", ".join(facts.exec_abis) or "nothing known"
            return f"{self.name} is built for {abi}, this phone executes {executes}"
        level = self.file.android_api
        if level is not None and 0 < facts.api_level < level:
            return f"{self.name} is built for API {level} and later, this phone has API {facts.api_level}"
        if self.page_bytes is not None and self.page_bytes < facts.page_bytes:
            return f"{self.name} is aligned to {self.page_bytes} bytes, this phone has pages of {facts.page_bytes}"
        return None


@dataclass(frozen=True, slots=True)
class Tools:
    """The perf_tests of a run: A's and B's where two are held against each other, else one that stands for both."""

    a: Tool
    b: Tool

    @property
    def every(self) -> tuple[Tool, ...]:
        """Each once, A's first."""
        return (self.a,) if self.a.unit.digest == self.b.unit.digest else (self.a, self.b)

    @property
    def oldest(self) -> OrtVersion | None:
        """The least version among those that are known: what it can load, the other can, too."""
        return min((one.ort_version for one in self.every if one.ort_version is not None), default=None)


@dataclass(frozen=True, slots=True)
class BinaryAsked:
    """A perf_test as it was asked for, with its libraries: files, the name of a registered build, or else (empty) a
    registered build that the phones execute, or the stand-in in a dialect (empty: by profile). `options` are those that
    asked."""

    perf_test: str = ""
    lib: tuple[str, ...] = ()
    dialect: str = ""
    options: tuple[str, str] = ("--perf-test", "--lib")

    @property
    def may_be_a_name(self) -> bool:
        """Whether it is no file, and can be the name of a registered build."""
        return bool(self.perf_test) and os.sep not in self.perf_test and not Path(self.perf_test).exists()


def given_tool(asked: BinaryAsked, home: Home, operators: CustomOps | None = None) -> Tool:
    """The user's binary, checked and kept under its digest in the home, with the library of custom operators for its
    ABI beside it. Raises UsageError with every problem."""
    perf_test, libraries = Path(asked.perf_test), [Path(one) for one in asked.lib]
    of_program, of_library = asked.options
    problems = [
        Problem(str(path), "is not a file", f"give an existing file to {option}")
        for option, path in [(of_program, perf_test), *((of_library, lib) for lib in libraries)]
        if not path.is_file()
    ]
    if problems:
        raise UsageError(*problems)
    try:
        file = inspect_binary(perf_test)
        shared = [inspect_binary(library) for library in libraries]
    except BinaryUnusable as error:
        raise UsageError(Problem(of_program, str(error), "give an onnxruntime_perf_test for the phone")) from error
    if not file.is_executable:
        raise UsageError(
            Problem(
                str(perf_test), "is a shared library, no program", f"give the program; libraries go with {of_library}"
            )
        )
    if not perf_test.stat().st_mode & stat.S_IXUSR:
        raise UsageError(Problem(str(perf_test), "is not executable", f"chmod +x {shlex.quote(str(perf_test))}"))
    lacking = missing_libraries(file, libraries)
    if lacking:
        raise UsageError(
            Problem(
                str(perf_test),
                f"needs {', '.join(lacking)}",
                f"give the file with {of_library}, under exactly that name",
            )
        )
    unfit = mismatch(file, shared)
    if unfit is not None:
        raise UsageError(Problem(of_library, unfit, "give the libraries of the same build"))
    names = {library.name for library in libraries}
    if len(names) < len(libraries) or {BINARY_NAME, CUSTOM_OPS_NAME} & names:
        raise UsageError(Problem(of_library, "two files have one name", "give each library once"))
    members = [(BINARY_NAME, perf_test), *((library.name, library) for library in libraries)]
    members += _operators(operators, file)
    return _kept(perf_test.name, file, members, _runtime_in([file, *shared]), home)


def tool_of_build(build: Build, home: Home, operators: CustomOps | None = None) -> Tool:
    """A registered build as what a run uses, under its name. Raises UsageError."""
    libraries = tuple(str(build.path(name)) for name in build.files if name not in (PERF_TEST, TEST_RUNNER))
    asked = BinaryAsked(str(build.path(PERF_TEST)), libraries, options=(build.name, build.name))
    return replace(given_tool(asked, home, operators), name=build.name)


def _operators(operators: CustomOps | None, binary: BinaryFile) -> list[tuple[str, Path]]:
    library = None if operators is None else operators.for_abi(binary.exec_abi)
    return [] if library is None else [(CUSTOM_OPS_NAME, library)]


def stand_in(home: Home, dialect: CommandDialect, operators: CustomOps | None = None) -> Tool:
    """The stand-in for virtual phones in one dialect, built from this installation's onnxruntime."""
    from android_runner.virtual.perf_test.build import build_standin, library_version  # noqa: PLC0415 - virtual only

    made = home.binaries / f"stand-in-{dialect.value}"
    made.mkdir(parents=True, exist_ok=True)
    binary, library = build_standin(made, dialect)
    file = inspect_binary(binary)
    members = [(BINARY_NAME, binary), (library.name, library), *_operators(operators, file)]
    # Its files are replaced, never written into: links keep the bytes that a run used.
    runtime = _Runtime(version=library_version(), has_nnapi=True)
    name = STAND_IN if dialect is CommandDialect.MID else f"{STAND_IN} ({dialect.value} dialect)"
    return _kept(name, file, members, runtime, home, put=_link_or_copy)


def dialect_of(phones: Sequence[PhoneFacts], profiles: Sequence[str]) -> CommandDialect:
    """The dialect that the virtual phones' device profiles agree on; mid where they differ or don't say.

    `profiles` are names and files of profiles that were asked for: a phone tells only its profile's name.
    """
    known = {profile.name: profile for profile in map(load_profile, profiles)}
    said = set()
    for one in phones:
        try:
            profile = known[one.profile] if one.profile in known else load_profile(one.profile)
        except ProfileError:  # of a phone that was started with a file of its own
            return CommandDialect.MID
        said.add(CommandDialect(profile.perf_test_dialect))
    return said.pop() if len(said) == 1 else CommandDialect.MID


def kept_tool(digest: str, name: str, home: Home) -> Tool:
    """A tool that an earlier run used. Raises UsageError when the home has lost it."""
    folder = home.binaries / digest
    if not (folder / BINARY_NAME).is_file():
        raise UsageError(Problem(str(folder), "the run's binary is gone", "start a new run"))
    others = sorted(path for path in folder.iterdir() if path.name != BINARY_NAME)
    file = inspect_binary(folder / BINARY_NAME)
    runtime = _runtime_in([file, *(inspect_binary(path) for path in others if path.name != CUSTOM_OPS_NAME)])
    if name == STAND_IN:
        runtime = replace(runtime, has_nnapi=True)
    members = [(BINARY_NAME, folder / BINARY_NAME), *((path.name, path) for path in others)]
    return _tool(name, file, members, runtime)


@dataclass(frozen=True, slots=True)
class _Runtime:
    """What the files tell of the onnxruntime inside; None where they don't. The stand-in adds a virtual NNAPI."""

    version: OrtVersion | None
    has_nnapi: bool | None
    page_bytes: int | None = None


def _runtime_in(files: Sequence[BinaryFile]) -> _Runtime:
    versions = [each.ort_version for each in files if each.ort_version is not None]
    nnapi = [each.has_nnapi for each in files if each.has_nnapi is not None]
    own = [each for each in files if each.exec_abi == files[0].exec_abi]  # not what a signal processor loads
    pages = [each.page_bytes for each in own if each.page_bytes is not None]
    return _Runtime(versions[-1] if versions else None, any(nnapi) if nnapi else None, min(pages, default=None))


def _tool(name: str, file: BinaryFile, members: Sequence[tuple[str, Path]], runtime: _Runtime) -> Tool:
    hashes = {member: digest_of_file(path) for member, path in members}
    files = tuple(StageFile(name=member, source=path, sha256=hashes[member], mode=0o755) for member, path in members)
    unit = StageUnit(digest=digest_of(["binary", hashes]), files=files)
    return Tool(
        name=name,
        unit=unit,
        file=file,
        ort_version=runtime.version,
        has_nnapi=runtime.has_nnapi,
        page_bytes=runtime.page_bytes,
    )


def _kept(
    name: str,
    file: BinaryFile,
    members: Sequence[tuple[str, Path]],
    runtime: _Runtime,
    home: Home,
    put: Callable[[Path, Path], object] | None = None,
) -> Tool:
    """Copy what a run uses into the home, so that `resume` and `replay` find the same bytes."""
    tool = _tool(name, file, members, runtime)
    folder = home.binaries / tool.unit.digest
    with suppress(FileNotFoundError, PermissionError):
        os.utime(folder)  # it is of use: who cleans up looks at this
    if not folder.is_dir():
        part = home.binaries / f".{tool.unit.digest}.{os.getpid()}"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for member, path in members:
            (_copy if put is None or member == CUSTOM_OPS_NAME else put)(path, part / member)
        try:
            part.rename(folder)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            if not folder.is_dir():
                raise
    files = tuple(
        StageFile(name=each.name, source=folder / each.name, sha256=each.sha256, mode=each.mode)
        for each in tool.unit.files
    )
    return replace(tool, unit=StageUnit(digest=tool.unit.digest, files=files))


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o755)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or somebody else's file
        _copy(source, target)

"""A build of ONNX Runtime's programs and libraries for one ABI: what its files say, and what is wrong with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from android_runner.elf import BinaryFile, inspect_binary, mismatch, missing_libraries
from android_runner.errors import BinaryUnusable
from android_runner.ort_build import BuildKind, OrtBuild, read_dialect, read_ort_build
from orchestrator.app.binaries.taking import PERF_TEST, RUNTIME, TEST_RUNNER
from orchestrator.errors import Problem

LARGE_PAGE_BYTES = 16384
"""Memory pages of phones that Android 15 and later may run on."""
ANDROID_ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64", "x86")
_WIDE = ("arm64-v8a", "x86_64")
"""ABIs of phones that may have large pages: a 32-bit Android has small ones."""
OF_THE_DSP = "libQnn*Skel.so"
"""What a phone's signal processor loads: of no ABI that the phone itself has."""
HOW = "orch binaries howto"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """What the files of one build say; empty and None: they don't. `programs` are the programs among them,
    `ort_version` is the runtime's (of a lone program: the one that it was linked to), `eps` by perf_test's names,
    `kind` is full, extended minimal or minimal, `dialect` is perf_test's, `android_api` the API level that the files
    need, `page_bytes` the largest memory page that all of them can be loaded with."""

    abi: str
    programs: tuple[str, ...]
    ort_version: str
    commit: str
    build_type: str
    kind: str
    eps: tuple[str, ...]
    openmp: bool
    dialect: str
    android_api: int | None
    page_bytes: int | None


@dataclass(frozen=True, slots=True)
class ReadBuild:
    """Facts of a build, what makes it unusable, and what a person should know of it."""

    facts: BuildFacts
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...]


def by_abi(files: Sequence[Path]) -> tuple[dict[str, list[Path]], list[Problem]]:
    """The files of each ABI, those of the DSP with every one; and those that can't be read."""
    groups: dict[str, list[Path]] = {}
    problems: list[Problem] = []
    for_all: list[Path] = []
    for path in files:
        try:
            abi = inspect_binary(path).exec_abi
        except BinaryUnusable as error:
            problems.append(Problem(path.name, str(error), "take the others without it, or copy it again"))
            continue
        if fnmatchcase(path.name, OF_THE_DSP):
            for_all.append(path)
        elif abi is None:
            problems.append(Problem(path.name, "is a script", "give the program itself"))
        else:
            groups.setdefault(abi, []).append(path)
    return {abi: [*found, *for_all] for abi, found in groups.items()}, problems


def read_build(abi: str, files: Sequence[Path]) -> ReadBuild:
    """What the files of one ABI are together. Raises BinaryUnusable for a file that can't be read."""
    read = {path.name: inspect_binary(path) for path in files}
    own = [one for name, one in read.items() if not fnmatchcase(name, OF_THE_DSP)]
    runtimes = [build for path in files if (build := read_ort_build(path)) is not None]
    runtime = runtimes[0] if runtimes else None
    perf_test = read.get(PERF_TEST)
    dialect = read_dialect(perf_test.path) if perf_test else None
    apis = [one.android_api for one in own if one.android_api is not None]
    pages = [one.page_bytes for one in own if one.page_bytes is not None]
    facts = BuildFacts(
        abi=abi,
        programs=tuple(name for name in (PERF_TEST, TEST_RUNNER) if name in read),
        ort_version=_version(runtime, own),
        commit=runtime.commit if runtime else "",
        build_type=runtime.build_type if runtime else "",
        kind=runtime.kind.value if runtime and runtime.kind else "",
        eps=runtime.eps if runtime else (),
        openmp=runtime.openmp if runtime else False,
        dialect=dialect.value if dialect else "",
        android_api=max(apis, default=None),
        page_bytes=min(pages, default=None),
    )
    return ReadBuild(facts, tuple(_problems(facts, read, files)), tuple(_remarks(facts, runtime)))


def _version(runtime: OrtBuild | None, files: Sequence[BinaryFile]) -> str:
    if runtime is not None and runtime.version is not None:
        return str(runtime.version)
    return next((str(one.ort_version) for one in files if one.ort_version is not None), "")


def _problems(facts: BuildFacts, read: dict[str, BinaryFile], files: Sequence[Path]) -> Iterator[Problem]:
    android = facts.abi in ANDROID_ABIS
    for name in (PERF_TEST, TEST_RUNNER):
        program = read.get(name)
        if program is not None:
            yield from _of_program(name, program, [one for one in read.values() if one is not program], files)
    for name, one in read.items():
        if android and not one.position_independent and not fnmatchcase(name, OF_THE_DSP):
            yield Problem(name, "is not position-independent (PIE): Android starts no such program", "build with -fPIE")
        if android and one.text_relocations:
            yield Problem(name, "has text relocations: Android loads no such file", "build it with the NDK as it is")
    if PERF_TEST in read and not facts.dialect:
        yield Problem(PERF_TEST, "has no usage text of onnxruntime_perf_test", f"give the program itself: {HOW}")


def _of_program(
    name: str, program: BinaryFile, others: Sequence[BinaryFile], files: Sequence[Path]
) -> Iterator[Problem]:
    if not program.is_executable:
        yield Problem(name, "is a shared library, no program", f"give the program itself: {HOW}")
        return
    libraries = [one.path for one in others if not one.is_executable]
    lacking = missing_libraries(program, libraries)
    if lacking:
        yield Problem(name, f"needs {', '.join(lacking)}", "add the folder that has them all, or --with each")
    runtime = next((one for one in others if one.path.name == RUNTIME), None)
    if runtime is not None and RUNTIME in program.needed and _newer(program, runtime):
        what = f"is of {program.ort_version}, {RUNTIME} of {runtime.ort_version}: the library lacks what it asks for"
        yield Problem(name, what, "take both out of one build")
        return
    unfit = mismatch(program, [one for one in others if not one.is_executable])
    if unfit is not None:
        yield Problem(name, unfit, "take both out of one build")


def _newer(program: BinaryFile, runtime: BinaryFile) -> bool:
    a, b = program.ort_version, runtime.ort_version
    return a is not None and b is not None and a > b


def _remarks(facts: BuildFacts, runtime: OrtBuild | None) -> Iterator[str]:
    if not facts.programs:
        yield f"no program: runs need an {PERF_TEST} of the same build ({HOW})"
    elif PERF_TEST not in facts.programs:
        yield f"no {PERF_TEST}: runs need one ({HOW})"
    if facts.abi not in ANDROID_ABIS:
        yield f"built for {facts.abi}: no phone executes it, virtual ones do"
    elif facts.abi in _WIDE and not fits_large_pages(facts):
        yield f"aligned to {facts.page_bytes} bytes: phones with pages of {LARGE_PAGE_BYTES} can't load it"
    if runtime is not None:
        yield from _of_runtime(facts, runtime)


def _of_runtime(facts: BuildFacts, runtime: OrtBuild) -> Iterator[str]:
    if "nnapi" not in facts.eps:
        yield "built without NNAPI"
    if runtime.kind is BuildKind.MINIMAL:
        yield "minimal: loads .ort only, no NNAPI, nothing is optimized on the phone"
    elif runtime.kind is BuildKind.EXTENDED:
        yield "extended minimal: loads .ort only"
    if facts.build_type and facts.build_type not in ("Release", "RelWithDebInfo", "MinSizeRel"):
        yield f"built as {facts.build_type}: its times are not those of a release"
    if facts.openmp:
        yield "built with OpenMP: OMP_NUM_THREADS decides on threads, -x does not"


def fits_large_pages(facts: BuildFacts) -> bool:
    """Whether all of its files can be loaded where memory pages have 16 KB."""
    return facts.page_bytes is None or facts.page_bytes >= LARGE_PAGE_BYTES


def facts_from(data: dict[str, object]) -> BuildFacts:
    """Facts as they were written to JSON. Raises TypeError, KeyError, ValueError."""
    values = {one.name: data[one.name] for one in dataclasses.fields(BuildFacts)}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return BuildFacts(**(values | lists))  # type: ignore[arg-type]

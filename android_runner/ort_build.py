"""What a file that holds ONNX Runtime says of how it was built, by byte strings that every build carries.

The runtime is in `libonnxruntime.so`, or in the program of a static build. Looked for are (source read: 1.21; seen:
Android and Linux builds of 1.21 to 1.31):

* the symbol version `VERS_1.21.0` of shared builds, else the bare NUL-terminated version;
* `ORT Build Info: git-branch=…, git-commit-id=…, build type=Release` (from 1.15 on);
* the paths of source files that error messages carry (`onnxruntime/core/providers/nnapi/…`): an execution provider's
  name alone says nothing, every build lists all names;
* `Failed to load model because protobuf parsing failed.`, which only a full build can say;
  `ONNX format model is not supported in this build.`, which only a minimal one does; and in an extended one the
  optimizers that act on a loaded `.ort` file. No minimal build for Android was at hand: those two are from the source.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

from android_runner.capabilities import CommandDialect
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion

_VERS = re.compile(rb"\0VERS_(\d{1,2}\.\d{1,3}\.\d{1,3})\0")
_BARE_VERSION = re.compile(rb"\x00(1\.\d{1,2}\.\d{1,2})(?=\x00)")
_INFO = re.compile(rb"ORT Build Info: ([\x20-\x7e]{1,2000})")
_COMMIT = re.compile(r"git-commit-id=([0-9a-f]{7,40})")
_TYPE = re.compile(r"build type=([A-Za-z]{1,20})")
_PROVIDER = re.compile(rb"core/providers/([a-z][a-z0-9_]{1,19})/[a-z0-9_/]{1,120}\.(?:cc|h)\b")
_NO_PROVIDERS = frozenset({"shared", "utils", "common", "shared_library", "op_kernel_type_control"})
_OPENMP = (b"\0__kmpc_fork_call\0", b"\0GOMP_parallel\0", b"\0libomp.so\0", b"\0libgomp.so.1\0")
_MAX_FINDS = 100_000
_RUNTIME = (
    b"Failed to load model because protobuf parsing failed.",
    b"ONNX format model is not supported in this build.",
    b"ORT Build Info: git-",
    b"SequentialExecutor::Execute",
)
"""Long words, of which any shows the runtime: x86 compilers write the short ones as numbers into the code."""


class BuildKind(StrEnum):
    """How much of the runtime a build has; `EXTENDED` is `--minimal_build extended`."""

    FULL = "full"
    EXTENDED = "extended minimal"
    MINIMAL = "minimal"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrtBuild:
    """A runtime as its file tells. None and empty text: it does not tell. `eps` are execution providers by the name
    that perf_test's `-e` has for them, `cpu` among them."""

    version: OrtVersion | None
    commit: str
    build_type: str
    eps: tuple[str, ...]
    kind: BuildKind | None
    openmp: bool


def read_ort_build(path: Path) -> OrtBuild | None:
    """How the runtime in a file was built; None for a file without one. Raises BinaryUnusable."""
    with _mapped(path) as content:
        if not holds_runtime(content):
            return None
        found = _INFO.search(content)
        info = found[1].decode("ascii") if found else ""
        commit, build_type = _COMMIT.search(info), _TYPE.search(info)
        providers = {each[1].decode() for each in islice(_PROVIDER.finditer(content), _MAX_FINDS)}
        return OrtBuild(
            version=ort_version_in(content),
            commit=commit[1] if commit else "",
            build_type=build_type[1] if build_type else "",
            eps=tuple(sorted((providers - _NO_PROVIDERS) | {"cpu"})),
            kind=_kind(content, providers),
            openmp=any(content.find(word) >= 0 for word in _OPENMP),
        )


def _kind(content: mmap.mmap, providers: set[str]) -> BuildKind | None:
    if content.find(b"Failed to load model because protobuf parsing failed.") >= 0:
        return BuildKind.FULL
    if content.find(b"ONNX format model is not supported in this build.") < 0:
        return None
    compiling = "nnapi" in providers or content.find(b"QDQSelectorActionTransformer") >= 0
    return BuildKind.EXTENDED if compiling else BuildKind.MINIMAL


def read_dialect(path: Path) -> CommandDialect | None:
    """How an onnxruntime_perf_test takes its options, by the words of its usage text; None for any other program.

    Raises BinaryUnusable.
    """
    with _mapped(path) as content:
        if content.find(b"perf_test [options...] model_path") < 0:
            return None
        if content.find(b"See 'onnxruntime_perf_test --help'") >= 0:
            return CommandDialect.NEW
        return CommandDialect.MID if content.find(b"\t-C: ") >= 0 else CommandDialect.OLD


def _mapped(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise BinaryUnusable(f"{path}: cannot be read ({error}); check the path") from error


def holds_runtime(content: mmap.mmap) -> bool:
    """Whether ONNX Runtime itself is in the file."""
    return any(content.find(word) >= 0 for word in _RUNTIME)


def ort_version_in(content: mmap.mmap) -> OrtVersion | None:
    """The symbol version `VERS_1.21.0`, of a shared build; else the NUL-terminated version of a static one.

    A static build also holds the versions of zlib and others (1.2.13, …): ORT's has a minor above 4, is looked for
    only where the runtime's words are, and only counts when it is the one such string.
    """
    if found := _VERS.search(content):
        return OrtVersion.parse(found[1].decode())
    if not holds_runtime(content):
        return None
    versions = {version for each in islice(_BARE_VERSION.finditer(content), 64) if (version := _likely(each[1]))}
    return versions.pop() if len(versions) == 1 else None


def _likely(text: bytes) -> OrtVersion | None:
    version = OrtVersion.parse(text.decode())
    return version if version >= OrtVersion(1, 5) else None

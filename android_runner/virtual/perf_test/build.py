"""Makes the stand-in's executable, and finds onnxruntime's shared library, without importing onnxruntime."""

from __future__ import annotations

import marshal
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib import resources, util
from pathlib import Path

from android_runner.capabilities import CommandDialect
from android_runner.ort import OrtVersion

PACKAGE = "android_runner.virtual.perf_test.standin"
BINARY_NAME = "onnxruntime_perf_test"
LIBRARY_NAME = "libonnxruntime.so"
MODULES = (
    "failure",
    "options",
    "dialect",
    "output",
    "pace",
    "ortapi",
    "model_file",
    "tensorproto",
    "inputs",
    "measuring",
    "phone",
    "android",
    "nnapi_trace",
    "nnapi_store",
    "nnapi",
    "misbehaving",
    "main",
)
"""In every dialect's executable, in the order in which they are loaded."""

DIALECT_MODULES: Mapping[CommandDialect, tuple[str, ...]] = {
    CommandDialect.OLD: ("usage_1_8", "getopt_line", "old"),
    CommandDialect.MID: ("usage", "getopt_line", "mid"),
    CommandDialect.NEW: ("flags_1_24", "abseil_words", "abseil_line", "new"),
}
"""What a dialect's executable has besides; the last holds its `DIALECT`."""

_MAX_SHEBANG_CHARS = 120
_FLAGS = "-ISXutf8"
_BOOTSTRAP = '''\
"""onnxruntime_perf_test for virtual phones: generated; its source is the package {package}.

It speaks the {dialect} dialect and runs models with the libonnxruntime.so that LD_LIBRARY_PATH leads to.
Code of Python {version}.
"""
import gc
import marshal
import sys

gc.disable()
if sys.implementation.cache_tag != {cache_tag!r}:
    sys.exit("this onnxruntime_perf_test was made for {cache_tag}")
for name, code in marshal.loads({code!r}):
    module = type(sys)(name)
    sys.modules[name] = module
    exec(code, module.__dict__)
sys.modules[{main!r}].main(sys.modules[{speaks!r}].DIALECT)
'''


class LibraryNotFound(Exception):
    """The installed onnxruntime carries no shared library (wheels before 1.19.2, or none installed)."""


def build_standin(directory: Path, dialect: CommandDialect = CommandDialect.MID) -> tuple[Path, Path]:
    """Put the executable and `libonnxruntime.so` into `directory` and return both paths.

    The executable's bytes depend only on its source, its dialect and the interpreter. The library is a hard link
    where the file systems allow it, else a copy. Raises `LibraryNotFound` and `OSError`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    source = find_library()
    binary = directory / BINARY_NAME
    _replace(binary, lambda target: _write_executable(target, dialect))
    library = directory / LIBRARY_NAME
    _replace(library, lambda target: _link_or_copy(source, target))
    return binary, library


def find_library() -> Path:
    """The shared library inside the installed onnxruntime: `capi/libonnxruntime.so.<version>`."""
    spec = util.find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        found = sorted(Path(folder, "capi").glob(f"{LIBRARY_NAME}.*"))
        if found:
            return found[0]
    raise LibraryNotFound(f"the installed onnxruntime has no capi/{LIBRARY_NAME}.<version>; 1.19.2 and later have it")


def library_version() -> OrtVersion:
    """The version of `find_library`'s, which its name ends with. Raises `LibraryNotFound`, ValueError."""
    return OrtVersion.parse(find_library().name.removeprefix(f"{LIBRARY_NAME}."))


def interpreter() -> str:
    """The interpreter outside of any virtual environment, as the phone will start it."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def standin_bytes(dialect: CommandDialect = CommandDialect.MID) -> bytes:
    """The executable of one dialect: a script with compiled modules, since compiling would be most of the start-up."""
    compiled = []
    for name in (*MODULES, *DIALECT_MODULES[dialect]):
        text = resources.files(PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
        module = f"{PACKAGE}.{name}"
        compiled.append((module, compile(text, f"<{name}>", "exec", dont_inherit=True, optimize=2)))
    tag = sys.implementation.cache_tag
    script = _BOOTSTRAP.format(
        package=PACKAGE,
        version=".".join(map(str, sys.version_info[:3])),
        cache_tag=tag,
        # version 2 of the format writes no references, which would make the bytes depend on what else is loaded
        code=marshal.dumps(compiled, 2),
        main=f"{PACKAGE}.main",
        dialect=dialect.value,
        speaks=f"{PACKAGE}.{DIALECT_MODULES[dialect][-1]}",
    )
    return (shebang(interpreter()) + script).encode()


def shebang(python: str) -> str:
    """First lines that start the file with `python`; through sh where the kernel could not read the path.

    Raises `ValueError` for a path that cannot be written as a word of sh inside of a Python string.
    """
    if len(python) <= _MAX_SHEBANG_CHARS and not any(char.isspace() for char in python):
        return f"#!{python} {_FLAGS}\n"
    if "'" in python or "\n" in python or "\\" in python:
        raise ValueError(f"cannot start an interpreter with this path from a script: {python!r}")
    return f"#!/bin/sh\n'''exec' '{python}' {_FLAGS} \"$0\" \"$@\"\n' '''\n"


def _replace(target: Path, make: Callable[[Path], object]) -> None:
    """Make a file beside `target` and rename it: whoever runs the old one keeps it."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    make(temporary)
    temporary.replace(target)


def _write_executable(target: Path, dialect: CommandDialect) -> None:
    target.write_bytes(standin_bytes(dialect))
    target.chmod(0o755)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)

"""The executable: one file, the same bytes each time, started by an interpreter outside of any virtual environment."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from android_runner.capabilities import CommandDialect
from android_runner.virtual.perf_test import build

DIGEST = """
import hashlib, {imports}
from android_runner.virtual.perf_test.build import standin_bytes
print(hashlib.sha256(standin_bytes()).hexdigest())
"""


def test_bytes_are_the_same_in_other_processes() -> None:
    expected = hashlib.sha256(build.standin_bytes()).hexdigest()
    for seed, imports in (("0", "json"), ("1", "email.message, ctypes"), ("77", "asyncio")):
        script = DIGEST.format(imports=imports)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        )
        assert done.stdout.strip() == expected


def test_binary_and_library_lie_in_the_folder(tmp_path: Path) -> None:
    binary, library = build.build_standin(tmp_path / "new" / "folder")
    assert os.access(binary, os.X_OK)
    assert (binary.name, library.name) == ("onnxruntime_perf_test", "libonnxruntime.so")
    assert library.read_bytes()[:4] == b"\x7fELF"
    assert sorted(path.name for path in binary.parent.iterdir()) == [library.name, binary.name]
    first_line = binary.read_bytes().split(b"\n", 1)[0].decode()
    assert first_line == f"#!{build.interpreter()} -ISXutf8"


def test_building_twice_replaces(tmp_path: Path) -> None:
    binary, library = build.build_standin(tmp_path)
    first = (binary.read_bytes(), library.stat().st_size)
    binary, library = build.build_standin(tmp_path)
    assert (binary.read_bytes(), library.stat().st_size) == first


def test_source_library_keeps_its_mode(tmp_path: Path) -> None:
    source = build.find_library()
    mode = source.stat().st_mode
    build.build_standin(tmp_path)
    assert source.stat().st_mode == mode


def test_interpreter_is_outside_of_the_environment() -> None:
    assert build.interpreter().startswith(os.path.realpath(sys.base_prefix))


@pytest.mark.parametrize("name", ["with a blank", "long" * 40])
def test_a_path_that_no_shebang_can_hold_goes_through_sh(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(build.interpreter())
    script = tmp_path / "script"
    script.write_text(build.shebang(str(python)) + "import sys\nprint(sys.argv[1:], sys.flags.isolated)\n")
    script.chmod(0o755)
    done = subprocess.run([script, "a b", "$c"], capture_output=True, text=True, check=True)
    assert done.stdout == "['a b', '$c'] 1\n"


def test_a_path_that_cannot_be_quoted_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot start"):
        build.shebang("/a 'b'/python")


def test_without_onnxruntime_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    with pytest.raises(build.LibraryNotFound, match=r"1\.19\.2"):
        build.find_library()


def test_every_module_is_packed() -> None:
    folder = Path(build.__file__).parent / "standin"
    packed = {*build.MODULES, *(name for names in build.DIALECT_MODULES.values() for name in names)}
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", *packed}


def test_each_dialect_has_bytes_of_its_own() -> None:
    made = {dialect: build.standin_bytes(dialect) for dialect in CommandDialect}
    assert made[CommandDialect.MID] == build.standin_bytes()
    assert len(set(made.values())) == len(CommandDialect)


@pytest.mark.parametrize("dialect", CommandDialect)
def test_only_modules_that_start_fast_are_loaded(dialect: CommandDialect, tmp_path: Path) -> None:
    """Start-up is paid by every trial: nothing that is known to be slow is loaded on the way to the usage text."""
    binary, library = build.build_standin(tmp_path, dialect)
    done = subprocess.run(
        [build.interpreter(), "-ISXutf8", "-X", "importtime", binary],
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": str(library.parent)},
        check=False,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ctypes" in loaded
    assert not loaded & {"site", "re", "enum", "typing", "collections", "dataclasses", "pathlib", "random", "signal"}

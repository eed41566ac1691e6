"""Bad input through the real CLI: one clear error that names the place and the mend, before a phone is touched."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.orch_cli import Ended, Orch
from tests.sleepers import sleeping_perf_test

VIRTUAL = ("--device", "virtual:pixel-8")


def refused(ended: Ended, *words: str, code: int = 2) -> None:
    """One error on stderr with these words, no traceback, nothing on stdout."""
    assert ended.code == code, ended
    assert "Traceback" not in ended.err, ended
    assert "a bug" not in ended.err, ended
    for word in words:
        assert word in ended.err, ended
    assert ended.out == "", ended


def untouched(orch: Orch) -> bool:
    """No virtual phone was started and no run written."""
    return not (orch.home / "virtual").exists() and not (orch.home / "ledger.sqlite").exists()


@pytest.fixture
def model(mnist: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(mnist, tmp_path / "mnist.onnx"))


@pytest.mark.parametrize("what", ["missing", "empty", "truncated", "not-onnx", "a-directory-without-models"])
def test_model(orch: Orch, model: Path, tmp_path: Path, what: str) -> None:
    bad = tmp_path / "bad.onnx"
    if what == "empty":
        bad.write_bytes(b"")
    elif what == "truncated":
        bad.write_bytes(model.read_bytes()[:-500])
    elif what == "not-onnx":
        bad.write_text("hello, this is no model\n" * 50)
    elif what == "a-directory-without-models":
        bad = tmp_path / "empty"
        bad.mkdir()
    refused(orch("run", bad, *VIRTUAL), str(bad.name))
    assert not (orch.home / "ledger.sqlite").exists()


def test_unknown_preset_is_answered_with_the_nearest(orch: Orch, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--preset", "quik"), "quik", "did you mean 'quick'")
    assert untouched(orch)


def test_unknown_ep_in_a_plan(orch: Orch, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nep = ["cpuu"]\n')
    refused(orch("run", plan, *VIRTUAL), "p.toml", "cpuu", "did you mean 'cpu'")
    assert untouched(orch)


def test_unknown_key_in_a_plan(orch: Orch, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\nround = 3\n')
    refused(orch("run", plan, *VIRTUAL), "p.toml", "did you mean 'rounds'")
    assert untouched(orch)


def test_negative_threads(orch: Orch, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nthreads = [-1]\n')
    refused(orch("run", plan, *VIRTUAL), "matrix.0.threads.0")
    assert untouched(orch)


def test_more_threads_than_the_phone_has_cores(orch: Orch, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nthreads = [64]\n')
    refused(orch("run", plan, *VIRTUAL), "64 threads", "cores")


@pytest.mark.parametrize("dim", ["batch", "batch=0", "batch=-1", "batch=x", "=3"])
def test_dimension_that_is_none(orch: Orch, model: Path, dim: str) -> None:
    refused(orch("run", model, *VIRTUAL, "--dim", dim), "--dim", "NAME=NUMBER")
    assert untouched(orch)


@pytest.mark.parametrize(
    ("option", "value"), [("--rounds", "0"), ("--seconds", "0"), ("--iterations", "-3"), ("--seed", "-1")]
)
def test_numbers_out_of_range(orch: Orch, model: Path, option: str, value: str) -> None:
    refused(orch("run", model, *VIRTUAL, option, value), option, "out of range")
    assert untouched(orch)


def test_no_model(orch: Orch, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text("rounds = 3\n")
    refused(orch("run", plan), "no model")
    assert untouched(orch)


def test_binary_that_is_missing(orch: Orch, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--perf-test", "/nowhere/perf_test"), "/nowhere/perf_test", "--perf-test")


def test_binary_for_another_machine(orch: Orch, model: Path, tmp_path: Path) -> None:
    """An ELF header that says AArch64 and Android's linker: a phone that executes x86_64 Linux can't take it."""
    data = bytearray(Path("/bin/true").read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    tool = tmp_path / "perf"
    tool.write_bytes(data)
    tool.chmod(0o755)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "perf", "executes")


def test_binary_that_is_not_executable(orch: Orch, model: Path, tmp_path: Path) -> None:
    tool = sleeping_perf_test(tmp_path, 0.1)
    tool.chmod(0o644)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "not executable", "chmod +x")


def test_binary_that_is_no_program(orch: Orch, model: Path, tmp_path: Path) -> None:
    tool = tmp_path / "perf"
    tool.write_text("just text\n")
    tool.chmod(0o755)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "perf")


@pytest.mark.skipif("ORCH_PERF_TEST" not in os.environ, reason="needs ORCH_PERF_TEST, a true perf_test for Linux")
def test_binary_without_its_library(orch: Orch, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--perf-test", os.environ["ORCH_PERF_TEST"]), "libonnxruntime.so", "--lib")


def test_unknown_serial(orch: Orch, model: Path) -> None:
    assert orch("virtual", "up", "pixel-8").code == 0
    refused(orch("run", model, "--device", "virtual-pixel-8-7", "--adb-port", "1"), "virtual-pixel-8-7", "did you mean")


def test_unknown_profile(orch: Orch, model: Path) -> None:
    refused(orch("run", model, "--device", "virtual:pixel-88"), "pixel-88", "pixel-8")


def test_no_phone_at_all_names_the_virtual_one(orch: Orch, model: Path) -> None:
    refused(orch("run", model, "--adb-port", "1"), "--device virtual", code=4)


def test_a_ledger_of_a_newer_program(orch: Orch, model: Path) -> None:
    assert orch("runs").code == 0
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        table = ledger.execute("select name from sqlite_master where name like '%migration%'").fetchone()[0]
        columns = [row[1] for row in ledger.execute(f"pragma table_info({table})")]
        row = ledger.execute(f"select * from {table} order by 1 desc limit 1").fetchone()
        ledger.execute(
            f"insert into {table} ({', '.join(columns)}) values (9999, {', '.join('?' * (len(columns) - 1))})", row[1:]
        )
    refused(orch("runs"), "newer")


def test_a_run_that_is_none(orch: Orch) -> None:
    refused(orch("report", "0101-nothing-zzzz"), "0101-nothing-zzzz")


HOSTILE = [
    "with space.onnx",
    "quo'te\".onnx",
    "semi;colon.onnx",
    "$(touch owned).onnx",
    "new\nline.onnx",
    "ümläut-模型.onnx",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_a_shell_would_read(orch: Orch, mnist: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    model = Path(shutil.copy(mnist, folder / name))
    tool = sleeping_perf_test(tmp_path, 0.05)
    ended = orch("run", model, *VIRTUAL, "--perf-test", tool, "--rounds", "1", "--iterations", "3")
    assert ended.code == 0, ended
    counts = orch.counts()
    assert counts["measured"] == counts["planned"] > 0
    assert not list(tmp_path.rglob("owned"))
    assert json.loads(orch("report", "--format", "json").out)


def test_a_name_that_climbs_out(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(mnist, tmp_path / "..model.onnx")
    tool = sleeping_perf_test(tmp_path, 0.05)
    ended = orch("run", f"{inner}/../..model.onnx", *VIRTUAL, "--perf-test", tool, "--rounds", "1", "--iterations", "3")
    assert ended.code == 0, ended
    outside = [path for path in orch.home.rglob("*") if ".." in path.name and "model" not in path.name]
    assert outside == []

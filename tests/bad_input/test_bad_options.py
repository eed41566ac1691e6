"""Bad input through the real CLI: one clear error that names the place and the mend, before a phone is touched."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from orchestrator.store.ledger import Ledger
from tests.bad_input.conftest import Refused
from tests.bad_input.test_bad_models import external_above, no_shape, ort_of_a_newer_runtime
from tests.orch_cli import Orch, cpu_plan
from tests.unit.test_elf import elf, written
from tests.unit.variants import nets


def dynamic(folder: Path) -> Path:
    """A model whose batch is open."""
    return nets.save(nets.conv_relu(("batch", 1, 8, 8), out=("batch", 2, 6, 6)), folder / "m.onnx")


VIRTUAL = ("--device", "virtual:pixel-8")


def untouched(orch: Orch) -> bool:
    """No virtual phone was started and no run written."""
    return not (orch.home / "virtual").exists() and not (orch.home / "ledger.sqlite").exists()


@pytest.mark.parametrize("what", ["missing", "empty", "truncated", "not-onnx", "a-directory-without-models"])
def test_model(orch: Orch, refused: Refused, model: Path, tmp_path: Path, what: str) -> None:
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
    assert untouched(orch)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (ort_of_a_newer_runtime, ("m.ort", "newer runtime", "start from the .onnx")),
        (external_above, ("net.onnx", "leaves the model's folder")),
        (no_shape, ("m.onnx", "how many dimensions", "declare its shape")),
        (dynamic, ("m.onnx", "dynamic dimension batch", "give --dim batch=N")),
    ],
    ids=["ort-of-a-newer-runtime", "external-data-outside", "no-shape", "dynamic-shape"],
)
def test_model_that_is_one(
    orch: Orch, refused: Refused, tmp_path: Path, make: Callable[[Path], Path], words: tuple[str, ...]
) -> None:
    refused(orch("run", make(tmp_path), *VIRTUAL), *words)
    assert untouched(orch)


def test_all_that_is_wrong_is_said_at_once(orch: Orch, refused: Refused, tmp_path: Path) -> None:
    one, two, tool = tmp_path / "one.onnx", tmp_path / "two.onnx", tmp_path / "tool"
    refused(orch("run", one, two, *VIRTUAL, "--perf-test", tool), str(one), str(two), str(tool))
    assert untouched(orch)


def test_a_model_that_is_given_twice(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("plan", model, model.parent, *VIRTUAL), "mnist.onnx: is given twice", "give it once")
    assert untouched(orch)


def test_an_empty_name_is_not_this_folder(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("run", model, "", *VIRTUAL), "an empty name")
    assert untouched(orch)


def test_a_library_of_no_program(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--lib", "libonnxruntime.so"), "--lib", "add --perf-test")
    assert untouched(orch)


def test_a_name_cannot_move_the_cursor(orch: Orch, refused: Refused, tmp_path: Path) -> None:
    ended = orch("run", tmp_path / "no\x1b[2J\u202emodel.onnx", *VIRTUAL)
    refused(ended, "model.onnx: no such file")
    assert not {"\x1b", "\u202e"} & set(ended.err)


def test_a_virtual_phone_that_is_none(orch: Orch, refused: Refused) -> None:
    refused(orch("virtual", "down", "virtual-pixel-8-1"), "unknown virtual phone 'virtual-pixel-8-1'", "known: none")


def test_unknown_preset_is_answered_with_the_nearest(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--preset", "quik"), "quik", "did you mean 'quick'")
    assert untouched(orch)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rnu", "m.onnx"), ("unknown command 'rnu'", "did you mean 'run'")),
        (("xyzzy",), ("unknown command 'xyzzy'", "known: run, status")),
        (("model", "biuld"), ("No such command 'biuld'", "Did you mean 'build'", "orch model --help")),
        (("run", "m.onnx", "--devise", "all"), ("No such option: --devise", "Did you mean --device?")),
        (("--versoin",), ("No such option: --versoin", "Did you mean --version?")),
        (("run", "m.onnx", "--rounds", "x"), ("Invalid value for '--rounds'", "orch run --help")),
        (("plan",), ("Missing argument 'MODEL'", "orch plan --help")),
        (("report", "--format", "cvs"), ("--format", "'csv'", "orch report --help")),
        (("runs", "more"), ("unexpected extra argument", "more", "orch runs --help")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_words_that_the_command_line_does_not_know(
    orch: Orch, refused: Refused, words: tuple[str, ...], said: tuple[str, ...]
) -> None:
    refused(orch(*words), *said)
    assert not orch.home.exists()


def test_a_model_is_read_before_a_phone_is_looked_for(orch: Orch, refused: Refused, tmp_path: Path) -> None:
    """A plan's options are those of the run, and so is the order: no adb server is asked, or started, for a typo."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        for command in ("plan", "run"):
            refused(orch(command, tmp_path / "nowhere.onnx", "--adb-port", str(port)), "nowhere.onnx", "no such file")


def test_unknown_ep_in_a_plan(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nep = ["cpuu"]\n')
    refused(orch("run", plan, *VIRTUAL), "p.toml", "cpuu", "did you mean 'cpu'")
    assert untouched(orch)


def test_unknown_key_in_a_plan(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\nround = 3\n')
    refused(orch("run", plan, *VIRTUAL), "p.toml", "did you mean 'rounds'")
    assert untouched(orch)


def test_negative_threads(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nthreads = [-1]\n')
    refused(orch("run", plan, *VIRTUAL), "matrix.0.threads.0")
    assert untouched(orch)


def test_more_threads_than_the_phone_has_cores(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nthreads = [64]\n')
    refused(orch("run", plan, *VIRTUAL), "64 threads", "cores")


@pytest.mark.parametrize("dim", ["batch", "batch=0", "batch=-1", "batch=x", "=3"])
def test_dimension_that_is_none(orch: Orch, refused: Refused, model: Path, dim: str) -> None:
    refused(orch("run", model, *VIRTUAL, "--dim", dim), "--dim", "NAME=NUMBER")
    assert untouched(orch)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rounds", "0"),
        ("--seconds", "0"),
        ("--seconds", "nan"),
        ("--iterations", "-3"),
        ("--iterations", "9" * 20),
        ("--seed", "-1"),
        ("--seed", "9" * 20),
    ],
)
def test_numbers_out_of_range(orch: Orch, refused: Refused, model: Path, option: str, value: str) -> None:
    refused(orch("run", model, *VIRTUAL, option, value), option, "out of range")
    assert untouched(orch)


def test_no_model(orch: Orch, refused: Refused, tmp_path: Path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text("rounds = 3\n")
    refused(orch("run", plan), "no model")
    assert untouched(orch)


def test_binary_that_is_missing(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("run", model, *VIRTUAL, "--perf-test", "/nowhere/perf_test"), "/nowhere/perf_test", "--perf-test")
    assert untouched(orch)


def test_binary_for_another_machine(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    """An ELF header that says AArch64 and Android's linker: a phone that executes x86_64 Linux can't take it."""
    data = bytearray(Path("/bin/true").read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    tool = tmp_path / "perf"
    tool.write_bytes(data)
    tool.chmod(0o755)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "perf", "executes")


def test_binary_that_is_not_executable(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    tool = sleeping_perf_test(tmp_path, 0.1)
    tool.chmod(0o644)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "not executable", "chmod +x")
    program = Path(shutil.copy("/bin/true", tmp_path / "program"))
    program.chmod(0o644)
    refused(orch("run", model, *VIRTUAL, "--perf-test", program), "not executable", "chmod +x")
    assert untouched(orch)


def test_binary_that_is_no_program(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    tool = tmp_path / "perf"
    tool.write_text("just text\n")
    tool.chmod(0o755)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "perf", "neither an ELF file nor a script")
    assert untouched(orch)


def test_binary_that_is_a_library(orch: Orch, refused: Refused, model: Path) -> None:
    library = next(Path(str(resources.files("onnxruntime"))).glob("capi/libonnxruntime.so.*"))
    refused(orch("run", model, *VIRTUAL, "--perf-test", library), "shared library, no program", "--lib")
    assert untouched(orch)


def test_binary_without_its_library(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    """A true perf_test where one is given, else a program whose ELF headers need the same library."""
    made = elf(machine=62, interpreter="/lib64/ld-linux-x86-64.so.2", needed=("libonnxruntime.so", "libc.so.6"))
    tool = Path(os.environ.get("ORCH_PERF_TEST") or written(tmp_path, made))
    if "ORCH_PERF_TEST" not in os.environ:
        tool.chmod(0o755)
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool), "libonnxruntime.so", "--lib")
    assert untouched(orch)


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (elf(machine=183, needed=("libc.so.6",)), ("libonnxruntime.so is built for linux-aarch64", "linux-x86_64")),
        (elf(machine=62, needed=("libc.so",)), ("libonnxruntime.so is built for x86_64", "linux-x86_64")),
        (elf(machine=62, needed=("libc.so.6",), tail=b"\0VERS_1.20.0\0"), ("onnxruntime 1.21.0", "is 1.20.0")),
    ],
    ids=["another-machine", "android-beside-linux", "another-version"],
)
def test_library_that_does_not_go_with_the_binary(
    orch: Orch, refused: Refused, model: Path, tmp_path: Path, library: bytes, words: tuple[str, ...]
) -> None:
    loader = "/lib64/ld-linux-x86-64.so.2"
    program = elf(62, loader, ("libonnxruntime.so", "libc.so.6"), tail=b"\0VERS_1.21.0\0")
    tool = written(tmp_path, program)
    tool.chmod(0o755)
    beside = written(tmp_path, library, "libonnxruntime.so")
    refused(orch("run", model, *VIRTUAL, "--perf-test", tool, "--lib", beside), "--lib", *words)
    assert untouched(orch)


def test_unknown_profile(orch: Orch, refused: Refused, model: Path) -> None:
    refused(orch("run", model, "--device", "virtual:pixel-88"), "pixel-88", "pixel-8")


def test_a_ledger_of_a_newer_program(orch: Orch, refused: Refused) -> None:
    assert orch("runs").code == 0
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        table = ledger.execute("select name from sqlite_master where name like '%migration%'").fetchone()[0]
        columns = [row[1] for row in ledger.execute(f"pragma table_info({table})")]
        row = ledger.execute(f"select * from {table} order by 1 desc limit 1").fetchone()
        ledger.execute(
            f"insert into {table} ({', '.join(columns)}) values (9999, {', '.join('?' * (len(columns) - 1))})", row[1:]
        )
    refused(orch("runs"), "newer")


def test_a_folder_for_what_goes_to_stdout(orch: Orch, refused: Refused, tmp_path: Path) -> None:
    refused(orch("report", "--format", "json", "--out", tmp_path), "--out", "json goes to stdout")


def test_a_run_that_is_none(orch: Orch, refused: Refused) -> None:
    refused(orch("report", "0101-nothing-zzzz"), str(orch.home), "no ledger is there")
    Ledger.open(orch.home).close()
    refused(orch("report", "0101-nothing-zzzz"), "0101-nothing-zzzz")


HOSTILE = [
    "with space.onnx",
    "quo'te\".onnx",
    "semi;colon.onnx",
    "$(touch owned).onnx",
    "new\nline.onnx",
    "ümläut-模型.onnx",
]


@pytest.mark.parametrize("name", HOSTILE, ids=["space", "quotes", "semicolon", "substitution", "newline", "non-ascii"])
def test_names_that_a_shell_would_read(shared: Orch, mnist: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    model = Path(shutil.copy(mnist, folder / name))
    tool = sleeping_perf_test(tmp_path, 0.05)
    ended = shared(
        "run", model, cpu_plan(tmp_path), *VIRTUAL, "--perf-test", tool, "--rounds", "1", "--iterations", "3"
    )
    assert ended.code == 0, ended
    counts = shared.counts()
    assert counts["measured"] == counts["planned"] > 0
    assert not list(tmp_path.rglob("owned"))
    assert json.loads(shared("report", "--format", "json").out)


def test_a_name_that_climbs_out(shared: Orch, mnist: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(mnist, tmp_path / "..model.onnx")
    tool = sleeping_perf_test(tmp_path, 0.05)
    ended = shared(
        "run",
        f"{inner}/../..model.onnx",
        cpu_plan(tmp_path),
        *VIRTUAL,
        "--perf-test",
        tool,
        "--rounds",
        "1",
        "--iterations",
        "3",
    )
    assert ended.code == 0, ended
    outside = [path for path in shared.home.rglob("*") if ".." in path.name and "model" not in path.name]
    assert outside == []

"""The stand-in with `-e nnapi` behind a phone's root: flags, messages, logcat, trace, what is kept."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import pytest
from onnx import helper

from android_runner.trace import read_trace
from android_runner.virtual.perf_test.standin import nnapi_store
from tests.unit.virtual_nnapi.apart import convert, mnist, save, value, weights
from tests.unit.virtual_nnapi.rooted import RootedPhone

_SUMMARY = re.compile(r"partitions supported by NNAPI: (\d+) number of nodes in the graph: (\d+) .*NNAPI: (\d+)")
_LINE = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +\d+ +\d+ [VIWEF] onnxruntime: ")
_FLAGS = ["USE_FP16", "USE_NCHW", "CPU_DISABLED", "CPU_ONLY"]
_REPLAY = "session.enable_saved_runtime_optimizations|1"
make = helper.make_node


@pytest.fixture
def basic(tmp_path: Path) -> Path:
    return _alone(mnist(tmp_path / "mnist.onnx"), 1)


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    return _alone(mnist(tmp_path / "mnist.onnx"), 2)


def _alone(model: Path, level: int) -> Path:
    folder = model.parent / f"level{level}"
    folder.mkdir()
    return convert(model, folder / "model.ort", level=level)


def _softmax_net(folder: Path) -> Path:
    nodes = [make("Relu", ["x"], ["r"], "relu"), make("Softmax", ["r"], ["y"], "softmax")]
    return save(folder / "net.onnx", nodes, [value("x", [1, 10])], [value("y", [1, 10])])


def _words(*flags: str) -> str:
    return " ".join(f"NNAPI_FLAG_{flag}" for flag in flags)


def _combinations() -> list[tuple[str, ...]]:
    every = [tuple(flags) for count in range(5) for flags in itertools.combinations(_FLAGS, count)]
    return [flags for flags in every if not {"CPU_DISABLED", "CPU_ONLY"} <= set(flags)]


def test_there_are_twelve_valid_combinations() -> None:
    assert len(_combinations()) == 12


@pytest.mark.parametrize("flags", _combinations(), ids=lambda flags: "+".join(flags) or "none")
def test_every_valid_combination_ends_measured(pixel_8: RootedPhone, basic: Path, flags: tuple[str, ...]) -> None:
    done = pixel_8.nnapi(basic, "-v", flags=_words(*flags))
    assert (done.returncode, done.stderr) == (0, "")
    assert "P999 Latency" in done.stdout
    said = _SUMMARY.findall(pixel_8.log)
    assert said == [("1", "8", "8")]


def test_on_the_host_itself_there_is_no_nnapi(binaries: Path, basic: Path, tmp_path: Path) -> None:
    done = RootedPhone(tmp_path / "no root here", binaries).nnapi(basic)
    assert done.returncode == 255
    assert done.stderr.endswith("NNAPI is not supported in this build\n\n\n")


def test_a_wrong_key(pixel_8: RootedPhone, basic: Path) -> None:
    done = pixel_8.nnapi(basic, flags="NNAPI_FLAG_USE_FP16|1")
    assert (done.returncode, done.stdout) == (255, "")
    assert "[ERROR] [NNAPI] wrong key type entered. Choose from the following runtime key options" in done.stderr


def test_cpu_disabled_and_cpu_only_exclude_each_other(pixel_8: RootedPhone, basic: Path) -> None:
    done = pixel_8.nnapi(basic, flags=_words("CPU_ONLY", "CPU_DISABLED"))
    assert done.returncode == 255
    assert "Both NNAPI_FLAG_CPU_DISABLED and NNAPI_FLAG_CPU_ONLY are set" in done.stderr
    assert pixel_8.kept == []


def test_a_device_that_lacks_an_operator(tmp_path: Path, binaries: Path) -> None:
    """With the CPU in the list the model runs; the accelerator alone can't, and the provider says so."""
    phone = RootedPhone.of("pixel-6-rooted", tmp_path / "root", binaries)
    model = _softmax_net(tmp_path)
    assert phone.nnapi(model).returncode == 0
    refused = phone.nnapi(model, flags=_words("CPU_DISABLED"))
    assert refused.returncode == 255
    assert refused.stderr == (
        "The model cannot run using the current set of target devices, [Name: [google-edgetpu], Type [4]],  ,\n"
    )
    assert "Session creation time" not in refused.stdout
    assert phone.nnapi(model, flags=_words("CPU_ONLY")).returncode == 0


def test_an_empty_device_list_goes_on_in_silence(tmp_path: Path, binaries: Path, basic: Path) -> None:
    phone = RootedPhone.of("galaxy-a51", tmp_path / "root", binaries)
    done = phone.nnapi(basic, "-v", flags=_words("CPU_DISABLED"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Found devices [] in NNAPI" in phone.log


def test_without_verbose_one_partition_leaves_no_trace_in_the_log(pixel_8: RootedPhone, basic: Path) -> None:
    assert pixel_8.nnapi(basic).returncode == 0
    assert pixel_8.log == ""


def test_more_partitions_are_a_warning(pixel_8: RootedPhone, extended: Path) -> None:
    assert pixel_8.nnapi(extended).returncode == 0
    lines = pixel_8.log.splitlines()
    assert [_SUMMARY.findall(line) for line in lines] == [[("2", "6", "4")], [], []]
    assert all(_LINE.match(line) for line in lines)
    assert lines[0].split()[4] == "W"


def test_the_verbose_log(pixel_8: RootedPhone, extended: Path) -> None:
    assert pixel_8.nnapi(extended, "-v").returncode == 0
    log = pixel_8.log
    assert all(_LINE.match(line) for line in log.splitlines())
    assert (
        "Found devices [[Name: [google-edgetpu], Type [4]],  ,[Name: [nnapi-reference], Type [2]],  ,] in NNAPI" in log
    )
    assert "Effective NNAPI feature level: 31" in log
    assert log.count("Node supported: [1]") == 4
    assert log.count("Node supported: [0] Operator type: [FusedConv]") == 2
    assert " Node(s) placed on [NnapiExecutionProvider]. Number of nodes: 2" in log
    assert " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2" in log
    assert "All nodes placed on" not in log


@pytest.mark.parametrize(("level", "claimed", "rest"), [(1, 1, 0), (2, 2, 2)])
def test_the_trace_shows_partitions_as_a_phone_does(
    pixel_8: RootedPhone, tmp_path: Path, level: int, claimed: int, rest: int
) -> None:
    model = _alone(mnist(tmp_path / "mnist.onnx"), level)
    assert pixel_8.nnapi(model, "-p", str(tmp_path / "trace")).returncode == 0
    (trace,) = tmp_path.glob("trace_*.json")
    events = json.loads(trace.read_text(encoding="utf-8"))
    nodes = [event for event in events if event["cat"] == "Node"]
    runs = 4  # three, and the warm-up
    fused = [event for event in nodes if event["args"]["provider"] == "NnapiExecutionProvider"]
    assert len(fused) == claimed * runs
    assert len(nodes) == (claimed + rest) * runs
    assert not [event for event in nodes if event["args"]["op_name"] == "If"]
    for event in fused:
        match = re.fullmatch(r"NnapiExecutionProvider_(Nnapi_\d+_\d+)_\d+_kernel_time", event["name"])
        assert match is not None
        assert event["args"]["op_name"] == match[1]
    assert [e["name"] for e in events].count("SequentialExecutor::Execute") == runs
    assert [e["name"] for e in events].count("model_loading_uri") == 0
    for run in (event for event in events if event["name"] == "model_run"):
        inside = [n for n in nodes if run["ts"] <= n["ts"] <= run["ts"] + run["dur"]]
        assert sum(n["dur"] for n in inside) <= run["dur"] + len(inside)
    table = read_trace(trace)
    assert table.complete
    assert {node.in_body for node in table.nodes} == {False}


def test_an_onnx_is_partitioned_between_basic_and_the_rest(pixel_8: RootedPhone, tmp_path: Path) -> None:
    """As a full build does: what NNAPI takes is not fused away by the levels that follow."""
    model = mnist(tmp_path / "mnist.onnx")
    assert pixel_8.nnapi(model, "-v", "-o", "99", "-p", str(tmp_path / "trace")).returncode == 0
    assert _SUMMARY.findall(pixel_8.log) == [("1", "8", "8")]
    (trace,) = tmp_path.glob("trace_*.json")
    names = [event["name"] for event in json.loads(trace.read_text(encoding="utf-8"))]
    assert names.count("model_loading_uri") == 1


def test_prepared_once_for_each_question(pixel_8: RootedPhone, basic: Path) -> None:
    for _ in range(2):
        assert pixel_8.nnapi(basic).returncode == 0
    (first,) = pixel_8.kept
    inode = first.stat().st_ino
    assert pixel_8.nnapi(basic, flags=_words("USE_FP16")).returncode == 0
    assert len(pixel_8.kept) == 2
    assert first.stat().st_ino == inode
    basic.write_bytes(basic.read_bytes() + b"\0")
    assert pixel_8.nnapi(basic).returncode == 0
    assert len(pixel_8.kept) == 3


def test_an_unfinished_preparation_is_swept_away(pixel_8: RootedPhone, basic: Path) -> None:
    left = pixel_8.root / "data/vendor/nnapi-cache/.4194304"
    left.mkdir(parents=True)
    (left / "request.json").write_text("{}")
    assert pixel_8.nnapi(basic).returncode == 0
    assert not left.exists()


def test_a_broken_entry_is_said(pixel_8: RootedPhone, basic: Path) -> None:
    assert pixel_8.nnapi(basic).returncode == 0
    (kept,) = pixel_8.kept
    (kept / "description.json").write_text("{")
    done = pixel_8.nnapi(basic)
    assert done.returncode == 0
    assert json.loads((kept / "description.json").read_text())["model"] == "model.ort"


def test_the_least_recently_used_go(tmp_path: Path, pixel_8: RootedPhone, basic: Path) -> None:
    """Entries beyond the bound are removed, oldest use first, and never the new one."""
    folder = pixel_8.root / "data/vendor/nnapi-cache"
    for name, age_s in (("old", 100), ("older", 200)):
        (folder / name).mkdir(parents=True)
        with (folder / name / "model.ort").open("wb") as file:
            file.truncate(nnapi_store.MAX_CACHE_BYTES * 3 // 4)
        os.utime(folder / name, (0, 1_000_000 - age_s))
    assert pixel_8.nnapi(basic).returncode == 0
    assert not (folder / "older").exists()
    assert (folder / "old").exists()
    assert len(pixel_8.kept) == 1


def test_a_model_that_is_none(pixel_8: RootedPhone, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\x08\x07\x3a\x02\x0a\x00")
    by_cpu = pixel_8.perf_test("-e", "cpu", "-m", "times", "-r", "1", "-I", str(broken))
    by_nnapi = pixel_8.nnapi(broken)
    assert by_nnapi.returncode == by_cpu.returncode == 255
    assert by_nnapi.stderr == by_cpu.stderr != ""


def test_no_fallback_to_the_cpu(pixel_8: RootedPhone, basic: Path, extended: Path) -> None:
    """A cheap question whether NNAPI takes all: the key refuses any other model."""
    forbid = ("-C", "session.disable_cpu_ep_fallback|1")
    assert pixel_8.nnapi(basic, *forbid).returncode == 0
    refused = pixel_8.nnapi(extended, *forbid)
    assert refused.returncode == 255
    assert "fallback to CPU EP has been explicitly disabled by the user" in refused.stderr


def test_a_compiled_model_is_not_saved(pixel_8: RootedPhone, basic: Path, tmp_path: Path) -> None:
    done = pixel_8.nnapi(basic, "-u", str(tmp_path / "saved.ort"))
    assert done.returncode == 255
    assert "Unable to serialize model as it contains compiled nodes." in done.stderr


def test_onnxruntime_speaks_to_logcat_on_the_cpu_too(pixel_8: RootedPhone, basic: Path) -> None:
    done = pixel_8.perf_test("-e", "cpu", "-m", "times", "-r", "1", "-I", "-v", str(basic))
    assert (done.returncode, done.stderr) == (0, "")
    assert " All nodes placed on [CPUExecutionProvider]. Number of nodes: 8" in pixel_8.log


def test_an_arm_phone_has_no_nchwc_and_flushes_no_denormals(pixel_8: RootedPhone, tmp_path: Path) -> None:
    model = mnist(tmp_path / "mnist.onnx")
    words = ("-e", "cpu", "-m", "times", "-r", "1", "-I", "-z", "-v", "-p", str(tmp_path / "trace"), str(model))
    assert pixel_8.perf_test(*words).returncode == 0
    (trace,) = tmp_path.glob("trace_*.json")
    operators = {e["args"].get("op_name") for e in json.loads(trace.read_text(encoding="utf-8")) if e["cat"] == "Node"}
    assert operators == {"FusedConv", "MaxPool", "Reshape", "Gemm"}
    assert "denormal-as-zero are off" in pixel_8.log


def _two_convolutions(folder: Path) -> Path:
    """At API 27 the convolutions and HardSigmoid stay on the CPU and Relu does not, so one pair only may fuse there."""
    nodes = [
        make("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        make("Relu", ["c1"], ["r"], "relu"),
        make("Conv", ["r", "w2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        make("HardSigmoid", ["c2"], ["y"], "hard_sigmoid"),
    ]
    constants = [weights("w1", 2, 2, 3, 3), weights("w2", 2, 2, 3, 3, seed=2)]
    return save(folder / "net.onnx", nodes, [value("x", [1, 2, 6, 6])], [value("y", [1, 2, 6, 6])], constants)


@pytest.mark.parametrize(
    ("runtime_style", "words", "expected"),
    [
        (True, ("-C", _REPLAY), ["Conv", "FusedConv", "Nnapi"]),
        (True, (), ["Conv", "Conv", "HardSigmoid", "Nnapi"]),
        (True, ("-o", "1", "-C", _REPLAY), ["Conv", "Conv", "HardSigmoid", "Nnapi"]),
        (False, ("-C", _REPLAY), ["Conv", "Conv", "HardSigmoid", "Nnapi"]),
    ],
    ids=["replayed", "no key", "level 1", "fixed"],
)  # fmt: skip
def test_saved_optimizations_are_replayed_on_the_rest_alone(
    tmp_path: Path, binaries: Path, runtime_style: bool, words: tuple[str, ...], expected: list[str]
) -> None:
    phone = RootedPhone.of("redmi-go", tmp_path / "root", binaries)
    level = 99 if runtime_style else 1
    model = convert(_two_convolutions(tmp_path), tmp_path / "net.ort", level=level, runtime_style=runtime_style)
    assert phone.nnapi(model, *words, "-p", str(tmp_path / "trace")).returncode == 0
    (trace,) = tmp_path.glob("trace_*.json")
    nodes = [event for event in json.loads(trace.read_text(encoding="utf-8")) if event["cat"] == "Node"]
    names = {event["name"]: event["args"]["op_name"] for event in nodes}
    assert sorted(name.partition("_")[0] for name in names.values()) == expected


@pytest.mark.parametrize("words", [("-c", "3"), ("-P", "-y", "2")], ids=["callers", "parallel"])
def test_a_trace_of_runs_at_the_same_time(
    pixel_8: RootedPhone, extended: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = pixel_8.nnapi(extended, *words, "-r", "40", "-p", str(tmp_path / "trace"))
    assert (done.returncode, done.stderr) == (0, "")
    (trace,) = tmp_path.glob("trace_*.json")
    events = json.loads(trace.read_text(encoding="utf-8"))
    providers = [event["args"]["provider"] for event in events if event["cat"] == "Node"]
    assert providers.count("NnapiExecutionProvider") == providers.count("CPUExecutionProvider") == 2 * 41


@pytest.mark.parametrize("words", [(), ("-l",)], ids=["by path", "in memory"])
@pytest.mark.parametrize("form", ["onnx", "ort"])
def test_session_events_are_those_of_the_model_itself(
    pixel_8: RootedPhone, tmp_path: Path, form: str, words: tuple[str, ...]
) -> None:
    model = mnist(tmp_path / "mnist.onnx")
    if form == "ort":
        model = convert(model, tmp_path / "mnist.ort", level=2)
    told = {}
    for provider in ("cpu", "nnapi"):
        trace = ("-p", str(tmp_path / provider))
        done = pixel_8.perf_test("-e", provider, "-m", "times", "-r", "1", "-I", *words, *trace, str(model))
        assert done.returncode == 0
        (path,) = tmp_path.glob(f"{provider}_*.json")
        events = json.loads(path.read_text(encoding="utf-8"))
        told[provider] = [event["name"] for event in events if event["cat"] == "Session"]
    assert told["nnapi"] == told["cpu"]

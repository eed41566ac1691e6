"""`orch model check` as a person types it: text, JSON, a folder, options, and what can't be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.orch_cli import Ended, Orch
from tests.unit.variants import check_nets, nets


def fine(ended: Ended) -> str:
    assert ended.code == 0, ended
    assert max(map(len, ended.out.splitlines())) <= 80, ended
    return ended.out


def test_a_model_is_checked_in_words(orch: Orch, mnist: Path) -> None:
    out = fine(orch("model", "check", mnist))
    assert "Ready for NNAPI as it is, which takes 8 of 8 nodes in one piece" in " ".join(out.split())
    assert re.search(r"^ +27 +2/8 +2 +0 %$", out, flags=re.MULTILINE)
    assert "CoreML MLProgram: YES (8/8 nodes, 1 part)" in out
    assert not orch.home.exists()


def test_findings_have_reason_place_mend_command_and_threads(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.with_weights(1e-40, 1e-41), tmp_path / "net.onnx")
    out = fine(orch("model", "check", "net.onnx"))
    told = out[out.index("costs   denormal-weights") :].split("\n\n")[0].splitlines()
    assert told[1].strip().startswith("2 of 81 float weights are subnormal (2.5 %), in 1 tensor")
    assert told[3].strip() == "where  w (2.5 %)"
    assert told[4].strip().startswith("mend   flush them to zero in the weights")
    assert told[6].strip() == "orch model build net.onnx --recipe all+flush-denormals"
    assert told[7].strip() == "known  microsoft/onnxruntime #12959"
    assert "Mend these first: subnormal weights." in out


def test_the_command_of_a_verdict_is_taken(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.initializers_in_inputs(7), tmp_path / "net.onnx")
    out = fine(orch("model", "check", "net.onnx"))
    assert "after that it takes 4 of 4 nodes" in " ".join(out.split())
    command = next(line.split() for line in out.splitlines() if line.strip().startswith("orch model build"))
    assert orch(*command[1:]).code == 0


def test_the_same_as_json(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.initializers_in_inputs(7), tmp_path / "net.onnx")
    (report,) = json.loads(orch("model", "check", "net.onnx", "--json").out)
    first = report["findings"][0]
    assert (first["id"], first["severity"], first["places"]) == ("initializers-in-inputs", "blocks", ["w"])
    assert first["command"] == "orch model build net.onnx --recipe basic+weights-inside"
    assert report["verdict"]["command"] == first["command"]
    assert [row["api_level"] for row in report["as_is"]["levels"]] == [27, 28, 29, 30]
    (conv,) = report["as_is"]["nodes"]
    assert (conv["node"], conv["possible_at"], conv["rule"]) == ("conv", None, "constant-input")
    threads = [url for finding in report["findings"] for url in finding["threads"]]
    assert all(url.startswith("https://github.com/microsoft/onnxruntime/issues/") for url in threads)


def test_a_folder_gives_a_table_first(orch: Orch, tmp_path: Path) -> None:
    folder = tmp_path / "nets"
    folder.mkdir()
    nets.save(check_nets.plain(), folder / "plain.onnx")
    nets.save(nets.branching(), folder / "branching.onnx")
    check_nets.converted(check_nets.plain(), tmp_path / "made", check_nets.OptimizationLevel.BASIC).rename(
        folder / "done.ort"
    )
    lines = fine(orch("model", "check", "nets")).splitlines()
    assert lines[0].split() == ["model", "nodes", "opset", "NNAPI", "parts", "blocks", "costs", "verdict"]
    assert [line.split()[0] for line in lines[1:4]] == ["branching", "done", "plain"]
    assert lines[3].split() == ["plain", "4", "13", "4/4", "1", "0", "0", "ready"]


def test_what_can_not_be_read_does_not_hide_the_others(orch: Orch, tmp_path: Path) -> None:
    folder = tmp_path / "nets"
    folder.mkdir()
    nets.save(check_nets.plain(), folder / "plain.onnx")
    nets.save(check_nets.foreign(), folder / "foreign.onnx")
    (folder / "broken.onnx").write_bytes(b"nonsense")
    ended = orch("model", "check", folder)
    assert ended.code == 2
    assert "Ready for NNAPI" in ended.out
    assert sorted(line.split(":")[1].split("/")[-1] for line in ended.err.splitlines()) == [
        "broken.onnx", "foreign.onnx"
    ]  # fmt: skip


def test_the_binarys_version_counts(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.chain("Relu", opset=19), tmp_path / "net.onnx")
    assert "opset-runtime" not in fine(orch("model", "check", "net.onnx"))
    out = fine(orch("model", "check", "net.onnx", "--ort-version", "1.14.1"))
    assert "blocks  opset-runtime" in out
    assert "costs   ort-format-converter" in out
    assert "--recipe onnx+opset=18" in out


def test_numbers_for_open_dimensions(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.chain("Relu", shape=("n", 3, "h", "h")), tmp_path / "net.onnx")
    assert "n=1 (guessed)" in fine(orch("model", "check", "net.onnx"))
    out = fine(orch("model", "check", "net.onnx", "--dim", "n=2", "--dim", "h=16"))
    assert "with h=16 n=2\n" in out
    wrong = orch("model", "check", "net.onnx", "--dim", "m=2")
    assert wrong.code == 2
    assert "unknown dimension 'm'" in wrong.err


def test_what_subnormal_numbers_cost_is_measured_when_asked(orch: Orch, tmp_path: Path) -> None:
    nets.save(check_nets.with_weights(1e-40, 1e-41), tmp_path / "net.onnx")
    assert "denormal-effect" not in fine(orch("model", "check", "net.onnx"))
    out = " ".join(fine(orch("model", "check", "net.onnx", "--measure")).split())
    assert "denormal-weights 2 of 81 float weights are subnormal (2.5 %)" in out
    assert re.search(r"15 rounds of \d+ runs?, one thread, median \(quartiles\): as it is \d+\.\d+ ms", out)
    arms = r"(\d+\.\d+) ms \((\d+\.\d+) to (\d+\.\d+)\), \d+\.\d+ times \(\d+\.\d+ to \d+\.\d+\)"
    for name in ("set_denormal_as_zero", "weights flushed"):
        told = re.search(f"{name} {arms}", out)
        assert told is not None, out
        middle, low, high = map(float, told.groups())
        assert 0 < low <= middle <= high
        assert re.search(f"{name}: (faster|slower|no effect that stands out of the spread)", out)
    assert "flush them to zero in the weights" in out
    assert "x86 only" in out


def test_without_a_subnormal_weight_the_measurement_is_shown_all_the_same(orch: Orch, mnist: Path) -> None:
    out = " ".join(fine(orch("model", "check", mnist, "--measure")).split())
    assert "denormal-weights" not in out
    assert re.search(r"as it is \d+\.\d+ ms \(\d+\.\d+ to \d+\.\d+\); set_denormal_as_zero \d+\.\d+ ms", out)
    assert re.search("set_denormal_as_zero: (faster|slower|no effect that stands out of the spread)", out)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--ort-version", "new"), "'new' is no version"),
        (("--ort-version", "1.2"), "too old"),
        (("--dim", "n"), "is not NAME=NUMBER"),
    ],
)
def test_options_that_can_not_be_meant(words: tuple[str, ...], says: str, orch: Orch, mnist: Path) -> None:
    ended = orch("model", "check", mnist, *words)
    assert ended.code == 2
    assert says in ended.err
    assert ended.out == ""

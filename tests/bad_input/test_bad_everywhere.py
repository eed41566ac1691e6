"""The same bad models and bad data through every command that takes a model: one clear refusal from each, exit 2,
nothing on stdout, no phone touched, nothing left on the shelf."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from tests.bad_input import test_bad_models as bad
from tests.bad_input.conftest import Refused
from tests.orch_cli import Ended, Orch
from tests.unit.variants import check_nets, nets

Make = Callable[[Path], Path]
ON_A_PHONE = ("--device", "virtual:pixel-8")
QUANTIZED = "onnx+qdq-u8u8"

BAD: Mapping[str, tuple[Make, str]] = {
    "corrupt protobuf": (bad.truncated, "not an ONNX model, or cut off"),
    "missing external data": (bad.external_missing, "weights.bin: no such file"),
    "external data above": (bad.external_above, "leaves the model's folder"),
    "external data by a link": (bad.external_link, "leaves the model's folder"),
    "a cycle": (lambda folder: nets.save(check_nets.cyclic(), folder / "net.onnx"), "the graph has a cycle"),
    "an undeclared tensor": (
        lambda folder: nets.save(check_nets.undeclared(), folder / "net.onnx"),
        "relu0 takes nowhere, which nothing makes",
    ),
    "an unsupported opset": (bad.opset_of_the_future, "opset 999"),
    "a custom domain without its library": (
        lambda folder: nets.save(check_nets.foreign(), folder / "net.onnx"),
        "of domain com.example (Relu)",
    ),
}


def at_once(orch: Orch, *commands: tuple[str | Path, ...]) -> list[Ended]:
    """Several commands side by side, to their ends."""
    started = [orch.start(*words) for words in commands]
    ended = [process.communicate(timeout=120) for process in started]
    return [Ended(process.returncode, *texts) for process, texts in zip(started, ended, strict=True)]


def touched(orch: Orch) -> list[Path]:
    """What would tell of a virtual phone, of a run, of a variant that was begun."""
    phones_and_runs = [orch.home / "virtual" / "phones", orch.home / "ledger.sqlite"]
    begun = [path for name in ("variants", "tmp") for path in (orch.home / "shelf" / name).glob("*")]
    return [path for path in phones_and_runs if path.exists()] + begun


@pytest.mark.parametrize("what", BAD)
def test_a_bad_model(what: str, orch: Orch, refused: Refused, tmp_path: Path) -> None:
    make, words = BAD[what]
    model = make(tmp_path)
    for ended in at_once(
        orch,
        ("model", "check", model),
        ("model", "build", model),
        ("model", "diff", model, f"{model}:basic"),
        ("run", model, *ON_A_PHONE),
    ):
        refused(ended, words, model.name)
    assert touched(orch) == []


def test_quantizing_with_data_of_the_wrong_shape(orch: Orch, refused: Refused, model: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    small = numpy_helper.from_array(np.zeros((1, 1, 3, 3), np.float32))
    (inputs / "input_0.pb").write_bytes(small.SerializeToString())
    plan = tmp_path / "plan.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nrecipe = ["{QUANTIZED}"]\n')
    for ended in at_once(
        orch,
        ("model", "build", model, "--recipe", QUANTIZED, "--inputs", inputs),
        ("model", "diff", model, f"{model}:{QUANTIZED}", "--inputs", inputs),
        ("run", plan, "--inputs", inputs, *ON_A_PHONE),
    ):
        refused(ended, "input_0.pb: shape [1, 1, 3, 3], the model takes [1, 1, 28, 28]")
    assert touched(orch) == []


def test_over_2_gb_everywhere(orch: Orch, tmp_path: Path) -> None:
    """The weights are a hole in their file; `test_bad_check` has `orch model check` on it."""
    model = check_nets.huge(tmp_path)
    plan = tmp_path / "plan.toml"
    plan.write_text(f'models = ["{model}"]\n[[matrix]]\nrecipe = ["basic"]\n')
    planned = orch("plan", plan, *ON_A_PHONE)
    assert planned.code == 0, planned
    assert "plan: 0 trials" in planned.out
    assert "ORT format ends at 2 GB: such a model is only ONNX with external data" in " ".join(planned.out.split())
    different, built = at_once(
        orch,
        ("model", "diff", model, model),
        ("model", "build", model, "--recipe", "basic", "--recipe", "nnapi-aware", "--recipe", "basic+fp16"),
    )
    assert different.code == 0, different
    assert "NNAPI's claim is told of models below 2 GB only" in " ".join(different.out.split())
    assert built.code == 0, built
    assert built.out.count("GB, and ORT format ends at 2 GB") == 3, built
    entries = [json.loads(entry.read_text()) for entry in (orch.home / "shelf" / "variants").glob("*/*.json")]
    assert model.stem not in {entry["model_name"] for entry in entries}, entries

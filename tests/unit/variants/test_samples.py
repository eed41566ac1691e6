"""The demo's models: same bytes every time, and answers that depend on the question."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from orchestrator.variants.light_nets import LIGHT, weight_names
from orchestrator.variants.other_nets import OTHER
from orchestrator.variants.samples import ALL, mnist, squeezenet, write_samples


def test_bytes_are_the_same_in_another_process(models: Path, tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "orchestrator.variants.samples", str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert out == [str(tmp_path / "mnist.onnx"), str(tmp_path / "squeezenet.onnx")]
    for name, make in (("mnist", mnist), ("squeezenet", squeezenet)):
        data = hashlib.sha256(make()).hexdigest()
        for folder in (models, tmp_path):
            assert hashlib.sha256((folder / f"{name}.onnx").read_bytes()).hexdigest() == data
        assert make(seed=5) != make()


@pytest.mark.parametrize("name", list(ALL))
def test_answers_change_with_the_input(name: str, tmp_path: Path) -> None:
    (path,) = write_samples(tmp_path, [name])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (feed,) = session.get_inputs()
    rng = np.random.default_rng(0)
    asked = [
        rng.integers(0, 100, feed.shape) if feed.type == "tensor(int64)" else rng.standard_normal(feed.shape, "f4")
        for _ in range(2)
    ]
    first, second = (session.run(None, {feed.name: values})[0] for values in asked)
    assert np.isfinite(first).all()
    assert np.abs(first - second).max() > 1e-3 * np.abs(first).max()
    assert first.std() > 0


@pytest.mark.parametrize("name", [*LIGHT, *OTHER])
def test_the_others_have_the_same_bytes_again_and_other_ones_from_another_seed(name: str) -> None:
    assert ALL[name]() == ALL[name]()
    assert ALL[name](seed=5) != ALL[name]()


def test_a_light_net_keeps_its_architecture_and_its_weights_are_no_inputs() -> None:
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    for name, file in LIGHT.items():
        theirs, ours = onnx.load_model(folder / f"{file}.onnx"), onnx.load_model_from_string(ALL[name]())
        operators = [node.op_type for node in theirs.graph.node if node.op_type != "ConstantOfShape"]
        assert [node.op_type for node in ours.graph.node] == operators
        assert len(ours.graph.input) == 1
        assert len(list(weight_names(ours))) == operators.count("Conv") + operators.count("Gemm") - (
            name == "inception_v1"  # its last weights go through a Reshape
        )

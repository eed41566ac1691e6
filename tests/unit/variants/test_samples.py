"""The demo's models: same bytes every time, and answers that depend on the question."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from orchestrator.variants.samples import mnist, squeezenet


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


@pytest.mark.parametrize(
    ("name", "feed", "shape"), [("mnist", "Input3", (1, 1, 28, 28)), ("squeezenet", "data_0", (1, 3, 224, 224))]
)
def test_answers_change_with_the_input(models: Path, name: str, feed: str, shape: tuple[int, ...]) -> None:
    session = onnxruntime.InferenceSession(str(models / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    first, second = (session.run(None, {feed: rng.standard_normal(shape).astype(np.float32)})[0] for _ in range(2))
    assert np.isfinite(first).all()
    assert np.abs(first - second).max() > 1e-3 * np.abs(first).max()
    assert first.std() > 0

"""A library of one custom operator, compiled here, and a model that uses it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from onnx import helper

from tests.unit.variants import nets

SOURCE = Path(__file__).parent / "custom_op.c"


def library(folder: Path) -> Path:
    """`orch.test:Twice` as a shared library for this host; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc): custom operators are not tested")
    target = folder / "libtwice.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(SOURCE)], check=True)
    return target


def model(folder: Path) -> Path:
    """`y = 2 · relu(x)` on four floats, the doubling by the custom operator."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], "relu"),
        helper.make_node("Twice", ["r"], ["y"], "twice", domain="orch.test"),
    ]
    made = nets.model_of(nodes, [nets.value("x", (4,))], [nets.value("y", (4,))])
    made.opset_import.add(domain="orch.test", version=1)
    return nets.save(made, folder / "twice.onnx")

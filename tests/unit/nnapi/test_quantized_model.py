"""A model that onnxruntime's own quantizer made: DequantizeLinear and QuantizeLinear around every operator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from android_runner.nnapi.graph import Graph
from orchestrator.variants import samples
from tests.unit.nnapi import placed


class _Once(CalibrationDataReader):  # type: ignore[misc,unused-ignore]
    """One input for the quantizer to look at."""

    def __init__(self) -> None:
        self._left = [{"Input3": np.random.default_rng(0).standard_normal((1, 1, 28, 28)).astype(np.float32)}]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self._left.pop() if self._left else None


def _quantized(folder: Path, kind: QuantType) -> Graph:
    plain, made = folder / "plain.onnx", folder / "quantized.onnx"
    onnx.save_model(placed.optimized(samples.mnist(), "basic"), str(plain))
    quantize_static(
        str(plain), str(made), _Once(), quant_format=QuantFormat.QDQ, activation_type=kind, weight_type=kind
    )
    return placed.graph(placed.optimized(made.read_bytes(), "basic"))


@pytest.mark.parametrize(("api_level", "claimed"), [(28, 19), (29, 20), (34, 20)])
def test_uint8_is_taken_but_for_max_pool(tmp_path: Path, api_level: int, claimed: int) -> None:
    """Below API 29 the input's own QuantizeLinear stays on the CPU too."""
    graph = _quantized(tmp_path, QuantType.QUInt8)
    found = placed.placed(graph, api_level)
    assert (len(found.partitions), found.claimed_count, len(graph.nodes)) == (3, claimed, 26)
    taken = Counter(op for partition in placed.told(graph, found) for op in partition)
    assert (taken["Conv"], taken["Gemm"], taken["Reshape"], taken["MaxPool"]) == (2, 1, 1, 0)
    assert {one.reason for one in found.refused} - {"QuantizeLinear needs API 29, this is 28"} == {
        "MaxPool is not taken between DequantizeLinear and QuantizeLinear"
    }


def test_int8_is_not_taken(tmp_path: Path) -> None:
    graph = _quantized(tmp_path, QuantType.QInt8)
    found = placed.placed(graph, 34)
    assert found.claimed_count == 0
    assert {one.rule for one in found.refused} == {"type", "quantization"}

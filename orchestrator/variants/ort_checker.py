"""What onnxruntime's own usability checker says (`onnxruntime.tools.mobile_helpers.usability_checker`).

It looks at operators and at fixed shapes, after onnx's shape inference. Where that fails, so does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.variants.checks.facts import CheckerAnswer
from orchestrator.variants.naming import shown

_COREML = {
    "CoreML NeuralNetwork": "coreml_supported_neuralnetwork_ops.md",
    "CoreML MLProgram": "coreml_supported_mlprogram_ops.md",
}


def checker_answers(model: Any, folder: Path) -> tuple[CheckerAnswer, ...]:
    """NNAPI and both kinds of CoreML, as the shapes are and as if they were fixed. `model` is a ModelProto after level
    basic, `folder` where its external data lies."""
    try:
        import onnx  # noqa: PLC0415
        from onnxruntime.tools.mobile_helpers import usability_checker as upstream  # noqa: PLC0415

        shaped = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:  # noqa: BLE001 - whatever a foreign tool raises: it does not answer
        words = _words(error)
        return tuple(
            CheckerAnswer(provider=name, fixed=fixed, problem=words)
            for name in ("NNAPI", *_COREML)
            for fixed in (False, True)
        )
    return tuple(_answers(upstream, shaped))


def _answers(upstream: Any, shaped: Any) -> Iterator[CheckerAnswer]:
    for name in ("NNAPI", *_COREML):
        for fixed in (False, True):
            try:
                if name == "NNAPI":
                    found = upstream.check_nnapi_partitions(shaped, not fixed)
                else:
                    found = upstream.check_coreml_partitions(shaped, not fixed, _COREML[name])
                yield CheckerAnswer(
                    provider=name,
                    fixed=fixed,
                    partitions=found.num_partitions,
                    nodes_taken=found.num_supported_nodes,
                    nodes=found.num_nodes,
                    answer=found.suitability().name,
                )
            except Exception as error:  # noqa: BLE001 - as above
                yield CheckerAnswer(provider=name, fixed=fixed, problem=_words(error))


def _words(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return shown(f"{type(error).__name__}: {first}"[:160])

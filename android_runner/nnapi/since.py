"""Pure: since which opset an operator has its present form.

The claim rules compare this number, not the model's opset. It is not written in an ONNX file, so it is looked up; the
table has ONNX's own operators that NNAPI knows, from the operator schemas of ONNX 1.23.
"""

from __future__ import annotations

_VERSIONS: dict[str, tuple[int, ...]] = {
    "Abs": (1, 6, 13),
    "Add": (1, 6, 7, 13, 14),
    "AveragePool": (1, 7, 10, 11, 19, 22),
    "BatchNormalization": (1, 6, 7, 9, 14, 15),
    "Cast": (1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    "Clip": (1, 6, 11, 12, 13),
    "Concat": (1, 4, 11, 13),
    "Conv": (1, 11, 22),
    "DepthToSpace": (1, 11, 13, 28),
    "DequantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "Div": (1, 6, 7, 13, 14),
    "Elu": (1, 6, 22),
    "Exp": (1, 6, 13),
    "Flatten": (1, 9, 11, 13, 21, 23, 24, 25),
    "Floor": (1, 6, 13),
    "Gather": (1, 11, 13),
    "Gemm": (1, 6, 7, 9, 11, 13),
    "GlobalAveragePool": (1, 22),
    "GlobalMaxPool": (1, 22),
    "Identity": (1, 13, 14, 16, 19, 21, 23, 24, 25),
    "LRN": (1, 13),
    "LeakyRelu": (1, 6, 16),
    "Log": (1, 6, 13),
    "MatMul": (1, 9, 13),
    "Max": (1, 6, 8, 12, 13),
    "MaxPool": (1, 8, 10, 11, 12, 22),
    "Min": (1, 6, 8, 12, 13),
    "Mul": (1, 6, 7, 13, 14),
    "Neg": (1, 6, 13),
    "PRelu": (1, 6, 7, 9, 16),
    "Pad": (1, 2, 11, 13, 18, 19, 21, 23, 24, 25),
    "Pow": (1, 7, 12, 13, 15),
    "QLinearConv": (10,),
    "QLinearMatMul": (10, 21),
    "QuantizeLinear": (10, 13, 19, 21, 23, 24, 25, 28),
    "ReduceMean": (1, 11, 13, 18),
    "Relu": (1, 6, 13, 14),
    "Reshape": (1, 5, 13, 14, 19, 21, 23, 24, 25),
    "Resize": (10, 11, 13, 18, 19),
    "Sigmoid": (1, 6, 13),
    "Sin": (7, 22),
    "Slice": (1, 10, 11, 13),
    "Softmax": (1, 11, 13),
    "Split": (1, 2, 11, 13, 18),
    "Sqrt": (1, 6, 13),
    "Squeeze": (1, 11, 13, 21, 23, 24, 25),
    "Sub": (1, 6, 7, 13, 14),
    "Tanh": (1, 6, 13),
    "Transpose": (1, 13, 21, 23, 24, 25),
    "Unsqueeze": (1, 11, 13, 21, 23, 24, 25),
}


def since_version(op_type: str, domain: str, opset: int) -> int:
    """The version of an operator under the opset of its domain.

    For operators without an entry and for other domains (where ONNX Runtime has one version of nearly everything):
    the opset, and 1.
    """
    if domain not in ("", "ai.onnx"):
        return 1
    known = [version for version in _VERSIONS.get(op_type, ()) if version <= opset]
    return known[-1] if known else opset

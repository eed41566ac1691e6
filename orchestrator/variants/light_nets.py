"""The onnx package's light CNNs with weights in place of their constants.

The package carries the architectures for its own tests; their weights are one number each, so that they compute a
constant. Here every weight gets values from a seed: convolutions and fully connected layers are He-scaled, batch norms
and scale layers stay near identity, and a branch that is added to another is made small, so that a signal keeps its
size to the end. Architectures are true, answers are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

LIGHT = {
    "resnet50": "light_resnet50",
    "shufflenet": "light_shufflenet",
    "densenet121": "light_densenet121",
    "inception_v1": "light_inception_v1",
    "inception_v2": "light_inception_v2",
}
"""A sample's name, and the file in the onnx package that it is made from."""

_IR_VERSION = 7
_NEAR = 0.1
"""How far batch norms and scale layers may be from identity, as a standard deviation."""
_BRANCH, _BRANCHES = 0.3, 0.7
"""Scale of a batch norm that is added to what it was made from, and of one that is added to another batch norm."""


def light(name: str, seed: int) -> Any:
    """The ModelProto of a name in `LIGHT`, IR 7, its weights no graph inputs. Raises KeyError for another name."""
    import numpy as np  # noqa: PLC0415
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"{LIGHT[name]}.onnx"
    model: Any = onnx.load_model(str(path))
    graph = model.graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    shapes = {node.output[0]: held[node.input[0]].tolist() for node in made}
    shapes |= {tensor: list(value.shape) for tensor, value in held.items() if value.dtype == np.float32}
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    roles = _roles(kept, shapes)
    rng = np.random.default_rng(seed)
    weights = {
        tensor: _values(rng, shape, *roles[tensor]) for tensor, shape in sorted(shapes.items()) if tensor in roles
    }
    used = {tensor for node in kept for tensor in node.input}
    weights |= {tensor: value for tensor, value in held.items() if tensor in used and tensor not in shapes}
    given = [value for value in graph.input if value.name not in held]
    constants = [numpy_helper.from_array(value, tensor) for tensor, value in sorted(weights.items())]
    for field, items in (("node", kept), ("initializer", constants), ("input", given)):
        del getattr(graph, field)[:]
        getattr(graph, field).extend(items)
    model.ir_version = _IR_VERSION
    return model


_Role = tuple[str, float]
"""`he` with the number of inputs, or `near` / `spread` / `positive` with what they are near to."""


def _roles(nodes: Sequence[Any], shapes: Mapping[str, Sequence[int]]) -> dict[str, _Role]:
    """What each weight is to the layer that reads it."""
    readers: dict[str, list[tuple[Any, int]]] = {}
    for node in nodes:
        for at, tensor in enumerate(node.input):
            readers.setdefault(tensor, []).append((node, at))
    makers = {tensor: node for node in nodes for tensor in node.output}
    found: dict[str, _Role] = {}
    for tensor, shape in shapes.items():
        for node, at in readers.get(tensor, []):
            found[tensor] = _role(node, at, shape, readers, makers)
    return found


def _role(
    node: Any,
    at: int,
    shape: Sequence[int],
    readers: Mapping[str, Sequence[tuple[Any, int]]],
    makers: Mapping[str, Any],
) -> _Role:
    if node.op_type in ("Reshape", "Unsqueeze"):  # the layer behind it is what reads the weight
        inner = readers[node.output[0]][0]
        return _role(*inner, shape, readers, makers)
    if node.op_type == "Conv" and at == 1:
        return "he", float(_product(shape[1:]))
    if node.op_type == "Gemm" and at == 1:
        return "he", float(_product(shape[1:]))  # every light net says transB
    if node.op_type == "BatchNormalization" and at == 1:
        return "near", _branch_scale(node, readers, makers)
    if node.op_type == "BatchNormalization" and at == 4:
        return "positive", 1.0
    return ("near", 1.0) if node.op_type == "Mul" else ("near", 0.0)


def _branch_scale(norm: Any, readers: Mapping[str, Sequence[tuple[Any, int]]], makers: Mapping[str, Any]) -> float:
    for reader, _ in readers.get(norm.output[0], []):
        if reader.op_type == "Sum":
            norms = sum(getattr(makers.get(name), "op_type", "") == "BatchNormalization" for name in reader.input)
            return _BRANCHES if norms > 1 else _BRANCH
    return 1.0


def _product(numbers: Sequence[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


def _values(rng: np.random.Generator, shape: Sequence[int], kind: str, number: float) -> np.ndarray[Any, Any]:
    values = rng.standard_normal(tuple(shape))
    if kind == "he":
        values *= (2.0 / number) ** 0.5
    elif kind == "positive":
        values = number * (1 + _NEAR * abs(values))
    else:
        values = number + _NEAR * (number or 1.0) * values
    made: np.ndarray[Any, Any] = values.astype("<f4")
    return made


def weight_names(model: Any) -> Iterator[str]:
    """Names of the convolutions' and fully connected layers' weights, in the order of the nodes."""
    held = {tensor.name for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm", "MatMul"):
            yield from (name for name in node.input[1:2] if name in held)

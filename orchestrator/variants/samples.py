"""The demo's models: `python -m orchestrator.variants.samples OUTDIR`; with `--all` eleven for a look at every recipe.

`mnist.onnx` is the CNTK-style MNIST network of ONNX Runtime's documentation, 12 nodes; `squeezenet.onnx` is the light
SqueezeNet that the onnx package carries for its tests. Both get weights from a seed (the package's own are constants,
with which the output does not depend on the input): architectures are true, answers are not. Bytes are the same at
each run. The others are the package's other light CNNs (`light_nets`) and nets of other kinds (`other_nets`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.variants.light_nets import LIGHT, light
from orchestrator.variants.other_nets import OTHER

if TYPE_CHECKING:
    import numpy as np

SEED = 2
_IR_VERSION = 7
_OPSET = 13


def mnist(seed: int = SEED) -> bytes:
    """The 12-node MNIST network as an ONNX file's bytes: input `Input3` 1x1x28x28, output `Plus214_Output_0` 1x10."""
    import numpy as np  # noqa: PLC0415
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    rng = np.random.default_rng(seed)

    def weights(name: str, *shape: int, inputs: int) -> Any:
        return numpy_helper.from_array(_he(rng, shape, inputs), name)

    same: dict[str, Any] = {"auto_pad": "SAME_UPPER", "kernel_shape": [5, 5], "strides": [1, 1]}
    constants = [
        weights("Parameter5", 8, 1, 5, 5, inputs=25),
        weights("Parameter6", 8, 1, 1, inputs=25),
        weights("Parameter87", 16, 8, 5, 5, inputs=200),
        weights("Parameter88", 16, 1, 1, inputs=200),
        weights("Parameter193", 16, 4, 4, 10, inputs=256),
        weights("Parameter194", 1, 10, inputs=256),
        numpy_helper.from_array(np.array([256, 10], np.int64), "Parameter193_reshape1_shape"),
        numpy_helper.from_array(np.array([1, 256], np.int64), "Pooling160_Output_0_reshape0_shape"),
    ]
    node = helper.make_node
    nodes = [
        node("Conv", ["Input3", "Parameter5"], ["Convolution28_Output_0"], "Convolution28", **same),
        node("Add", ["Convolution28_Output_0", "Parameter6"], ["Plus30_Output_0"], "Plus30"),
        node("Relu", ["Plus30_Output_0"], ["ReLU32_Output_0"], "ReLU32"),
        node("MaxPool", ["ReLU32_Output_0"], ["Pooling66_Output_0"], "Pooling66", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["Pooling66_Output_0", "Parameter87"], ["Convolution110_Output_0"], "Convolution110", **same),
        node("Add", ["Convolution110_Output_0", "Parameter88"], ["Plus112_Output_0"], "Plus112"),
        node("Relu", ["Plus112_Output_0"], ["ReLU114_Output_0"], "ReLU114"),
        node(
            "MaxPool", ["ReLU114_Output_0"], ["Pooling160_Output_0"], "Pooling160", kernel_shape=[3, 3], strides=[3, 3]
        ),
        node(
            "Reshape",
            ["Parameter193", "Parameter193_reshape1_shape"],
            ["Parameter193_reshape1"],
            "Times212_reshape1",
        ),
        node(
            "Reshape",
            ["Pooling160_Output_0", "Pooling160_Output_0_reshape0_shape"],
            ["Pooling160_Output_0_reshape0"],
            "Times212_reshape0",
        ),
        node("MatMul", ["Pooling160_Output_0_reshape0", "Parameter193_reshape1"], ["Times212_Output_0"], "Times212"),
        node("Add", ["Times212_Output_0", "Parameter194"], ["Plus214_Output_0"], "Plus214"),
    ]
    graph = helper.make_graph(
        nodes,
        "CNTKGraph",
        [helper.make_tensor_value_info("Input3", TensorProto.FLOAT, [1, 1, 28, 28])],
        [helper.make_tensor_value_info("Plus214_Output_0", TensorProto.FLOAT, [1, 10])],
        constants,
    )
    return _bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION))


def squeezenet(seed: int = SEED) -> bytes:
    """The onnx package's light SqueezeNet with He-scaled weights in place of its constants, as an ONNX file's bytes:
    input `data_0` 1x3x224x224, output `softmaxout_1` 1x1000x1x1."""
    import numpy as np  # noqa: PLC0415
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
    model: Any = onnx.load_model(str(light))
    graph = model.graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = {n.output[0]: held[n.input[0]].tolist() for n in graph.node if n.op_type == "ConstantOfShape"}
    shapes |= {name: list(value.shape) for name, value in held.items() if not name.endswith("__SHAPE")}
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    fan_in = {n.input[2]: n.input[1] for n in kept if n.op_type == "Conv"}
    rng = np.random.default_rng(seed)
    constants = []
    for name in sorted(shapes):
        weights = shapes[fan_in.get(name, name)]
        constants.append(numpy_helper.from_array(_he(rng, shapes[name], int(np.prod(weights[1:]))), name))
    given = [value for value in graph.input if value.name not in held]
    for field, items in (("node", kept), ("initializer", constants), ("input", given)):
        del getattr(graph, field)[:]
        getattr(graph, field).extend(items)
    model.ir_version = _IR_VERSION
    return _bytes(model)


def _he(rng: np.random.Generator, shape: Sequence[int], inputs: int) -> np.ndarray[Any, Any]:
    """Normal values of variance 2 / inputs, so that a signal keeps its size through layers of ReLU."""
    scaled: np.ndarray[Any, Any] = rng.standard_normal(tuple(shape)) * (2.0 / inputs) ** 0.5
    return scaled.astype("<f4")


def _bytes(model: Any) -> bytes:
    model.producer_name = "orch samples"
    model.producer_version = ""
    return bytes(model.SerializeToString(deterministic=True))


def _made(make: Callable[[int], Any], seed: int = SEED) -> bytes:
    return _bytes(make(seed))


DEFAULT: dict[str, Callable[..., bytes]] = {"mnist": mnist, "squeezenet": squeezenet}
"""What is written without `--all`: a name, and what makes the file's bytes (from a `seed`)."""
ALL: dict[str, Callable[..., bytes]] = {
    **DEFAULT,
    **{name: partial(_made, partial(light, name)) for name in LIGHT},
    **{name: partial(_made, make) for name, make in OTHER.items()},
}
"""Every sample, the largest about 100 MB."""


def write_samples(folder: Path, names: Sequence[str] = tuple(DEFAULT)) -> tuple[Path, ...]:
    """Write the named samples into `folder` (made if missing) and give their paths. Raises OSError, KeyError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        path = folder / f"{name}.onnx"
        path.write_bytes(ALL[name]())
        written.append(path)
    return tuple(written)


def main() -> None:
    """Write the samples into the folder named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.variants.samples", description="Write demo models.")
    parser.add_argument("folder", type=Path, metavar="OUTDIR")
    parser.add_argument("--all", action="store_true", help="all of them (about 230 MB), not only MNIST and SqueezeNet")
    asked = parser.parse_args()
    for path in write_samples(asked.folder, tuple(ALL if asked.all else DEFAULT)):
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()

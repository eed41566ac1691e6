"""A net with a part in its middle that NNAPI takes none of, and that level extended fuses."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from tests.unit.variants import nets


def gelu(x: str, y: str) -> list[Any]:
    """The five nodes that extended makes one."""
    make = helper.make_node
    return [
        make("Div", [x, "root2"], [f"{y}_d"], f"{y}_div"),
        make("Erf", [f"{y}_d"], [f"{y}_e"], f"{y}_erf"),
        make("Add", [f"{y}_e", "one"], [f"{y}_a"], f"{y}_add"),
        make("Mul", [x, f"{y}_a"], [f"{y}_m"], f"{y}_mul"),
        make("Mul", [f"{y}_m", "half"], [y], f"{y}_half"),
    ]


def hostile_middle() -> Any:
    """Two convolutions, in five dimensions something that NNAPI takes none of, a convolution that it refuses with its
    activation, and two more. Some nodes have no name."""
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w1"], ["c1"], "conv", pads=[1, 1, 1, 1]),
        make("Relu", ["c1"], ["r1"]),
        make("Conv", ["r1", "w2"], ["c2"], "second", pads=[1, 1, 1, 1]),
        make("Relu", ["c2"], ["r2"]),
        make("Reshape", ["r2", "five"], ["f"], "to five"),
        *gelu("f", "g"),
        make("Reshape", ["g", "four"], ["b"], "to four"),
        make("Conv", ["b", "w3"], ["c3"], "grouped", pads=[2, 2, 2, 2], dilations=[2, 2], group=2),
        make("HardSigmoid", ["c3"], ["h"], "hard"),
        make("Conv", ["h", "w2"], ["c4"], "last", pads=[1, 1, 1, 1]),
        make("Relu", ["c4"], ["y"]),
    ]
    constants = [
        nets.weights("w1", 4, 3, 3, 3),
        nets.weights("w2", 4, 4, 3, 3, seed=2),
        nets.weights("w3", 4, 2, 3, 3, seed=3),
        numpy_helper.from_array(np.array([1, 4, 2, 4, 8], np.int64), "five"),
        numpy_helper.from_array(np.array([1, 4, 8, 8], np.int64), "four"),
        numpy_helper.from_array(np.float32(2**0.5), "root2"),
        numpy_helper.from_array(np.float32(1), "one"),
        numpy_helper.from_array(np.float32(0.5), "half"),
    ]
    shapes = [nets.value("x", (1, 3, 8, 8))], [nets.value("y", (1, 4, 8, 8))]
    return nets.model_of(nodes, *shapes, constants)

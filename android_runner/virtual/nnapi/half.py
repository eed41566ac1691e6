"""FP16 relaxation: a partition's numbers lose what half precision can't hold, as a driver may let them.

Each float tensor goes to float16 and back: what comes in, what each node gives, and the weights (once, while building).
Sums inside of one operator stay in float; drivers differ there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from android_runner.virtual.nnapi.names import Namer

_FLOAT = int(TensorProto.FLOAT)


class HalfBody:
    """Rewrites the nodes of partitions of one graph."""

    def __init__(self, graph: Any, namer: Namer, types: Mapping[str, int], constants: Mapping[str, Any]) -> None:
        """`types` are element types by tensor name, `constants` the initializers that nobody can override."""
        self._graph = graph
        self._namer = namer
        self._types = types
        self._constants = constants
        self._rounded: dict[str, str] = {}

    def nodes(self, nodes: Iterable[Any], inputs: Iterable[str]) -> list[Any]:
        """The nodes between casts; `nodes` are the caller's own copies and get other names of tensors."""
        made: list[Any] = []
        renamed: dict[str, str] = {}
        for name in inputs:
            if self._types.get(name) != _FLOAT:
                continue
            if name in self._constants:
                renamed[name] = self._rounded_constant(name)
            else:
                renamed[name] = self._namer.fresh(f"{name}_relaxed")
                made += self._there_and_back(name, renamed[name])
        for node in nodes:
            for at, name in enumerate(node.input):
                node.input[at] = renamed.get(name, name)
            made.append(node)
            for at, name in enumerate(node.output):
                if name and self._types.get(name) == _FLOAT:
                    node.output[at] = self._namer.fresh(f"{name}_exact")
                    made += self._there_and_back(node.output[at], name)
        return made

    def _there_and_back(self, source: str, target: str) -> list[Any]:
        between = self._namer.fresh(f"{source}_half")
        return [
            helper.make_node(
                "Cast", [source], [between], self._namer.fresh(f"{source}_to_half"), to=TensorProto.FLOAT16
            ),
            helper.make_node(
                "Cast", [between], [target], self._namer.fresh(f"{source}_to_float"), to=TensorProto.FLOAT
            ),
        ]

    def _rounded_constant(self, name: str) -> str:
        if name not in self._rounded:
            self._rounded[name] = self._namer.fresh(f"{name}_rounded")
            with np.errstate(over="ignore"):
                rounded = numpy_helper.to_array(self._constants[name]).astype(np.float16).astype(np.float32)
            self._graph.initializer.append(numpy_helper.from_array(rounded, self._rounded[name]))
        return self._rounded[name]

"""A driver that computes something else than it should: what a partition gives is off by a quarter of itself.

A wrong answer that looks like one: finite, of the right shape and size, and with the same largest element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from android_runner.virtual.nnapi.names import Namer

FACTOR = 1.25


class WrongBody:
    """Adds to the nodes of partitions of one graph."""

    def __init__(self, graph: Any, namer: Namer, types: Mapping[str, int]) -> None:
        """`types` are element types by tensor name."""
        self._graph = graph
        self._namer = namer
        self._types = types
        self._factor = ""

    def nodes(self, nodes: Iterable[Any], outputs: Iterable[str]) -> list[Any]:
        """The nodes, then what spoils each float output; `nodes` are the caller's own copies."""
        made = list(nodes)
        spoilt = {name: self._namer.fresh(f"{name}_right") for name in outputs if self._is_float(name)}
        for node in made:
            for names in (node.input, node.output):
                for at, name in enumerate(names):
                    names[at] = spoilt.get(name, name)
        return made + [
            helper.make_node("Mul", [right, self._factor_name()], [name], self._namer.fresh(f"{name}_spoilt"))
            for name, right in spoilt.items()
        ]

    def _is_float(self, name: str) -> bool:
        return self._types.get(name) == TensorProto.FLOAT

    def _factor_name(self) -> str:
        if not self._factor:
            self._factor = self._namer.fresh("driver_is_wrong")
            self._graph.initializer.append(numpy_helper.from_array(np.array(FACTOR, np.float32), self._factor))
        return self._factor

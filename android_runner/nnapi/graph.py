"""Pure: a model's graph as the claim rules look at it, without its file format.

Every value has its shape where it is known; values of small constants (shapes, axes, bounds, scales) are held because
the rules read them. Names are those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = int | float | str
AttributeValue = Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor. `elem_type` is the number of ONNX's `TensorProto.DataType`, 0 where it is not known (or no tensor).

    `dims` is None where the rank is not known; a dimension that is not fixed is -1. `constant`: an initializer that
    can't be overridden. `elements` holds a constant's values in order where there are at most `MAX_ELEMENTS`, else
    None. `external`: an initializer whose bytes lie in a file of their own.
    """

    name: str
    elem_type: int = 0
    dims: tuple[int, ...] | None = None
    constant: bool = False
    elements: tuple[int | float, ...] | None = None
    external: bool = False

    @property
    def fixed(self) -> bool:
        """Whether rank and every dimension are known."""
        return self.dims is not None and all(dim >= 0 for dim in self.dims)


MAX_ELEMENTS = 4096
"""Constants with more elements are weights: no rule reads their values."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator. `domain` is empty for ai.onnx; a missing optional input or output is the empty name.

    `implicit` are the outer values that its sub-graphs use. Attributes that are graphs or tensors are left out, and
    `has_subgraph` says that there was a graph.
    """

    name: str
    op_type: str
    domain: str
    since_version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    implicit: tuple[str, ...] = ()
    has_subgraph: bool = False

    @property
    def label(self) -> str:
        """`Conv`, `com.microsoft:FusedConv`."""
        return f"{self.domain}:{self.op_type}" if self.domain else self.op_type


@dataclass(frozen=True, slots=True)
class Graph:
    """The main graph, nodes in topological order. `values` has every named tensor, `inputs` without constants."""

    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int

    def value(self, name: str) -> Value:
        """A tensor by name; an unknown one has no type and no shape."""
        return self.values.get(name) or Value(name)

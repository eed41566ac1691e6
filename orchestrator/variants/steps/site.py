"""A node that is to be replaced, with what is known about it, and the nodes that take its place as they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from android_runner.nnapi.graph import Graph, Value

_FLOAT = 1
_MAX_FOLLOWED = 16
_ATTRIBUTE_FLOAT, _ATTRIBUTE_INT, _ATTRIBUTE_STRING, _ATTRIBUTE_INTS = 1, 2, 3, 7


class Site:
    """`node` is the NodeProto; `view` has the types and shapes of its graph, `held` the graph's initializers by name.

    A rule makes its nodes in order with `put`; the last ones say which of the node's outputs they give.
    """

    def __init__(self, node: Any, view: Graph, held: Mapping[str, Any], makers: Mapping[str, Any], mark: str) -> None:
        """`makers` has the node that makes each value; `mark` keeps new names apart from those made before."""
        self.node = node
        self.opset = view.opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._view = view
        self._held = held
        self._makers = makers
        self._mark = mark

    @property
    def count(self) -> int:
        """How many inputs there are, empty ones counted."""
        return len(self.node.input)

    def input(self, at: int) -> str:
        """The name of an input, empty where there is none."""
        return str(self.node.input[at]) if at < self.count else ""

    def before_reshapes(self, at: int) -> str:
        """The value that an input is another shape of: itself, or what went into the Reshapes before it."""
        name = self.input(at)
        for _ in range(_MAX_FOLLOWED):
            maker = self._makers.get(name)
            if maker is None or maker.op_type not in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
                break
            name = str(maker.input[0])
        return name

    def value(self, at: int) -> Value:
        """An input's type and shape."""
        return self._view.value(self.input(at))

    def dims(self, at: int = 0) -> tuple[int, ...] | None:
        """An input's dimensions where all are fixed."""
        value = self.value(at)
        return value.dims if value.fixed else None

    def output_dims(self) -> tuple[int, ...] | None:
        """The first output's dimensions where all are fixed."""
        value = self._view.value(self.node.output[0])
        return value.dims if value.fixed else None

    def is_float(self, *at: int) -> bool:
        """Whether these inputs (default: all that are there) are float32."""
        wanted = at or [one for one in range(self.count) if self.input(one)]
        return all(self.value(one).elem_type == _FLOAT for one in wanted)

    def array(self, at: int) -> Any:
        """An input's elements as an array where it is a constant; None where it is not, or is missing."""
        from onnx import numpy_helper  # noqa: PLC0415

        tensor = self._held.get(self.input(at))
        return numpy_helper.to_array(tensor) if tensor is not None and self.value(at).constant else None

    def attribute(self, name: str, default: Any = None) -> Any:
        """A number, a text or a tuple of whole numbers."""
        for item in self.node.attribute:
            if item.name == name:
                readers: dict[int, Any] = {
                    _ATTRIBUTE_FLOAT: lambda item: float(item.f),
                    _ATTRIBUTE_INT: lambda item: int(item.i),
                    _ATTRIBUTE_STRING: lambda item: item.s.decode("utf-8", "replace"),
                    _ATTRIBUTE_INTS: lambda item: tuple(item.ints),
                }
                return readers[item.type](item) if item.type in readers else default
        return default

    def constant(self, values: Any, dtype: str = "float32") -> str:
        """A new initializer: an array, or a number, which gets one dimension of 1."""
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        array = np.atleast_1d(np.asarray(values, dtype))
        name = self._fresh(f"c{len(self.constants)}")
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def put(self, operator: str, *inputs: str, gives: int | None = None, **attributes: Any) -> str:
        """Add a node and give the name of its output: a new one, or the replaced node's output number `gives`."""
        from onnx import helper  # noqa: PLC0415

        at = len(self.nodes)
        output = self._fresh(str(at)) if gives is None else str(self.node.output[gives])
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(
            helper.make_node(operator, list(inputs), [output], f"{self.node.name}/{self._mark}{at}", **given)
        )
        return output

    def _fresh(self, which: str) -> str:
        return f"{self.node.output[0]}/{self._mark}{which}"

    def reshaped(self, value: str, dims: Sequence[int], gives: int | None = None) -> str:
        """The value in another shape."""
        return self.put("Reshape", value, self.constant(list(dims), "int64"), gives=gives)

    def relu6(self, value: str) -> str:
        """The value between 0 and 6, which is an operator of NNAPI's own."""
        return self.clipped(value, 0.0, 6.0)

    def clipped(self, value: str, low: float, high: float) -> str:
        """The value between two bounds, written as the opset wants it."""
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        if self.opset < 11:
            return self.put("Clip", value, min=low, max=high)
        names = []
        for number in (low, high):
            names.append(self._fresh(f"c{len(self.constants)}"))
            self.constants.append(numpy_helper.from_array(np.array(number, np.float32), names[-1]))
        return self.put("Clip", value, *names)

    def mean(self, value: str, axes: Sequence[int], *, keep: bool, gives: int | None = None) -> str:
        """The mean over axes, written as the opset wants it."""
        if self.opset < 18:
            return self.put("ReduceMean", value, gives=gives, axes=list(axes), keepdims=int(keep))
        return self.put("ReduceMean", value, self.constant(list(axes), "int64"), gives=gives, keepdims=int(keep))

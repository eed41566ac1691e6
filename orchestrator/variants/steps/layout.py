"""Step `no-tf-transposes`: exporters from NHWC frameworks put a Transpose before and after each convolution; those that
meet their opposite are taken out.

Each Transpose is moved down, through operators that don't care for the order of dimensions or can be told of another,
until it meets one that undoes it, or can't go on. onnxruntime's level basic does much of this when it loads the model;
this does it in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.variants.steps.apply import Bench, NothingToDo

_Perm = tuple[int, ...]
_Moved = tuple[Any, _Perm]
"""A node before the Transpose that stood before it, and the Transpose that is needed behind it."""
_SAME = frozenset((
    "Abs", "Cast", "Ceil", "Clip", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu",
    "Log", "Neg", "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Tanh",
))  # fmt: skip
_BROADCASTING = frozenset(("Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "PRelu", "Sub", "Sum"))
_AXIS_SINCE = {"Softmax": 13, "LogSoftmax": 13}


def without_transposes(model: Any, _step: str, _bench: Bench) -> Any:
    """The model with fewer Transposes; raises NothingToDo where there would be none fewer."""
    import onnx  # noqa: PLC0415

    made: Any = onnx.ModelProto()
    made.CopyFrom(model)
    opset = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=0)
    _Moving(made.graph, opset).move_all()
    if _count(made) >= _count(model):
        raise NothingToDo("no layout transposes that cancel")
    return made


def _count(model: Any) -> int:
    return sum(node.op_type == "Transpose" for node in model.graph.node)


class _Moving:
    """Goes over a graph once. `turned`: values that are another value in a permuted order."""

    def __init__(self, graph: Any, opset: int) -> None:
        self._graph = graph
        self._opset = opset
        self._held = {tensor.name: tensor for tensor in graph.initializer}
        self._held = {name: held for name, held in self._held.items() if name not in {v.name for v in graph.input}}
        self._turned: dict[str, tuple[str, _Perm]] = {}
        self._nodes: list[Any] = []
        self._moves: dict[str, Callable[[Any, _Perm], _Moved | None]] = {
            **dict.fromkeys(_SAME, self._as_it_is),
            **dict.fromkeys(_BROADCASTING, self._broadcast),
            "Concat": self._along,
            "Softmax": self._along,
            "LogSoftmax": self._along,
            "ReduceMean": self._reduce,
            "Pad": self._pad,
        }

    def move_all(self) -> None:
        """Move what can be moved, then leave out what nobody reads any more."""
        for node in self._graph.node:
            if node.op_type == "Transpose" and node.domain in ("", "ai.onnx"):
                self._transpose(node)
            else:
                self._other(node)
        self._finish()

    def _transpose(self, node: Any) -> None:
        from onnx import helper  # noqa: PLC0415

        perm: _Perm = next((tuple(item.ints) for item in node.attribute if item.name == "perm"), ())
        source, before = self._turned.get(node.input[0], (node.input[0], tuple(range(len(perm)))))
        if not perm or len(before) != len(perm):
            self._nodes.append(node)
            return
        whole = tuple(before[axis] for axis in perm)
        self._turned[node.output[0]] = (source, whole)
        if whole == tuple(range(len(whole))):
            self._nodes.append(helper.make_node("Identity", [source], list(node.output), node.name))
        else:
            self._nodes.append(helper.make_node("Transpose", [source], list(node.output), node.name, perm=list(whole)))

    def _other(self, node: Any) -> None:
        from onnx import helper  # noqa: PLC0415

        perms = {self._turned[name][1] for name in node.input if name in self._turned}
        perms.discard(tuple(range(len(next(iter(perms), ())))))
        move = self._moves.get(node.op_type) if node.domain in ("", "ai.onnx") and len(node.output) == 1 else None
        moved = move(node, next(iter(perms))) if move is not None and len(perms) == 1 else None
        if moved is None:
            self._nodes.append(node)
            return
        (made, perm), output = moved, node.output[0]
        self._nodes.append(made)
        if perm == tuple(range(len(perm))):
            return
        made.output[0] = f"{output}/turned"
        self._nodes.append(helper.make_node("Transpose", [made.output[0]], [output], f"{output}/turn", perm=list(perm)))
        self._turned[output] = (made.output[0], perm)

    def _copy(self, node: Any) -> Any:
        """The node on the values before their Transposes."""
        import onnx  # noqa: PLC0415

        made: Any = onnx.NodeProto()
        made.CopyFrom(node)
        for at, name in enumerate(node.input):
            made.input[at] = self._turned[name][0] if name in self._turned else name
        return made

    def _as_it_is(self, node: Any, perm: _Perm) -> _Moved | None:
        return (self._copy(node), perm) if node.input[0] in self._turned else None

    def _broadcast(self, node: Any, perm: _Perm) -> _Moved | None:
        """Constants are turned the other way; a value that is not turned stops it."""
        made = self._copy(node)
        for at, name in enumerate(node.input):
            if self._is_turned(name, perm):
                continue
            constant = self._counter_turned(name, perm)
            if constant is None:
                return None
            made.input[at] = constant
        return made, perm

    def _is_turned(self, name: str, perm: _Perm) -> bool:
        return name in self._turned and self._turned[name][1] == perm

    def _counter_turned(self, name: str, perm: _Perm) -> str | None:
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        tensor = self._held.get(name)
        if tensor is None or len(tensor.dims) > len(perm):
            return None
        values = numpy_helper.to_array(tensor)
        wide = values.reshape((1,) * (len(perm) - values.ndim) + values.shape)
        made = f"{name}/turned/{'-'.join(map(str, perm))}"
        if made not in self._held:
            turned = np.ascontiguousarray(np.transpose(wide, np.argsort(perm)))
            self._held[made] = numpy_helper.from_array(turned, made)
            self._graph.initializer.append(self._held[made])
        return made

    def _along(self, node: Any, perm: _Perm) -> _Moved | None:
        """Operators along one axis: all inputs turned alike, and the axis named."""
        if self._opset < _AXIS_SINCE.get(node.op_type, 0) or not all(self._is_turned(n, perm) for n in node.input):
            return None
        made = self._copy(node)
        for item in made.attribute:
            if item.name == "axis":
                item.i = perm[item.i % len(perm)]
                return made, perm
        return None

    def _reduce(self, node: Any, perm: _Perm) -> _Moved | None:
        """ReduceMean. Where it drops its axes, what is left of the order may be none at all."""
        made = self._copy(node)
        listed = next((item for item in made.attribute if item.name == "axes"), None)
        axes = list(listed.ints) if listed is not None else self._ints(node, 1)
        if not axes or not self._is_turned(node.input[0], perm):
            return None
        moved = [perm[axis % len(perm)] for axis in axes]
        if listed is not None:
            del listed.ints[:]
            listed.ints.extend(moved)
        else:
            made.input[1] = self._new_ints(node, moved)
        if not any(item.name == "keepdims" and not item.i for item in node.attribute):
            return made, perm
        left = [axis for axis in perm if axis not in moved]
        return made, tuple(sorted(left).index(axis) for axis in left)

    def _pad(self, node: Any, perm: _Perm) -> _Moved | None:
        """Pad by constants, on all axes."""
        pads = self._ints(node, 1)
        if pads is None or len(pads) != 2 * len(perm) or any(node.input[3:]):
            return None
        moved = [0] * len(pads)
        for axis, source in enumerate(perm):
            for side in (0, len(perm)):
                moved[side + source] = pads[side + axis]
        made = self._copy(node)
        made.input[1] = self._new_ints(node, moved)
        return made, perm

    def _ints(self, node: Any, at: int) -> list[int] | None:
        from onnx import numpy_helper  # noqa: PLC0415

        tensor = self._held.get(node.input[at]) if len(node.input) > at else None
        return None if tensor is None else [int(number) for number in numpy_helper.to_array(tensor).reshape(-1)]

    def _new_ints(self, node: Any, numbers: list[int]) -> str:
        import numpy as np  # noqa: PLC0415
        from onnx import numpy_helper  # noqa: PLC0415

        name = f"{node.output[0]}/turned/numbers"
        self._graph.initializer.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name

    def _finish(self) -> None:
        """Keep the nodes that an output or a sub-graph reads; an Identity stays only to give an output its name."""
        from android_runner.nnapi.from_onnx import used_below  # noqa: PLC0415

        outputs = {value.name for value in self._graph.output}
        below = {name for node in self._nodes for name in used_below(node)}
        same = {node.output[0]: node.input[0] for node in self._nodes if self._is_undone(node)}
        read, kept = outputs | below, []
        for node in reversed(self._nodes):
            if not read.intersection(node.output):
                continue
            for at, name in enumerate(node.input):
                node.input[at] = same.get(name, name)
            read.update(node.input)
            kept.append(node)
        weights = [tensor for tensor in self._graph.initializer if tensor.name in read]
        for field, items in (("node", list(reversed(kept))), ("initializer", weights)):
            del getattr(self._graph, field)[:]
            getattr(self._graph, field).extend(items)
        del self._graph.value_info[:]  # some are of another shape now

    def _is_undone(self, node: Any) -> bool:
        found = self._turned.get(node.output[0]) if node.op_type == "Identity" and node.output else None
        return found is not None and found[0] == node.input[0]

"""Pure: one question to a claim rule: a node (or a quantized group around it), the feature level, the layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.placement import NOT_CHECKED

FLOAT, UINT8, INT8, INT32, INT64, FLOAT16 = 1, 2, 3, 6, 7, 10
"""Numbers of `TensorProto.DataType`."""
TYPE_NAMES = {
    0: "of unknown type", 1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64",
    15: "complex128", 16: "bfloat16", 21: "uint4", 22: "int4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Why:
    """Why a node is not taken: a stable id, and words."""

    rule: str
    reason: str


def not_checked(rule: str, what: str) -> Why:
    """A refusal because the execution provider's rule is not modelled."""
    return Why(rule, NOT_CHECKED + what)


@dataclass(frozen=True, slots=True)
class Io:
    """An input or output of a unit. `scale` is the name of its quantization scale, None where it is not quantized;
    `zero_point` None where the node has no place for one, empty where the place is empty."""

    name: str
    scale: str | None = None
    zero_point: str | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What is claimed as one: a node, or DequantizeLinear nodes, a target and QuantizeLinear nodes (`is_qdq`).

    `members` are all its nodes, ascending; `inputs` and `outputs` are those of the target, the quantized values in
    place of the float ones between.
    """

    target: int
    members: tuple[int, ...]
    inputs: tuple[Io, ...]
    outputs: tuple[Io, ...]
    is_qdq: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """`level` is NNAPI's feature level, `nchw` the flag. `behind_layout`: an operator before it has its layout changed
    for NNAPI, so the layout pass may turn this one's axes."""

    graph: Graph
    unit: Unit
    level: int
    nchw: bool
    behind_layout: bool = False

    @property
    def node(self) -> Node:
        """The unit's target."""
        return self.graph.nodes[self.unit.target]

    @property
    def op(self) -> str:
        """The target's operator."""
        return self.node.op_type

    @property
    def count(self) -> int:
        """How many inputs the target has, empty ones counted."""
        return len(self.unit.inputs)

    def input(self, at: int) -> Value:
        """The tensor at an input; one without type and shape where there is none."""
        return self.graph.value(self.unit.inputs[at].name) if at < self.count else Value("")

    def has_input(self, at: int) -> bool:
        """Whether there is an input that is not the empty name."""
        return at < self.count and bool(self.unit.inputs[at].name)

    def dims(self, at: int = 0) -> tuple[int, ...] | None:
        """An input's dimensions; None where the rank is not known."""
        return self.input(at).dims

    def integer(self, name: str, default: int) -> int:
        """An integer attribute; 0 where it is of another kind, as in the C++."""
        value = self.node.attributes.get(name, default)
        return value if isinstance(value, int) else 0

    def number(self, name: str, default: float) -> float:
        """A float attribute; 0 where it is of another kind."""
        value = self.node.attributes.get(name, default)
        return value if isinstance(value, float) else 0.0

    def text(self, name: str, default: str) -> str:
        """A string attribute; empty where it is of another kind."""
        value = self.node.attributes.get(name, default)
        return value if isinstance(value, str) else ""

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of integers; empty where the attribute is of another kind."""
        value = self.node.attributes.get(name, default)
        return tuple(int(item) for item in value if not isinstance(item, str)) if isinstance(value, tuple) else ()


Check = Callable[[Case], Why | None]
"""A rule: None where the node may be taken."""


def passes(_: Case) -> None:
    """The rule of operators that have none of their own."""


def float_input(case: Case) -> Why | None:
    """The first input is float32 (`BaseOpBuilder::HasSupportedInputOutputsImpl`)."""
    return input_type(case, FLOAT)


def float_or_uint8_input(case: Case) -> Why | None:
    """The first input is float32 or uint8."""
    return input_type(case, FLOAT, UINT8)


def input_type(case: Case, *wanted: int) -> Why | None:
    """The first input is of one of these types."""
    actual = case.input(0).elem_type
    if actual in wanted:
        return None
    names = " or ".join(TYPE_NAMES[one] for one in wanted)
    return Why("type", f"{case.op} takes {names} input, this is {type_name(actual)}")


def type_name(elem_type: int) -> str:
    """`float32`, or `type 17` for one without a name here."""
    return TYPE_NAMES.get(elem_type, f"type {elem_type}")


def input_rank(case: Case, low: int, high: int) -> Why | None:
    """The first input has at least `low` and at most `high` dimensions."""
    dims = case.dims()
    if dims is None:
        return Why("dynamic-shape", f"the input of {case.op} has no known rank")
    if low <= len(dims) <= high:
        return None
    wanted = f"{low}-D" if low == high else f"{low}-D to {high}-D" if low else f"at most {high}-D"
    return Why("rank", f"{case.op} takes {wanted} input, this is {len(dims)}-D")


def constant(case: Case, at: int, what: str) -> Why | None:
    """An input that must be an initializer which can't be overridden."""
    if case.input(at).constant:
        return None
    return Why("constant-input", f"{what} of {case.op} must be a constant initializer")

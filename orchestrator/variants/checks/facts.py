"""Pure nouns: what was read of a model, for the rules to look at."""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.nnapi.graph import Graph
from android_runner.ort import ModelFormat

Dims = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightLayer:
    """A float32 or float64 initializer with small elements: how many it has, how many are subnormal, how many are
    normal but so small that a product soon is not (`PRONE_BELOW`). `readers` are the nodes that take it."""

    tensor: str
    readers: tuple[str, ...]
    elements: int
    denormals: int
    prone: int


PRONE_BELOW = 2.0**-103
"""float32: the smallest normal number over its epsilon. Times an activation of 1.2e-7, such a weight is subnormal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFacts:
    """`elements` of all float32 and float64 weights; `layers` those with subnormal or nearly subnormal elements.
    `folded_denormals`: how many there are after onnxruntime's basic optimizations; None where that was not looked at.
    """

    elements: int = 0
    layers: tuple[WeightLayer, ...] = ()
    folded_denormals: int | None = None

    @property
    def denormals(self) -> int:
        """Subnormal elements in all layers."""
        return sum(layer.denormals for layer in self.layers)

    @property
    def prone(self) -> int:
        """Nearly subnormal elements in all layers."""
        return sum(layer.prone for layer in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubGraph:
    """A node with graphs in it (If, Loop, Scan) and how many nodes these have, deeper ones included."""

    node: str
    operator: str
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingKernel:
    """An operator that onnxruntime's CPU execution provider has not for these types of inputs, and the nodes."""

    operator: str
    types: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerAnswer:
    """What onnxruntime's own usability checker says of an execution provider; `answer` is NO, MAYBE or YES. `fixed`:
    as if every shape were. `problem`: why it says nothing."""

    provider: str
    fixed: bool
    partitions: int = 0
    nodes_taken: int = 0
    nodes: int = 0
    answer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One of the settings that were measured in turn: times of one inference in seconds, over all rounds."""

    name: str
    median_s: float
    low_s: float
    high_s: float
    ratio: float
    ratio_low: float
    ratio_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Settings measured in turn on this host, round by round. `ratio` of an arm: time over that of `as it is` in the
    same round, median and quartiles over the rounds. `problem`: why there is nothing."""

    machine: str
    rounds: int = 0
    runs_per_round: int = 0
    arms: tuple[Arm, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """The model after the recipe's steps that the verdict asks for, in memory: its graph, or why there is none."""

    steps: tuple[str, ...]
    graph: Graph | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A model as it was read.

    `path` is what a person gave. `graph` is what the phone's runtime has when NNAPI is asked (after level basic for
    ONNX, as it is for ORT format), None with `graph_problem` where that can't be had; `fixed_graph` the same with the
    dimensions of `fixed_dims`, which were `guessed` where nobody gave them. `operators_before` are the labels of the
    file's own nodes. `moves_before` and `moves_after`: Transposes between NCHW and NHWC in the file and after level
    basic, `moves_at_border` those of the latter at the model's inputs and outputs. `float16`: names of half precision
    tensors; `casts_added`: Casts that onnxruntime put in for operators without such a kernel. `rewritable`: names of
    the nodes that the step `nnapi-rewrites` would write in operators that NNAPI takes.
    """

    name: str
    path: str
    format: ModelFormat
    converter: str
    ir_version: int
    opset: int
    size_bytes: int
    nodes: int
    operators_before: tuple[str, ...] = ()
    ort_format: int | None = None
    external: tuple[str, ...] = ()
    external_tensors: tuple[str, ...] = ()
    overridable: tuple[str, ...] = ()
    free_dims: tuple[tuple[str, tuple[str, ...]], ...] = ()
    graph: Graph | None = None
    graph_problem: str = ""
    fixed_graph: Graph | None = None
    fixed_dims: Dims = ()
    guessed: bool = False
    fixed_problem: str = ""
    weights: WeightFacts = WeightFacts()
    float16: tuple[str, ...] = ()
    casts_added: int = 0
    subgraphs: tuple[SubGraph, ...] = ()
    moves_before: tuple[str, ...] = ()
    moves_after: tuple[str, ...] = ()
    moves_at_border: tuple[str, ...] = ()
    missing_kernels: tuple[MissingKernel, ...] = ()
    rewritable: frozenset[str] = frozenset()
    checker: tuple[CheckerAnswer, ...] = ()
    measured: Measured | None = None
    mended: Mended | None = None

    @property
    def settled(self) -> Graph | None:
        """The graph with every dimension fixed where that was possible, else as it is."""
        return self.fixed_graph if self.fixed_graph is not None else self.graph

    @property
    def dims(self) -> tuple[str, ...]:
        """`NAME=NUMBER` for the command line."""
        return tuple(f"{key}={number}" for key, number in self.fixed_dims)

    @property
    def source(self) -> str:
        """What variants are built from: the file, or for ORT format the ONNX that it came from."""
        return self.path if self.format is ModelFormat.ONNX else "ORIGINAL.onnx"

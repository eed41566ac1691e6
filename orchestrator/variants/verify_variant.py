"""Pure nouns: a check variant, the case's graph with a tail on each output that puts the error into a shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.variants.tolerance import Precision

ERROR_NODE = "error"
DIFFERENCE_NODE = "difference"


def node_name(prefix: str, output: int, what: str) -> str:
    """How a node of the tail of the `output`-th output is called."""
    return f"{prefix}{output}_{what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOutput:
    """An output of the model in its order. `peak` is the largest expected value; `why_not` says why it has no tail."""

    name: str
    element_type: str
    peak: float = 0.0
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFacts:
    """What is kept of a check variant in a run. `check_id` is empty where none could be made; `why_not` says why.

    Nodes of the tail, and no others, have names that begin with `prefix`. `precision` is the variant's own, whatever
    the flags.
    """

    check_id: str = ""
    prefix: str = ""
    outputs: tuple[CheckedOutput, ...] = ()
    precision: Precision = Precision.FLOAT32
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVariant:
    """A check variant on the shelf: `path` is `model.onnx` or `model.ort` with its external data beside it."""

    facts: CheckFacts
    path: Path
    sha256: str
    size_bytes: int
    external: tuple[tuple[str, str], ...] = ()
    """(name, "") of files of external data, as `Variant.external`."""

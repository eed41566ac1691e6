"""Pure nouns: a model, a recipe, and the variant that the two make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A graph input or output: `shape` holds a number, a dimension's name, or None where neither is given."""

    name: str
    element_type: str
    shape: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A source graph. `name` is the file's stem cleaned for display and file names; `digest` is of its bytes and,
    where it has external data, of those files' bytes too."""

    name: str
    path: Path
    format: ModelFormat
    digest: str
    ir_version: int
    opset: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    node_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a model becomes a variant. `.onnx` as it is has neither level nor style: `-o` acts on the phone."""

    format: ModelFormat
    level: OptimizationLevel | None = None
    style: OptimizationStyle | None = None

    def __post_init__(self) -> None:
        ort = self.format is ModelFormat.ORT
        if ort != (self.level is not None) or ort != (self.style is not None):
            raise ValueError("ORT format needs level and style, ONNX format has neither")

    @property
    def name(self) -> str:
        """`onnx`, `basic`, `all runtime`: what a person calls it."""
        if self.level is None or self.style is None:
            return "onnx"
        return self.level.value if self.style is OptimizationStyle.FIXED else f"{self.level.value} runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A built variant on the shelf.

    `variant_id` is the digest of what was asked (model, recipe, dimensions, converter's version); `graph_digest` says
    when two graphs are one; `sha256` is of this build's bytes and only verifies transfers. `operators_before` and
    `operators_after` count nodes by operator (`Conv`, `com.microsoft:FusedConv`). `ort_format` is None for ONNX.
    """

    variant_id: str
    model: Model
    recipe: Recipe
    dims: tuple[tuple[str, int], ...]
    converter_version: str
    path: Path
    size_bytes: int
    sha256: str
    graph_digest: str
    operators_before: tuple[tuple[str, int], ...]
    operators_after: tuple[tuple[str, int], ...]
    ort_format: int | None
    build_s: float
    external: tuple[tuple[str, str], ...] = ()
    """Files of external data beside it: (name relative to its folder, sha256)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSet:
    """Real inputs for a model: `input_<k>.pb` files, one for each model input, in one folder.

    `digest` is of names, types, shapes and bytes; `source` says where they came from (`seed 0`, a folder).
    """

    digest: str
    directory: Path
    files: tuple[str, ...]
    size_bytes: int
    source: str

"""Pure nouns: a model, a recipe, and the variant that the two make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform


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
    ort_format: int | None = None
    """The format version of a source that is already `.ort`; None for ONNX."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a quantization took its ranges from: input sets by digest; `random` where nobody gave real ones."""

    digests: tuple[str, ...]
    random: bool


LEAST_API = 0
"""In `Recipe.nnapi_api`: the least API level among the phones of the plan, put in before building."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a model becomes a variant. `.onnx` as it is has neither level nor style: `-o` acts on the phone.

    ORT format without level and style is a source that was `.ort` already: it is staged as it is, and nobody can say
    any more how it was optimized.

    `steps` are changes made to the source before that, in order (`recipe_words` has the vocabulary). `nnapi_api`, with
    level extended in fixed style: what NNAPI takes at that API level is left alone, so that extended acts on the rest.
    `calibration` is put in before building, where a step quantizes.
    """

    format: ModelFormat
    level: OptimizationLevel | None = None
    style: OptimizationStyle | None = None
    platform: TargetPlatform | None = None
    """What the converter is told of the CPU that will run it; None: any."""
    applied: bool = False
    """Runtime style as a phone's CPU would have it once loaded. Nobody is given this: it tells which kernels are needed
    (the converter's second conversion, `minimal_build_optimizations` = `apply`)."""
    steps: tuple[str, ...] = ()
    nnapi_api: int | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        if (self.level is None) != (self.style is None):
            raise ValueError("ORT format needs level and style, or neither for an .ort as it is")
        if self.format is ModelFormat.ONNX and self.level is not None:
            raise ValueError("ONNX format has neither level nor style")
        if self.platform is not None and self.level is None:
            raise ValueError("only a conversion is for a platform")
        if self.applied and self.style is not OptimizationStyle.RUNTIME:
            raise ValueError("only saved runtime optimizations can be applied")
        if self.format is ModelFormat.ORT and self.level is None and self.steps:
            raise ValueError("an .ort as it is can't be changed")
        aware = self.level is OptimizationLevel.EXTENDED and self.style is OptimizationStyle.FIXED
        if self.nnapi_api is not None and not aware:
            raise ValueError("NNAPI-aware is level extended in fixed style")

    @property
    def converts(self) -> bool:
        """Whether onnxruntime rewrites the graph on the host."""
        return self.level is not None

    @property
    def copies(self) -> bool:
        """Whether the source is staged as it is."""
        return not self.converts and not self.steps

    @property
    def base(self) -> str:
        """The name without steps: `onnx`, `basic`, `all runtime`, `all amd64`, `nnapi-aware=29`, `as is`."""
        if self.level is None or self.style is None:
            return "onnx" if self.format is ModelFormat.ONNX else "as is"
        level = self.level.value
        if self.nnapi_api is not None:
            level = "nnapi-aware" if self.nnapi_api == LEAST_API else f"nnapi-aware={self.nnapi_api}"
        words = [level, "runtime" if self.style is OptimizationStyle.RUNTIME else "", self.platform or ""]
        return " ".join(filter(None, [*words, "(applied)" if self.applied else ""]))

    @property
    def name(self) -> str:
        """What a person calls it: `basic`, `onnx+opset=15`, `all+qdq-u8s8(random)`.

        The mark says that the ranges of a quantization come from made-up inputs; it is there once that is known.
        """
        mark = "(random)" if self.calibration is not None and self.calibration.random else ""
        steps = (f"{step}{mark}" if step in QUANTIZING else step for step in self.steps)
        return "+".join((self.base, *steps))


QUANTIZING = ("qdq-u8u8", "qdq-u8s8")
"""Steps that need a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A built variant on the shelf.

    `variant_id` is the digest of what was asked (model, recipe, dimensions, converter's version); `graph_digest` says
    when two graphs are one; `sha256` is of this build's bytes and only verifies transfers. `operators_before` and
    `operators_after` count nodes by operator (`Conv`, `com.microsoft:FusedConv`). `ort_format` is None for ONNX.
    `path` is `model.onnx` or `model.ort` in a folder that holds it and its external data, nothing else; `size_bytes`
    is of all of these, `sha256` of `path`. `converter_version` is empty where nothing was converted (a copy stays the
    same question under every converter).
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

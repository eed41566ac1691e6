"""Pure: how far a variant's outputs are from its source's, and how far they may be.

What may be lost goes by the least precise arithmetic in either graph: a net that computes in 8 bits rounds elsewhere
once its nodes are fused, and one in half precision once a Cast is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.variants.recipe import Recipe

SMALLEST_NORMAL = 2.0**-126
"""float32's: a difference below it is what flushing denormals does, and never too much."""

_EIGHT_BITS = ("uantize", "QLinear", "Integer", "QGemm", "QAttention", "MatMulNBits", "QMoE")
"""Parts of operators' names that compute in 8 bits or fewer."""
_HALVES = frozenset(("float16", "bfloat16"))


class Precision(StrEnum):
    """The least precise arithmetic of a graph."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputError:
    """One output of a variant beside its source's, `n` elements.

    `max_abs` is the largest difference, `max_ref` the source's largest value, `max_rel` the largest difference as part
    of the source's own value, where that is a normal float32; all over what is finite in both. `cosine` is 1 for two
    outputs that are all zero. `top1_same`: whether the largest element of each row (of the first axis) is the same.
    None where it makes no sense: text, nothing in it, a single element. `wrong` says what no number can: another
    shape, another text, not finite elsewhere.
    """

    output: str
    n: int
    max_abs: float | None = None
    max_rel: float | None = None
    max_ref: float | None = None
    cosine: float | None = None
    top1_same: bool | None = None
    wrong: str = ""

    @property
    def share(self) -> float | None:
        """The largest difference as part of the source's largest value; None where that is 0 and this is not."""
        if self.max_abs is None or self.max_ref is None:
            return None
        if self.max_abs == 0:
            return 0.0
        return self.max_abs / self.max_ref if self.max_ref > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerics:
    """A variant's outputs beside its source's on one set of inputs (`inputs` is its digest), both computed by
    onnxruntime `runtime` on this computer's CPU.

    `untouched`: it is the source byte for byte, nothing was computed. `unknown` says why nothing could be compared.
    """

    inputs: str
    runtime: str
    precision: Precision = Precision.FLOAT32
    outputs: tuple[OutputError, ...] = ()
    untouched: bool = False
    unknown: str = ""

    @property
    def share(self) -> float | None:
        """The largest difference of all outputs, as part of the output's largest value."""
        return 0.0 if self.untouched else max(_known(one.share for one in self.outputs), default=None)

    @property
    def cosine(self) -> float | None:
        """The least of all outputs."""
        return 1.0 if self.untouched else min(_known(one.cosine for one in self.outputs), default=None)

    @property
    def top1_same(self) -> bool | None:
        """Whether it is the same in every output that has one."""
        said = [one.top1_same for one in self.outputs if one.top1_same is not None]
        return all(said) if said else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What is let pass: `share` bounds the largest difference as part of the source's largest value, `cosine` is the
    least that will do; None where it is not asked."""

    share: float | None = None
    cosine: float | None = None


class Verdict(StrEnum):
    """What is said of a variant."""

    SOURCE = "the source itself"
    WITHIN = "within"
    OUT = "out of tolerance"
    UNKNOWN = "not compared"


_TOLERANCES = {
    Precision.FLOAT32: Tolerance(share=1e-4),
    Precision.FLOAT16: Tolerance(cosine=0.999),
    Precision.INT8: Tolerance(cosine=0.98),
}


def tolerance(precision: Precision) -> Tolerance:
    """float32: 1e-4 of the largest value; float16: cosine 0.999; int8: cosine 0.98. Top-1 is told, never asked."""
    return _TOLERANCES[precision]


def precision_of(operators: Iterable[str], element_types: Iterable[str]) -> Precision:
    """The least precise arithmetic among operators (`Conv`, `com.microsoft:QGemm`) and tensors' types."""
    if any(part in name for name in operators for part in _EIGHT_BITS):
        return Precision.INT8
    return Precision.FLOAT16 if any(one in _HALVES for one in element_types) else Precision.FLOAT32


def asked_precision(recipe: Recipe) -> Precision:
    """The precision that a recipe's steps bring with them: a file in which onnxruntime has folded every Cast into its
    weights no longer shows it."""
    words = [step.partition("=")[0] for step in recipe.steps]
    if any(word.startswith("qdq") for word in words):
        return Precision.INT8
    return Precision.FLOAT16 if "fp16" in words else Precision.FLOAT32


def looser(one: Precision, other: Precision) -> Precision:
    """The one that lets more pass."""
    order = list(Precision)
    return max(one, other, key=order.index)


def problem(numerics: Numerics, allowed: Tolerance | None = None) -> str:
    """Why a variant is out of tolerance (by default that of its precision), in words; "" where it is not."""
    limits = allowed or tolerance(numerics.precision)
    return next((words for one in numerics.outputs if (words := _too_much(one, limits))), "")


def within(numerics: Numerics, allowed: Tolerance | None = None) -> bool:
    """Whether a variant computes the same as its source, as far as anybody knows."""
    return not problem(numerics, allowed)


def verdict(numerics: Numerics) -> Verdict:
    """The word for it."""
    if numerics.untouched:
        return Verdict.SOURCE
    if numerics.unknown:
        return Verdict.UNKNOWN
    return Verdict.WITHIN if within(numerics) else Verdict.OUT


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _too_much(one: OutputError, limits: Tolerance) -> str:
    where = f"output {one.output}"
    if one.wrong:
        return f"{where} {one.wrong}"
    off, top = one.max_abs or 0.0, one.max_ref or 0.0
    if limits.share is not None and off > max(limits.share * top, SMALLEST_NORMAL):
        if not top:
            return f"{where} is off by {off:.2g}, and nothing but 0 in the source"
        return f"{where} is off by {off / top:.2g} of its largest value, {limits.share:g} is allowed"
    if limits.cosine is not None and one.cosine is not None and one.cosine < limits.cosine:
        return f"{where} has cosine {one.cosine:.4f} with the source's, {limits.cosine:g} is asked"
    return ""

"""Pure: findings about the numbers in a model: subnormal weights, half precision, missing kernels."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.variants.checks.facts import Measured, ModelFacts
from orchestrator.variants.checks.finding import (
    Finding,
    Severity,
    bounded,
    build_command,
    check_command,
    counted,
    run_command,
)

_X86_ONLY = "set_denormal_as_zero (-z) is x86 only: on ARM phones it does nothing"
_SHARE = 1e-3
"""Below one subnormal weight in a thousand it is a note."""


def weight_findings(facts: ModelFacts) -> Iterator[Finding]:
    """Subnormal and nearly subnormal weights, and what flushing them did here."""
    weights = facts.weights
    flush = build_command(facts.source, "all", ("flush-denormals",), facts.dims)
    if weights.denormals:
        layers = sorted(
            (layer for layer in weights.layers if layer.denormals), key=lambda layer: -layer.denormals / layer.elements
        )
        count, places = bounded(f"{layer.tensor} ({_share(layer.denormals, layer.elements)})" for layer in layers)
        folded = ""
        if weights.folded_denormals is not None and weights.folded_denormals != weights.denormals:
            folded = f"; after level basic {weights.folded_denormals}"
        yield Finding(
            id="denormal-weights",
            severity=Severity.COSTS if weights.denormals >= _SHARE * weights.elements else Severity.NOTE,
            reason=(
                f"{weights.denormals} of {weights.elements} float weights are subnormal "
                f"({_share(weights.denormals, weights.elements)}), in {counted(count, 'tensor')}{folded}; many CPUs "
                "compute with such numbers many times slower"
            ),
            count=count,
            places=places,
            remedy=f"flush them to zero in the weights, which reaches every phone; {_X86_ONLY}",
            command=flush,
            steps=("flush-denormals",),
            threads=(12959,),
        )
    if weights.prone:
        count, places = bounded(layer.tensor for layer in weights.layers if layer.prone)
        yield Finding(
            id="denormal-prone-weights",
            severity=Severity.NOTE,
            reason=(
                f"{weights.prone} of {weights.elements} float weights are below 2^-103: products with small "
                "activations become subnormal"
            ),
            count=count,
            places=places,
            remedy="measure on this host what becomes of it; training with weight decay makes such weights",
            command=check_command(facts.path, "--measure"),
            threads=(12959,),
        )
    if facts.measured is not None:
        yield _measured(facts.measured)


def _measured(measured: Measured) -> Finding:
    if measured.problem:
        reason = f"could not be measured on this host: {measured.problem}"
    else:
        arms = "; ".join(
            f"{arm.name} {arm.median_s * 1e3:.3f} ms ({arm.low_s * 1e3:.3f} to {arm.high_s * 1e3:.3f})"
            + (f", {_times(arm.ratio)} times ({_times(arm.ratio_low)} to {_times(arm.ratio_high)})" * (at > 0))
            for at, arm in enumerate(measured.arms)
        )
        effects = [f"{arm.name}: {_effect(arm.ratio_low, arm.ratio_high)}" for arm in measured.arms[1:]]
        reason = (
            f"measured on this host ({measured.machine}), in turn, {measured.rounds} rounds of "
            f"{counted(measured.runs_per_round, 'run')}, one thread, median (quartiles): {arms}. {'; '.join(effects)}"
        )
    return Finding(id="denormal-effect", severity=Severity.NOTE, reason=reason, remedy=_X86_ONLY, threads=(12959,))


def _times(ratio: float) -> str:
    """`1.02`, `0.0071`."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def _effect(low: float, high: float) -> str:
    """Quartiles of the ratio on both sides of 1, or within 2 % of it, are no effect."""
    if high < 0.98:
        return "faster"
    return "slower" if low > 1.02 else "no effect that stands out of the spread"


def _share(part: int, whole: int) -> str:
    share = part / whole if whole else 0.0
    return f"{share * 100:.1f} %" if share >= _SHARE else f"{share * 100:.2g} %"


def type_findings(facts: ModelFacts, half_nodes: tuple[str, ...]) -> Iterator[Finding]:
    """Half precision in the file, and operators without a CPU kernel for their types."""
    if facts.float16:
        count, places = bounded(half_nodes or facts.float16)
        casts = f"; onnxruntime's CPU provider added {facts.casts_added} Casts" if facts.casts_added else ""
        yield Finding(
            id="fp16-tensors",
            severity=Severity.BLOCKS if half_nodes else Severity.COSTS,
            reason=(
                f"half precision in {counted(len(facts.float16), 'tensor')}: NNAPI's provider takes none of their "
                f"operators{casts}"
            ),
            count=count,
            places=places,
            remedy="start from the float32 model; half precision on NNAPI is its flag, which the preset tries",
            command=run_command("FLOAT_MODEL.onnx", "--preset", "nnapi"),
        )
    if facts.missing_kernels:
        count, places = bounded(node for kernel in facts.missing_kernels for node in kernel.nodes)
        kinds = "; ".join(f"{one.operator} of {', '.join(one.types) or 'these types'}" for one in facts.missing_kernels)
        yield Finding(
            id="no-cpu-kernel",
            severity=Severity.BLOCKS,
            reason=f"onnxruntime {facts.converter}'s CPU provider has no kernel for {kinds}: the model does not load",
            count=count,
            places=places,
            remedy="export the model with float32 (or int32, int64) there",
        )

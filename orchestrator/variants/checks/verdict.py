"""Pure: findings in one to three sentences that a newcomer can act on, with one command."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.variants.checks.facts import ModelFacts
from orchestrator.variants.checks.finding import Finding, Severity, build_command, run_command
from orchestrator.variants.checks.report import Verdict
from orchestrator.variants.checks.usability import LevelRow, Usability

_SHORT = {
    "initializers-in-inputs": "initializers among its inputs",
    "dynamic-shapes": "open dimensions",
    "opset-layout": "its opset",
    "opset-nnapi": "its opset",
    "opset-runtime": "an opset that the binary does not know",
    "fp16-tensors": "half precision tensors",
    "no-cpu-kernel": "operators without a CPU kernel",
    "ort-format": "an ORT format that the binary does not read",
    "over-2gb": "over 2 GB",
    "nnapi-rewritable": "operators that can be rewritten",
    "denormal-weights": "subnormal weights",
    "layout-transposes": "Transposes between layouts",
    "int8-activations": "int8 activations",
    "dynamic-quantization": "dynamic quantization",
    "fused-operators": "fused operators",
}
CONSEQUENCES = ("nnapi-none", "nnapi-partitions", "nnapi-small-share")
"""What follows from others: named after them, never mended by itself."""
_OTHER_SOURCE = ("int8-activations", "dynamic-quantization", "fused-operators")
_RUNTIME = ("no-cpu-kernel", "ort-format", "opset-runtime")


def verdict(
    facts: ModelFacts, usable: Usability | None, findings: Sequence[Finding], mended: Usability | None = None
) -> Verdict:
    """What to do first, and the command that does it. `mended`: what NNAPI takes after the steps of this verdict."""
    fine = usable is not None and usable.answer == "YES"
    mends = [one for one in findings if _is_mend(one, fine=fine)]
    if mends:
        return _mend(facts, usable, mends, mended)
    if usable is None:
        text = "Nothing stands against the CPU. What NNAPI takes could not be told."
        return Verdict(word="cpu", text=text, command=_measure(facts, "cpu"))
    if usable.answer == "YES":
        text = f"Ready for NNAPI as it is, which {_takes(usable)}."
        return Verdict(word="ready", text=text, command=_measure(facts, "quick"))
    if usable.answer == "MAYBE":
        text = f"NNAPI may pay: it {_takes(usable)}. Measure it beside the CPU before you decide."
        return Verdict(word="ready", text=text, command=_measure(facts, "nnapi"))
    text = f"A model for the CPU: NNAPI {_takes(usable)}, and no recipe mends that."
    if usable.highest.partitions:
        return Verdict(word="cpu", text=f"{text} Measure both to be sure.", command=_measure(facts, "quick"))
    return Verdict(word="cpu", text=text, command=_measure(facts, "cpu"))


def _is_mend(finding: Finding, *, fine: bool) -> bool:
    """What stands in the way, or costs and has a recipe's word against it, or needs another source where NNAPI does not
    take it as it is."""
    if finding.id in CONSEQUENCES or finding.severity is Severity.NOTE:
        return False
    if finding.id in _OTHER_SOURCE:
        return not fine
    return finding.severity is Severity.BLOCKS or bool(finding.steps)


def _mend(facts: ModelFacts, usable: Usability | None, mends: Sequence[Finding], mended: Usability | None) -> Verdict:
    names = list(dict.fromkeys(_SHORT.get(one.id, one.id) for one in mends))
    words = [f"Mend these first: {', '.join(names)}."]
    unaided = [one for one in mends if not one.steps and not one.needs_dims]
    steps = _steps(mends)
    if usable is not None and not any(one.id in _RUNTIME for one in mends):
        what = "with its dimensions fixed" if facts.free_dims and facts.fixed_graph is not None else "as it is"
        is_other = mended is not None and _takes(mended) != _takes(usable)
        after = f"; after that it {_takes(mended)}" if mended is not None and is_other else ""
        words.append(f"NNAPI {what} {_takes(usable)}{after}.")
    if unaided and unaided[0].remedy:
        words.append(f"{unaided[0].remedy[0].upper()}{unaided[0].remedy[1:]}.")
    elif facts.mended is not None and facts.mended.problem:
        words.append(f"But the recipe can't be built: {facts.mended.problem}.")
    command = unaided[0].command if unaided else build_command(facts.source, "basic", steps, facts.dims)
    return Verdict(word="mend", text=" ".join(words), command=command, steps=tuple(steps), is_whole=not unaided)


def _steps(mends: Sequence[Finding]) -> list[str]:
    """Each step once, opset and initializers before what looks at the graph; of several opsets the lowest."""
    steps = list(dict.fromkeys(step for one in mends for step in one.steps))
    opsets = sorted((step for step in steps if step.startswith("opset=")), key=lambda step: int(step.split("=")[1]))
    first = [step for step in ("weights-inside", *opsets[:1]) if step in steps]
    return [*first, *(step for step in steps if step not in first and not step.startswith("opset="))]


def _takes(usable: Usability) -> str:
    """What the highest API level takes, and from which on it is so."""
    best = usable.highest
    if not best.partitions:
        return f"takes none of the {best.nodes} nodes"
    pieces = "one piece" if best.partitions == 1 else f"{best.partitions} pieces"
    same = next(row for row in usable.levels if _same(row, best))
    return f"takes {best.nodes_taken} of {best.nodes} nodes in {pieces} from API {same.api_level} on"


def _same(row: LevelRow, best: LevelRow) -> bool:
    return (row.partitions, row.nodes_taken) == (best.partitions, best.nodes_taken)


def _measure(facts: ModelFacts, preset: str) -> str:
    dims = [word for dim in facts.dims for word in ("--dim", dim)]
    return run_command(facts.path, "--preset", preset, *dims)

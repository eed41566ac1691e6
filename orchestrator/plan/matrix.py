"""Pure: cells × models × a phone → cases, with what was merged and what was dropped, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from android_runner.affinity import how_many
from android_runner.facts import PhoneFacts
from android_runner.ort import ExecutionProvider, ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from android_runner.settings import SessionSettings
from orchestrator.plan.affinity import OnCores, on_cores
from orchestrator.plan.case import Case, Dropped
from orchestrator.plan.cells import Cell, normal_form
from orchestrator.plan.nnapi_gates import gate
from orchestrator.variants.recipe import Model, Recipe, Variant

VariantOf = Callable[[Model, Recipe], Variant | str]
"""A model's variant under a recipe, or the reason why there is none."""


_Key = tuple[str, SessionSettings, int | None]
"""What can't act differently: format and graph, settings, cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the cells are to run on: a phone, a binary, and what that binary refuses (None: nothing known of)."""

    facts: PhoneFacts
    binary_digest: str
    refuses: Callable[[SessionSettings, Recipe], str | None]
    lacks: Callable[[Variant, SessionSettings], str | None] = lambda _variant, _settings: None
    """Why the binary has not the kernels for a variant; None where it has, or nobody knows."""
    cores_there: frozenset[int] | None = None
    """The cores that a virtual phone's processes can really use; None: all that it says it has."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A phone's part of the matrix."""

    cases: tuple[Case, ...]
    dropped: tuple[Dropped, ...]


def expand(
    cells: Sequence[Cell], models: Sequence[tuple[Model, str]], target: Target, variant_of: VariantOf
) -> Expansion:
    """The cases of one phone. `models` come with the digest of their inputs.

    Impossible and pointless cells are dropped with a reason; cells that can't act differently (same normal form, or
    twins: same graph and format) become one case that carries all their names, of the first step if one of them is.
    The first pair of twins of that step is also measured apart, once a phone, so that the report can say what
    difference this phone shows where there is none.
    """
    cases: list[Case] = []
    dropped: list[Dropped] = []
    control: tuple[_Key, Case] | None = None
    for model, inputs_digest in models:
        merged: dict[_Key, Case] = {}
        recipes: dict[str, Recipe] = {}
        for cell in cells:
            made = _made(model, cell, target, variant_of)
            if isinstance(made, str):
                dropped.append(Dropped(model_name=model.name, phone=target.facts.identity, row=cell.row, reason=made))
                continue
            variant, placed = made
            recipes[variant.variant_id] = variant.recipe
            normal = normal_form(placed.cell).settings
            key = (f"{variant.recipe.format}:{variant.graph_digest}", normal, placed.cpu_mask)
            case = Case(
                model_name=model.name,
                variant_id=variant.variant_id,
                graph_digest=variant.graph_digest,
                recipe_name=variant.recipe.name,
                settings=normal,
                binary_digest=target.binary_digest,
                inputs_digest=inputs_digest,
                row=cell.row,
                affinity=cell.affinity if placed.cpu_mask is not None else "",
                cpu_mask=placed.cpu_mask,
                where_pays=cell.where_pays,
            )
            first = merged.get(key)
            merged[key] = case if first is None else _merged(first, case)
            if first is not None and control is None and _twins(first, case):
                control = (key, case)
        cases += _with_companions(list(merged.values()), recipes)
        if control is not None and control[0] in merged and control[1].model_name == model.name:
            cases.append(replace(control[1], twin_of=merged[control[0]].row))
    return Expansion(tuple(cases), tuple(dropped))


def with_twin(expansion: Expansion) -> Expansion:
    """A phone's part with one case measured under two names, where there are cases to compare: its twins where two
    files are such, else the first case of the first step once more."""
    timed = [case for case in expansion.cases if case.timed and case.where_pays is None]
    if len(timed) < 2 or any(case.twin_of for case in timed):
        return expansion
    again = replace(timed[0], row=f"{timed[0].row} again", also=(), twin_of=timed[0].row, again=True, traced=False)
    return replace(expansion, cases=(*expansion.cases, again))


def without_twins(expansion: Expansion) -> Expansion:
    """A phone's part with nothing measured under two names."""
    return replace(expansion, cases=tuple(case for case in expansion.cases if not case.twin_of))


def _made(model: Model, cell: Cell, target: Target, variant_of: VariantOf) -> tuple[Variant, OnCores] | str:
    """What a cell runs, and on which cores, or why it is no case."""
    placed = on_cores(cell, target.facts, target.cores_there)
    if isinstance(placed, str):
        return placed
    reason = pointless(cell, target.facts) or target.refuses(placed.cell.settings, cell.recipe)
    variant = variant_of(model, cell.recipe) if reason is None else reason
    if isinstance(variant, str):
        return variant
    return target.lacks(variant, cell.settings) or (variant, placed)


def _merged(first: Case, other: Case) -> Case:
    """One case with all the names of two that can't act differently; of the first step if one of them is.

    The last name asked for leads, as `cpu all` says more to a reader than `cpu extended`; not before the default, and
    not one of the second step before one of the first.
    """
    where_pays = None if other.where_pays is None else first.where_pays
    if other.row in (first.row, *first.also):
        return replace(first, where_pays=where_pays)
    if first.row == "default" or (first.where_pays is None and other.where_pays is not None):
        return replace(first, also=(*first.also, other.row))
    also = (*first.also, first.row)
    return replace(first, row=other.row, also=also, where_pays=where_pays, affinity=other.affinity)


def _twins(first: Case, other: Case) -> bool:
    """Whether two cases that are one in what they do come from different files, both in the first step."""
    apart = other.variant_id != first.variant_id and other.row not in (first.row, *first.also)
    return apart and first.where_pays is None and other.where_pays is None


def _with_companions(cases: Sequence[Case], recipes: Mapping[str, Recipe]) -> list[Case]:
    """The cases of one model, and for each variant that NNAPI gets the CPU on the same nodes: traced, not timed.

    `recipes` are by variant id. The level is basic where the runtime would fuse nodes that NNAPI has: `.onnx`, and
    saved optimizations. A case that asks for just that already is traced, too.
    """
    found = {case.case_id: case for case in cases}
    for case in cases:
        if case.settings.provider is not ExecutionProvider.NNAPI:
            continue
        recipe = recipes[case.variant_id]
        fuses = recipe.format is ModelFormat.ONNX or recipe.style is OptimizationStyle.RUNTIME
        threads = None if case.cpu_mask is None else case.settings.intra_op_threads
        settings = SessionSettings(level=OptimizationLevel.BASIC if fuses else None, intra_op_threads=threads)
        row = f"cpu {case.recipe_name}{f' @{case.affinity}' if case.affinity else ''} (trace)"
        beside = replace(case, settings=settings, row=row, also=(), timed=False)
        beside = found.get(beside.case_id, beside)
        where_pays = None if case.where_pays is None else beside.where_pays
        found[beside.case_id] = replace(beside, traced=True, where_pays=where_pays)
    return list(found.values())


def pointless(cell: Cell, facts: PhoneFacts) -> str | None:
    """Why a cell can't run, or can't mean anything, on this phone; None when it can."""
    s = cell.settings
    for what, count in (("intra-op", s.intra_op_threads), ("inter-op", s.inter_op_threads)):
        if count is not None and count > facts.cores:
            return f"{count} {what} threads: this phone has {how_many(facts.cores)}"
    if s.provider is ExecutionProvider.NNAPI and (reason := gate(s.nnapi_flags, facts.api_level)) is not None:
        return reason
    if s.provider is ExecutionProvider.NNAPI and (step := _for_the_cpu(cell.recipe)) is not None:
        return step
    executes = facts.exec_abis[0] if facts.exec_abis else "nothing known"
    x86 = executes.endswith(("x86_64", "x86"))
    if cell.recipe.platform is TargetPlatform.AMD64 and not x86:
        return f"{cell.recipe.name}: laid out for this host's x86-64 CPU, and this phone executes {executes}"
    if s.denormals_as_zero and not x86:
        return "set_denormal_as_zero acts on x86 only: on ARM it would measure nothing"
    return None


def _for_the_cpu(recipe: Recipe) -> str | None:
    """Why NNAPI would get nothing of what a step made."""
    if "fp16" in recipe.steps:
        return "fp16: NNAPI's execution provider takes no float16 tensors (its own flag fp16 relaxes float32 ones)"
    if "transformer-fusions" in recipe.steps:
        return "transformer-fusions: NNAPI's execution provider knows none of the fused operators"
    return None


def in_one_step(expansion: Expansion) -> Expansion:
    """A phone's part of the matrix without a second step: where a search finds out what pays."""
    return replace(expansion, cases=tuple(replace(case, where_pays=None) for case in expansion.cases))


def merge_by_phone(expansions: Mapping[str, Expansion]) -> tuple[Case, ...]:
    """The distinct cases of all phones, each once; of the first step if it is that on one of them."""
    seen: dict[str, Case] = {}
    for expansion in expansions.values():
        for case in expansion.cases:
            known = seen.setdefault(case.case_id, case)
            if case.where_pays is None and known.where_pays is not None:
                seen[case.case_id] = replace(known, where_pays=None)
    return tuple(seen.values())

"""Pure: the cases of a plan, for one model on one phone, as a space: what is merged or dropped there is so here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.plan.case import Case
from orchestrator.tuning.space import Space, space_of

DEFAULT = "default"
"""What a knob says that nobody set."""


def space_of_cases(cases: Sequence[Case], barred: Mapping[str, str] | None = None) -> tuple[Space, tuple[str, ...]]:
    """The space of the cases that are timed, twins left out, and the case's id of every cell.

    `barred` says by case id why it may not win (out of tolerance). The row `default` is the baseline. Raises UsageError
    as `space_of` does.
    """
    own = [case for case in cases if case.timed and not case.twin_of]
    wrong = barred or {}
    base = next((at for at, case in enumerate(own) if DEFAULT in (case.row, *case.also)), None)
    space = space_of(
        [case.row for case in own],
        [knobs(case) for case in own],
        barred={at: wrong[case.case_id] for at, case in enumerate(own) if case.case_id in wrong},
        baseline=base,
    )
    return space, tuple(case.case_id for case in own)


def knobs(case: Case) -> dict[str, str]:
    """Where a case's knobs stand, in words. NNAPI's flags are part of the provider: they are nobody else's."""
    s = case.settings
    found = {
        "recipe": case.recipe_name,
        "ep": " ".join([s.provider.value, *s.nnapi_flags]),
        "level": DEFAULT if s.level is None else s.level.value,
        "threads": _count(s.intra_op_threads),
        "inter-op threads": _count(s.inter_op_threads),
        "executor": "parallel" if s.parallel_executor else "sequential",
        "spinning": _switch(s.spinning),
        "arena": _switch(s.arena),
        "memory pattern": _switch(s.memory_pattern),
        "denormals": "zero" if s.denormals_as_zero else "kept",
        "cores": case.affinity or "all",
    }
    return found | {"config": ", ".join(f"{key}={value}" for key, value in s.config)}


def _count(asked: int | None) -> str:
    return DEFAULT if asked is None else str(asked)


def _switch(on: bool) -> str:
    return "on" if on else "off"

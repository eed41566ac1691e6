"""Pure: what was done to a phone before its trials: each step done, not offered or refused; stock or tuned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.report.source import Row, text

_DONE, _REFUSED = "done", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """A step of a phone's preparation: `standing` is done, not offered or refused, `words` say what or why."""

    step: str
    standing: str
    words: str


def prepared_steps(phone: Row) -> tuple[PreparedStep, ...]:
    """The steps in a phone's row, in their order; none where no preparation was asked for."""
    cell = phone.get("prepared")
    rows = [one for one in cell if isinstance(one, Mapping)] if isinstance(cell, Iterable) else []
    return tuple(
        PreparedStep(step=text(one, "step"), standing=text(one, "standing"), words=text(one, "words")) for one in rows
    )


def preparation_words(steps: Iterable[PreparedStep], problem: str, *, tuned: bool) -> str:
    """`tuned, not stock: awake, doze; not offered: profile; refused: clocks (needs …)`; "" for a stock phone."""
    groups: dict[str, list[PreparedStep]] = {}
    for one in steps:
        groups.setdefault(one.standing, []).append(one)
    done = ", ".join(one.step for one in groups.pop(_DONE, []))
    parts = [f"tuned, not stock{f': {done}' if done else ''}"] if tuned else []
    for standing, members in groups.items():
        why = standing == _REFUSED
        names = (f"{one.step} ({one.words})" if why and one.words else one.step for one in members)
        parts.append(f"{standing}: {', '.join(names)}")
    if problem:
        parts.append(f"not prepared: {problem}")
    return "; ".join(parts)

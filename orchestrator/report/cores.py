"""Pure: the cores that a case was to have, and those that its processes had, as the phone's kernel told of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from android_runner.affinity import core_list_text, core_words, cores_in
from orchestrator.report.numbers import plural
from orchestrator.report.source import Row, cores, text


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCores:
    """What a case was bound to on a phone: the word, the mask, and of its `n` timed processes how many had just these
    cores, others, or were not read back."""

    asked: str
    mask: str
    as_asked: int
    others: tuple[str, ...]
    n: int

    @property
    def words(self) -> str:
        """`@big: cores 4-7, read back of 6 of 6 processes`."""
        said = f"@{self.asked}: {core_words(cores_in(int(self.mask, 16)))}"
        said += f", read back of {self.as_asked} of {plural(self.n, 'process', 'processes')}"
        return f"{said}; others had {', '.join(self.others)}" if self.others else said


def bound_cores(measured: Collection[Row]) -> BoundCores | None:
    """By a case's attempts that count; None for one that may use all cores."""
    first = next(iter(measured), {})
    mask = text(first, "cpu_mask")
    if not mask:
        return None
    had = [found for row in measured if (found := cores(row, "allowed_cpus"))]
    asked = cores_in(int(mask, 16))
    return BoundCores(
        asked=text(first, "affinity"),
        mask=mask,
        as_asked=sum(one == asked for one in had),
        others=tuple(sorted({core_list_text(one) for one in had if one != asked})),
        n=len(measured),
    )


def cores_words(bound: Collection[BoundCores | None]) -> str:
    """What was read back of a phone's cases, each word once."""
    return "; ".join(dict.fromkeys(one.words for one in bound if one is not None))

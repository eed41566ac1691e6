"""Pure but for reading its own template: the morning digest as one HTML file that opens without a network or a script.

Every text goes through Jinja's escaping; the page's own policy (CSP) lets it load nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from orchestrator.report.html.trend_svg import trend_svg
from orchestrator.report.lines import shown
from orchestrator.report.morning.nouns import Digest, Shift
from orchestrator.report.morning.words import (
    alert_words,
    alike,
    case_name,
    died_words,
    figures_words,
    head_words,
    not_run_words,
    problem_lines,
    rest_words,
    twin_cells,
)

if TYPE_CHECKING:
    import jinja2


FIRST_CASES = 4
"""So many cases of which the same is said are open on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftView:
    """A case in words, with its nights as a picture (SVG of our own; empty for too few nights)."""

    name: str
    figures: str
    trend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeView:
    """Cases of which the same is to be said; those beyond the first few are folded away."""

    fresh: bool
    since: str
    changes: tuple[str, ...]
    first: tuple[ShiftView, ...]
    more: tuple[ShiftView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A headed part of the page: cases or lines of words."""

    anchor: str
    head: str
    shifts: tuple[AlikeView, ...] = ()
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiedView:
    """A phone that is not there any more, in words, with its twin's figures as cells."""

    words: tuple[str, ...]
    figures: tuple[tuple[str, str, str], ...]


def digest_html(one: Digest) -> str:
    """The digest as one file; its title is the sentence."""
    groups = (
        Group(anchor="regressed", head="Regressed", shifts=_shifts(one.regressed)),
        Group(anchor="suspected", head="Slower, not confirmed yet", shifts=_shifts(one.suspected)),
        Group(anchor="recovered", head="Recovered", shifts=_shifts(one.recovered)),
        Group(anchor="faster", head="Faster", shifts=_shifts(one.improved)),
    )
    lists = (
        Group(anchor="not-measured", head="Not measured", items=tuple(map(not_run_words, one.not_run))),
        Group(
            anchor="measured-again",
            head="Measured again (last night's reason)",
            items=tuple(map(not_run_words, one.runs_again)),
        ),
        Group(
            anchor="re-based",
            head="A new base, no alarm",
            items=tuple(f"{case_name(shift)}: {shift.reason}" for shift in one.rebased),
        ),
        Group(
            anchor="alerts",
            head="Alerts",
            items=tuple(alert_words(alert, one.night) for alert in (*one.opened, *one.standing, *one.closed)),
        ),
    )
    return _template().render(
        one=one,
        head=head_words(one),
        problem=problem_lines(one),
        shifts=[group for group in groups if group.shifts],
        died=[
            DiedView(
                words=tuple(died_words(died)),
                figures=tuple(map(twin_cells, died.twin.figures)) if died.twin is not None else (),
            )
            for died in one.died
        ],
        lists=[group for group in lists if group.items],
        rest=rest_words(one),
        style=_static("page.css") + _static("digest.css"),
    )


def _shifts(shifts: Sequence[Shift]) -> tuple[AlikeView, ...]:
    views = []
    for group in alike(shifts):
        cases = tuple(
            ShiftView(name=case_name(one), figures=figures_words(one), trend=trend_svg(one.trend))
            for one in group.shifts
        )
        views.append(
            AlikeView(
                fresh=group.fresh,
                since=group.since,
                changes=group.changes,
                first=cases[:FIRST_CASES],
                more=cases[FIRST_CASES:],
            )
        )
    return tuple(views)


@cache
def _template() -> jinja2.Template:
    import jinja2  # noqa: PLC0415 - only who asks for HTML needs it

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["shown"] = shown
    return environment.from_string(_static("digest.html.jinja"))


@cache
def _static(name: str) -> str:
    return (files("orchestrator.report.html") / "static" / name).read_text(encoding="utf-8")

"""Pure: `--device` expressions. Terms joined with `,` must all hold; `!` excludes; several options add up.

all · B3 · R58N30ABCDE · api>=29 · all,!B4 · virtual · virtual:pixel-8 · virtual:pixel-8x2 · virtual:pixel-8@drift
any(api>=29)

An expression means each phone that matches; `any(…)` means one of them: one, that is, or another of its device model
where the one fails.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from android_runner.facts import PhoneFacts
from orchestrator.errors import Problem, UsageError

DEFAULT_PROFILE = "pixel-8"
MAX_VIRTUAL = 200
_VIRTUAL = re.compile(
    r"virtual(?::(?P<profile>[A-Za-z0-9_.-]+?))?(?:@(?P<scenario>[A-Za-z0-9_./-]+?))?(?:x(?P<count>[0-9]{1,4}))?"
)
_ANY = re.compile(r"any\((.*)\)")
_API = re.compile(r"api(?P<op>>=|<=|=)(?P<level>[0-9]{1,3})")


@dataclass(frozen=True, slots=True)
class VirtualWish:
    """Virtual phones asked for: a device profile's name, how many, and the scenario of their heat (empty: none).
    `one`: any of them is meant, not each."""

    profile: str
    count: int
    scenario: str = ""
    one: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """Terms that must all hold of a phone; `one`: any of those for which they do is meant, not each."""

    text: str
    terms: tuple[str, ...]
    one: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A phone that adb lists: names that may be used for it, and its facts when it could be asked."""

    serial: str
    label: str
    facts: PhoneFacts | None
    identity: str = ""
    """Which phone it is where it could not be asked, and somebody knows."""

    def names(self) -> tuple[str, ...]:
        """Everything that a person may call it."""
        return (self.serial, self.label, self.facts.identity if self.facts else self.identity or self.serial)


def parse_devices(options: Sequence[str]) -> tuple[list[Expression], list[VirtualWish]]:
    """Split `--device` options into expressions over attached phones and wishes for virtual ones.

    Raises UsageError for an empty expression, or one that mixes virtual phones with other terms.
    """
    expressions: list[Expression] = []
    wishes: list[VirtualWish] = []
    problems: list[Problem] = []
    for option in options:
        inner = _ANY.fullmatch(option.strip())
        one = inner is not None
        terms = tuple(term.strip() for term in (inner[1] if inner else option).split(",") if term.strip())
        virtual = [match for term in terms if (match := _VIRTUAL.fullmatch(term))]
        if not terms:
            problems.append(Problem("--device", f"{option!r} names no phone", "say all, a serial, or virtual"))
        elif odd := [
            term for term in terms if term.startswith(("virtual:", "virtual@")) and not _VIRTUAL.fullmatch(term)
        ]:
            problems.append(
                Problem("--device", f"{odd[0]!r} names no device profile", "say virtual[:PROFILE][@SCENARIO][xN]")
            )
        elif not virtual:
            expressions.append(Expression(option, terms, one))
        elif len(terms) > 1:
            problems.append(
                Problem("--device", f"{option!r} mixes virtual phones with other terms", "use two --device")
            )
        else:
            count = int(virtual[0]["count"] or 1)
            if not 1 <= count <= MAX_VIRTUAL:
                problems.append(Problem("--device", f"{option!r} asks for {count} phones", f"1 to {MAX_VIRTUAL}"))
            profile, scenario = virtual[0]["profile"] or DEFAULT_PROFILE, virtual[0]["scenario"] or ""
            wishes.append(VirtualWish(profile, count, scenario, one))
    if problems:
        raise UsageError(*problems)
    return expressions, wishes


def choose(expressions: Sequence[Expression], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Every candidate that an expression matches, each once, in the order of the candidates.

    Raises UsageError for a name that no candidate has, with the nearest one.
    """
    known = [name for candidate in candidates for name in candidate.names()]
    problems = []
    for expression in expressions:
        for term in expression.terms:
            name = term.removeprefix("!")
            if name != "all" and not _API.fullmatch(name) and name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                mend = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(set(known))) or 'none'}"
                problems.append(Problem("--device", f"no phone is called {name!r}", mend))
    if problems:
        raise UsageError(*problems)
    return [one for one in candidates if matches_any(expressions, one)]


def matches_any(expressions: Sequence[Expression], candidate: Candidate) -> bool:
    """Whether an expression matches a candidate."""
    return any(_matches(expression, candidate) for expression in expressions)


def _matches(expression: Expression, candidate: Candidate) -> bool:
    """Terms about phones at large mean real ones; a virtual phone is chosen by its name alone."""
    virtual = candidate.facts is not None and candidate.facts.virtual
    if virtual and not set(candidate.names()) & set(expression.terms):
        return False
    return all(
        not _holds(term[1:], candidate) if term.startswith("!") else _holds(term, candidate)
        for term in expression.terms
    )


def _holds(term: str, candidate: Candidate) -> bool:
    if term == "all":
        return True
    if (api := _API.fullmatch(term)) is not None:
        if candidate.facts is None:
            return False
        level, wanted = candidate.facts.api_level, int(api["level"])
        return {">=": level >= wanted, "<=": level <= wanted, "=": level == wanted}[api["op"]]
    return term in candidate.names()

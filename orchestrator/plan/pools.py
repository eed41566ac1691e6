"""Pure: what `any(EXPR)` means: one phone, and those of its kind that stand by for it.

Figures of two device models are no figures of one thing, so trials move only between phones of one model that have the
same API level, cores and ABI. The kind with the most phones is taken, so that most stand by.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from android_runner.facts import PhoneFacts
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.select import Candidate, Expression, VirtualWish, matches_any, parse_devices


@dataclass(frozen=True, slots=True)
class Pools:
    """By each `any(…)` the identities of its phones, the one that is asked first; and those that nothing asks for."""

    pools: tuple[tuple[str, ...], ...]
    superfluous: frozenset[str]


def pools_of(options: Sequence[str], chosen: Sequence[Candidate]) -> Pools:
    """Divide the usable phones that `--device` options match. Raises UsageError when an `any(…)` has none left."""
    expressions, wishes = parse_devices(options)
    every_asked: list[Expression | VirtualWish] = [*expressions, *wishes]
    if not any(one.one for one in every_asked):
        return Pools((), frozenset())
    taken: set[str] = set()
    for asked in every_asked:
        if not asked.one:
            taken |= {one.identity for one in _matching(asked, chosen, taken)}
    pools: list[tuple[str, ...]] = []
    problems: list[Problem] = []
    for asked in every_asked:
        if asked.one:
            kinds: dict[tuple[object, ...], list[str]] = {}
            for facts in _matching(asked, chosen, taken):
                kinds.setdefault(_kind(facts), []).append(facts.identity)
            most: list[str] = max(kinds.values(), key=len) if kinds else []
            pool = tuple(most)
            if not pool:
                words = f"any({_words(asked)}): no usable phone is left for it"
                problems.append(Problem("--device", words, "leave it out, or attach another"))
            pools.append(pool)
            taken |= set(pool)
    if problems:
        raise UsageError(*problems)
    every = {one.facts.identity for one in chosen if one.facts is not None}
    return Pools(tuple(pools), frozenset(every - taken))


def among(pools: Sequence[tuple[str, ...]], able: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """The pools with the phones that turned out to be able; one of which none is goes."""
    left = (tuple(phone for phone in pool if phone in able) for pool in pools)
    return tuple(pool for pool in left if pool)


def spares(pools: Sequence[tuple[str, ...]]) -> set[str]:
    """The phones that stand by."""
    return {phone for pool in pools for phone in pool[1:]}


def _matching(asked: Expression | VirtualWish, chosen: Sequence[Candidate], taken: Collection[str]) -> list[PhoneFacts]:
    if isinstance(asked, Expression):
        matching = [one.facts for one in chosen if one.facts is not None and matches_any([asked], one)]
        return [facts for facts in matching if not asked.one or facts.identity not in taken]
    own = [
        one.facts
        for one in chosen
        if one.facts is not None
        and (one.facts.virtual, one.facts.profile, bool(one.facts.scenario))
        == (True, asked.profile, bool(asked.scenario))
        and one.facts.identity not in taken
    ]
    return own[: asked.count]


def _kind(facts: PhoneFacts) -> tuple[object, ...]:
    return facts.device_model, facts.api_level, facts.cores, facts.exec_abis[:1], facts.virtual


def _words(asked: Expression | VirtualWish) -> str:
    return ",".join(asked.terms) if isinstance(asked, Expression) else f"virtual:{asked.profile}"

"""Pure: why a setting wins, in one sentence, from what was measured beside it and from what NNAPI took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.report import stats
from orchestrator.report.nnapi import NnapiAnswer, NnapiCase
from orchestrator.report.numbers import percent, plural
from orchestrator.report.source import Cell, cores, flag, names, rounds_of, text, whole
from orchestrator.report.summary import SettingRow

NNAPI = "nnapi"
MOST_KNOBS = 2
_ORT_DEFAULT = "the runtime's own choice"


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob turned: from what the winner has to what a neighbour has, and how many times as fast the winner is."""

    what: str
    winner_has: str
    other_has: str
    ratio: stats.Ratio


def knobs_of(cell: Cell) -> dict[str, str]:
    """Where the knobs of a measured case stand, in words; empty where nothing was measured."""
    row = next(iter(cell.measured.values()), None)
    if row is None:
        return {}
    threads = whole(row, "intra_op_threads")
    inter = whole(row, "inter_op_threads")
    return {
        "graph": text(row, "recipe"),
        "level": text(row, "level") or _ORT_DEFAULT,
        "execution provider": text(row, "provider"),
        "NNAPI's flags": " ".join(sorted(names(row, "nnapi_flags"))) or "none",
        "threads": _ORT_DEFAULT if threads is None else str(threads),
        "threads between operators": _ORT_DEFAULT if inter is None else str(inter),
        "executor": "parallel" if flag(row, "parallel_executor") else "sequential",
        "spinning": _on(row, "spinning"),
        "arena": _on(row, "arena"),
        "memory pattern": _on(row, "memory_pattern"),
        "denormals as zero": "on" if flag(row, "denormals_as_zero") else "off",
        "config": " ".join(names(row, "config")),
        "cores": text(row, "affinity") or ",".join(map(str, cores(row, "cpu_mask"))) or "all",
    }


def _on(row: Mapping[str, object], key: str) -> str:
    return "on" if row.get(key) is None or flag(row, key) else "off"


def turned_knobs(winner: Cell, ranked: Sequence[Cell], first: int | None) -> list[Knob]:
    """The knobs that were turned alone, each with the best of its other positions, those that cost most first.

    Only such as surely cost something: the whole interval of the ratio lies above 1.
    """
    own, own_s = knobs_of(winner), rounds_of(winner)
    nearest: dict[str, Knob] = {}
    for cell in ranked:
        other = knobs_of(cell)
        apart = [what for what in own if other.get(what) != own[what]]
        ratio = stats.speed_ratio(rounds_of(cell), own_s, first=first)
        if len(apart) != 1 or ratio is None:
            continue
        what = apart[0]
        if what not in nearest or ratio.value < nearest[what].ratio.value:
            nearest[what] = Knob(what, own[what], other[what], ratio)
    sure = [knob for knob in nearest.values() if knob.ratio.surely_faster]
    return sorted(sure, key=lambda knob: -knob.ratio.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a winner's sentence is made of: the knobs that were turned alone, what NNAPI took, all rows in their order;
    how many times as fast as the winner another row is; how many can't be told from it."""

    winner: SettingRow
    knobs: Sequence[Knob]
    nnapi: NnapiAnswer | None
    rows: Sequence[SettingRow]
    speed_of: Callable[[SettingRow], stats.Ratio | None]
    tied: int = 0


def reason_of(known: Evidence) -> str:
    """The sentence: what the winner's knobs are worth, and what NNAPI took, of it or of its own best setting."""
    parts = [
        f"{knob.what} {knob.winner_has} instead of {knob.other_has} makes it {knob.ratio.value:.2f}× as fast"
        for knob in known.knobs[:MOST_KNOBS]
    ]
    if known.nnapi is not None:
        parts += _of_nnapi(known, known.nnapi)
    row = known.winner.row
    if not parts:
        return f"{row} has the least median of {plural(len([one for one in known.rows if one.rank]), 'setting')}."
    head = f"{row} is the first of {known.tied + 1} that can't be told apart" if known.tied else f"{row} is ahead"
    return f"{head}: {'; '.join(parts)}."


def _of_nnapi(known: Evidence, nnapi: NnapiAnswer) -> list[str]:
    own = nnapi.case(known.winner.case)
    if own is not None:
        words = _taken(own)
        return [f"NNAPI takes {words}"] if words else []
    theirs = ((one, nnapi.case(one.case)) for one in known.rows if one.rank is not None)
    best = next(((one, case) for one, case in theirs if case is not None), None)
    speed = known.speed_of(best[0]) if best is not None else None
    if best is None or speed is None:
        return []
    words = _taken(best[1])
    taken = f" takes {words} and" if words else ""
    return [f"NNAPI's best, {best[0].row},{taken} is {speed.value:.2f}× as fast"]


def _taken(case: NnapiCase) -> str:
    if not case.known or case.nodes_claimed is None or case.nodes is None or case.partitions is None:
        return ""
    time = f" ({percent(case.time_share)} of the time)" if case.time_share is not None else ""
    return f"{case.nodes_claimed} of {plural(case.nodes, 'node')} in {plural(case.partitions, 'partition')}{time}"

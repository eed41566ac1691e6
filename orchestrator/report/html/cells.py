"""Pure: what a click on a cell opens, as JSON that the page's script draws: rounds, time by operator, the graph, the
command. Whatever is text in it came from a phone or a model: the script writes it as text, never as markup."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from orchestrator.plan.case import Purpose
from orchestrator.report import source
from orchestrator.report.html.drawing import MAX_DRAWN_NODES, drawn
from orchestrator.report.html.pairs import GraphPair, graph_pairs
from orchestrator.report.lines import shown
from orchestrator.report.numbers import NOTHING, decimals_for, ms, size
from orchestrator.report.source import Row, flag, names, number, text, whole
from orchestrator.report.summary import PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.terminal import setting_name
from orchestrator.report.why_number import WhySource, why_number


class DetailFrames(source.RunFrames, Protocol):
    """The frames of a summary, and those that only details need."""

    @property
    def nodes(self) -> pd.DataFrame:
        """A row a node of each variant, for each API level and set of NNAPI flags."""
        ...


@dataclass(frozen=True, slots=True)
class Details:
    """`cells` by id, `graphs` by what a cell calls them; plain values as JSON knows them. `pairs` by model."""

    cells: dict[str, dict[str, object]]
    graphs: dict[str, list[dict[str, object]]]
    pairs: dict[str, list[GraphPair]]


def cell_id(model: str, phone: str, case: str) -> str:
    """What a cell is called in the page; a case's id alone tells the model."""
    return shown(f"{case[:16]}/{phone}/{model}")


def details(summary: RunSummary, frames: DetailFrames) -> Details:
    """All cells of a run's tables."""
    every = source.records(frames.attempts)
    known = _Known(
        cells={(one.phone, one.case): one for one in source.cells(source.records(frames.trials), every)},
        tries=_by_place(every),
        attempts=_by_place(row for row in every if text(row, "purpose") == Purpose.TIME),
        operators=_by_place(source.records(frames.operators)),
        partitions=_by_place(source.records(frames.partitions)),
    )
    nodes = source.records(frames.nodes)
    graphs = _Graphs(nodes)
    cells = {
        cell_id(model.model, phone.phone, row.case): _cell(summary.head.run, model.model, phone, row, known, graphs)
        for model in summary.models
        for phone in model.phones
        for row in phone.rows
    }
    pairs = {model.model: graph_pairs(model, nodes) for model in summary.models}
    return Details(cells=cells, graphs=graphs.used, pairs=pairs)


_Place = tuple[str, str]
"""A phone and a case."""


@dataclass(frozen=True, slots=True)
class _Known:
    cells: Mapping[_Place, source.Cell]
    tries: Mapping[_Place, Sequence[Row]]
    attempts: Mapping[_Place, Sequence[Row]]
    operators: Mapping[_Place, Sequence[Row]]
    partitions: Mapping[_Place, Sequence[Row]]


def _by_place(rows: object) -> dict[_Place, list[Row]]:
    found: dict[_Place, list[Row]] = {}
    for row in rows:  # type: ignore[attr-defined]
        found.setdefault((text(row, "phone"), text(row, "case")), []).append(row)
    return found


def _cell(
    run: str, model: str, phone: PhoneAnswer, row: SettingRow, known: _Known, graphs: _Graphs
) -> dict[str, object]:
    place = phone.phone, row.case
    attempts = known.attempts.get(place, ())
    counted = next((one for one in attempts if flag(one, "counted")), attempts[0] if attempts else {})
    label = phone.label or phone.phone
    which = shlex.quote(shown(f"{run}/{label}/{model} {row.row}"))
    decimals = decimals_for([row.p50_s])
    return {
        "title": shown(f"{model} · {setting_name(row)} · {phone.name}"),
        "virtual": phone.virtual,
        "figure": "" if row.p50_s is None else f"{ms(row.p50_s, decimals)} ± {ms(row.half_width_s, decimals)} ms",
        "reason": shown("; ".join(part for part in (*row.marks, row.reason) if part)),
        "why": _why(phone, row, known),
        "cold": _cold(row),
        "rounds": [_round(one) for one in attempts],
        "operators": [_operator(one) for one in known.operators.get(place, ())],
        "partitions": [_partition(one) for one in known.partitions.get(place, ())],
        "graph": graphs.key(counted, phone.api_level),
        "serial": shown(phone.serial),
        "command": shown(text(counted, "command")),
        "show": f"orch show {which}",
        "replay": f"orch replay {which}",
    }


def _why(phone: PhoneAnswer, row: SettingRow, known: _Known) -> list[str]:
    """Why its number is what it is, in five sentences."""
    place = phone.phone, row.case
    cell = known.cells.get(place)
    if cell is None:
        return []
    own, traced = known.tries.get(place, ()), known.operators.get(place, ())
    told = WhySource(cell=cell, answer=phone, setting=row, tries=own, operators=traced)
    return [shown(words) for words in why_number(told)]


def _cold(row: SettingRow) -> list[tuple[str, str]]:
    """What it costs before its first answer, as far as that is known."""
    cold = row.cold
    if cold is None:
        return []
    first = cold.first_inference_traced_s or cold.first_inference_s
    below = cold.first_inference_below_s
    told = [
        ("session created in", "" if cold.session_creation_s is None else f"{ms(cold.session_creation_s, 1)} ms"),
        ("first inference", "" if first is None else f"{ms(first, 2)} ms"),
        ("first inference below", "" if first is not None or below is None else f"{ms(below, 0)} ms"),
        ("peak memory of the process", "" if cold.peak_memory_bytes is None else size(cold.peak_memory_bytes)),
        ("model was in the page cache", f"{cold.warm} of {cold.n} processes" if cold.n else ""),
    ]
    return [(name, words) for name, words in told if words]


def _round(row: Row) -> dict[str, object]:
    p50_s = number(row, "p50_s")
    return {
        "round": whole(row, "round"),
        "try": whole(row, "number"),
        "p50_ms": None if p50_s is None else p50_s * 1e3,
        "counted": flag(row, "counted"),
        "outcome": shown(text(row, "outcome")),
        "validity": shown(text(row, "validity") or NOTHING),
        "why": shown("; ".join((*names(row, "validity_reasons"), text(row, "message"))).strip("; ")),
        "battery_c": number(row, "battery_c_before"),
        "zone_c": number(row, "zone_max_c_before"),
        "mhz": None if (khz := number(row, "freq_max_khz_after")) is None else khz / 1e3,
    }


def _operator(row: Row) -> dict[str, object]:
    runs = whole(row, "runs") or 0
    self_s, device_s = number(row, "self_s"), number(row, "device_s")
    return {
        "operator": shown(text(row, "operator")),
        "ran_on": shown(text(row, "ran_on")),
        "nodes": whole(row, "nodes"),
        "ms": None if self_s is None or not runs else self_s * 1e3 / runs,
        "device_ms": None if device_s is None or not runs else device_s * 1e3 / runs,
        "share": number(row, "share"),
    }


def _partition(row: Row) -> dict[str, object]:
    mean_s, cpu_s = number(row, "mean_s"), number(row, "cpu_mean_s")
    nodes = names(row, "nodes")
    return {
        "nodes": len(nodes) or None,
        "ms": None if mean_s is None else mean_s * 1e3,
        "cpu_ms": None if cpu_s is None else cpu_s * 1e3,
        "share": number(row, "share"),
    }


_Key = tuple[str, int, tuple[str, ...]]
"""A variant's id, an API level, NNAPI's flags."""


class _Graphs:
    """The graphs of a run, drawn where a cell asks for one."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.used: dict[str, list[dict[str, object]]] = {}
        self._rows: dict[_Key, list[Row]] = {}
        for row in rows:
            key = text(row, "variant"), whole(row, "api_level") or 0, names(row, "nnapi_flags")
            self._rows.setdefault(key, []).append(row)

    def key(self, attempt: Row, api_level: int | None) -> str:
        """What the graph of an attempt's case is called; "" where it is not known, or too large to be drawn."""
        asked = text(attempt, "variant"), api_level or 0, names(attempt, "nnapi_flags")
        rows = self._rows.get(asked, [])
        if not 0 < len(rows) <= MAX_DRAWN_NODES:
            return ""
        name = f"{asked[0][:16]}/{asked[1]}/{'+'.join(asked[2])}"
        if name not in self.used:
            self.used[name] = drawn(rows)
        return name

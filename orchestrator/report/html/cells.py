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
from orchestrator.report.html.layout import places
from orchestrator.report.lines import shown
from orchestrator.report.numbers import NOTHING, decimals_for, ms
from orchestrator.report.source import Row, flag, names, number, text, whole
from orchestrator.report.summary import PhoneAnswer, RunSummary, SettingRow
from orchestrator.report.terminal import setting_name

MAX_DRAWN_NODES = 1500
"""A larger graph would be a drawing that nobody can read, and a page that nobody can open."""


class DetailFrames(source.RunFrames, Protocol):
    """The frames of a summary, and those that only details need."""

    @property
    def nodes(self) -> pd.DataFrame:
        """A row a node of each variant, for each API level and set of NNAPI flags."""
        ...


@dataclass(frozen=True, slots=True)
class Details:
    """`cells` by id, `graphs` by what a cell calls them; plain values as JSON knows them."""

    cells: dict[str, dict[str, object]]
    graphs: dict[str, list[dict[str, object]]]


def cell_id(model: str, phone: str, case: str) -> str:
    """What a cell is called in the page; a case's id alone tells the model."""
    return shown(f"{case[:16]}/{phone}/{model}")


def details(summary: RunSummary, frames: DetailFrames) -> Details:
    """All cells of a run's tables."""
    known = _Known(
        attempts=_by_place(row for row in source.records(frames.attempts) if text(row, "purpose") == Purpose.TIME),
        operators=_by_place(source.records(frames.operators)),
        partitions=_by_place(source.records(frames.partitions)),
    )
    drawn = _Graphs(source.records(frames.nodes))
    cells = {
        cell_id(model.model, phone.phone, row.case): _cell(summary.head.run, model.model, phone, row, known, drawn)
        for model in summary.models
        for phone in model.phones
        for row in phone.rows
    }
    return Details(cells=cells, graphs=drawn.used)


_Place = tuple[str, str]
"""A phone and a case."""


@dataclass(frozen=True, slots=True)
class _Known:
    attempts: Mapping[_Place, Sequence[Row]]
    operators: Mapping[_Place, Sequence[Row]]
    partitions: Mapping[_Place, Sequence[Row]]


def _by_place(rows: object) -> dict[_Place, list[Row]]:
    found: dict[_Place, list[Row]] = {}
    for row in rows:  # type: ignore[attr-defined]
        found.setdefault((text(row, "phone"), text(row, "case")), []).append(row)
    return found


def _cell(
    run: str, model: str, phone: PhoneAnswer, row: SettingRow, known: _Known, drawn: _Graphs
) -> dict[str, object]:
    place = phone.phone, row.case
    attempts = known.attempts.get(place, ())
    counted = next((one for one in attempts if flag(one, "counted")), attempts[0] if attempts else {})
    label = phone.label or phone.phone
    decimals = decimals_for([row.p50_s])
    return {
        "title": shown(f"{model} · {setting_name(row)} · {phone.name}"),
        "virtual": phone.virtual,
        "figure": "" if row.p50_s is None else f"{ms(row.p50_s, decimals)} ± {ms(row.half_width_s, decimals)} ms",
        "reason": shown("; ".join(part for part in (*row.marks, row.reason) if part)),
        "rounds": [_round(one) for one in attempts],
        "operators": [_operator(one) for one in known.operators.get(place, ())],
        "partitions": [_partition(one) for one in known.partitions.get(place, ())],
        "graph": drawn.key(counted, phone.api_level),
        "command": shown(text(counted, "command")),
        "show": "orch show " + shlex.quote(shown(f"{run}/{label}/{model} {row.row}")),
    }


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
            self.used[name] = _drawn(rows)
        return name


def _drawn(rows: Sequence[Row]) -> list[dict[str, object]]:
    after = [_indices(row) for row in rows]
    return [
        {
            "operator": shown(text(row, "operator")),
            "name": shown(text(row, "name")),
            "shape": "×".join(str(dim) for dim in _indices(row, "shape")),
            "after": own,
            "x": column,
            "y": at,
            "partition": whole(row, "partition"),
            "reason": shown(text(row, "reason")),
        }
        for row, own, (column, at) in zip(rows, after, places(after), strict=True)
    ]


def _indices(row: Row, key: str = "after") -> list[int]:
    value = row.get(key)
    return [one for one in value if isinstance(one, int)] if isinstance(value, (list, tuple)) else []

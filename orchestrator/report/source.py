"""Pure: from the frames of one run to plain rows. The only place here that knows pandas' ways of saying "nothing".

Frames are those of `orchestrator.store.frames`: one row a run, phone, variant, trial, attempt or dropped cell, units
in the column names. A column that is not there reads as nothing said, so that older ledgers still have a report.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from orchestrator.store.hunts import Hopeless, Hunt
    from orchestrator.tuning.attempts import Attempt

Row = Mapping[str, object]


class RunFrames(Protocol):
    """What a report is made of: the frames of one run."""

    @property
    def runs(self) -> pd.DataFrame:
        """One row: run, created_at, finished_at, state, plan_name, plan_digest, seed, rounds, note, tags,
        binary_name, binary_digest, binary_ort_version, script_digest, orch_version, host, user, command."""
        ...

    @property
    def searches(self) -> Sequence[tuple[Hunt | Hopeless, Sequence[Attempt]]]:
        """The searches for the best setting, with what they were told; none where nothing was searched for."""
        ...

    @property
    def phones(self) -> pd.DataFrame:
        """phone, label, serial, device_model, soc, api_level, fingerprint, cores, virtual, confinement, shell."""
        ...

    @property
    def variants(self) -> pd.DataFrame:
        """variant, model, model_digest, recipe, format, converter_version, graph_digest, size_bytes, ort_format,
        nodes_before, nodes_after (counts by operator, or totals), twins, verdict, verdict_reason, precision, error,
        cosine, top1_same."""
        ...

    @property
    def trials(self) -> pd.DataFrame:
        """trial, case, phone, model, row, also, twin_of, purpose, round, state, kind, message, reason."""
        ...

    @property
    def attempts(self) -> pd.DataFrame:
        """trial, attempt, counted, case, phone, number, purpose, round, outcome, kind, message, the figures, the
        settings."""
        ...

    @property
    def incidents(self) -> pd.DataFrame:
        """phone, label, at, seen, rung, result, words, took_s; in their order."""
        ...

    @property
    def dropped(self) -> pd.DataFrame:
        """model, phone, row, reason."""
        ...

    @property
    def predictions(self) -> pd.DataFrame:
        """phone, model, variant, recipe, nnapi_flags, nodes, nodes_claimed, partition_operators, multiply_adds,
        multiply_adds_claimed, not_taken, not_checked."""
        ...

    @property
    def placements(self) -> pd.DataFrame:
        """phone, model, case, row, known, why, partitions, nodes_claimed, nodes_in_graph, nodes_before_layout,
        claimed_before_layout, devices."""
        ...

    @property
    def checks(self) -> pd.DataFrame:
        """phone, model, case, row, output, checked, why, difference, error_db, tolerance_db, within, reference."""
        ...

    @property
    def cold_starts(self) -> pd.DataFrame:
        """phone, case, first_inference_s: a row a trace."""
        ...

    @property
    def operators(self) -> pd.DataFrame:
        """phone, case, operator, ran_on, nodes, runs, self_s, share: a row an operator and provider of every trace."""
        ...

    @property
    def partitions(self) -> pd.DataFrame:
        """phone, model, case, partition, mean_s, cpu_mean_s, share; in the order of their numbers."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """What could not be read of the evidence for the frames that were asked for so far, a sentence each."""
        ...


def records(frame: pd.DataFrame) -> list[Row]:
    """A frame's rows as mappings; NaN, NaT and NA become None."""
    if frame.empty:
        return []
    names = [str(name) for name in frame.columns]  # column by column: pandas' own rows cost ten times as much
    columns = [[_said(value) for value in frame[name].tolist()] for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _said(value: object) -> object:
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def text(row: Row, key: str, default: str = "") -> str:
    """A cell as text; `default` where nothing is said."""
    value = row.get(key)
    return default if value is None else str(value)


def whole(row: Row, key: str) -> int | None:
    """A cell as a whole number; None where nothing, or no number, is said."""
    value = number(row, key)
    return None if value is None else int(value)


def number(row: Row, key: str) -> float | None:
    """A cell as a finite number; None where nothing, or no number, is said."""
    value = row.get(key)
    if value is None:
        return None
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return result if math.isfinite(result) else None


def flag(row: Row, key: str) -> bool:
    """A cell as yes or no; no where nothing is said."""
    return bool(row.get(key) or False)


def names(row: Row, key: str) -> tuple[str, ...]:
    """A cell that holds several names."""
    value = row.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(item) for item in value) if isinstance(value, Iterable) else ()


def cores(row: Row, key: str) -> tuple[int, ...]:
    """A cell that holds numbers of cores, sorted."""
    value = row.get(key)
    return tuple(sorted(int(item) for item in value)) if isinstance(value, (list, tuple)) else ()


def counts(row: Row, key: str) -> tuple[tuple[str, int], ...]:
    """A cell that holds counts by operator, as a mapping or as pairs; a bare total counts under no name."""
    value = row.get(key)
    if isinstance(value, Mapping):
        return tuple(sorted((str(name), int(n)) for name, n in value.items()))
    total = number(row, key)
    if total is not None:
        return (("", int(total)),)
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        return ()
    return tuple(sorted((str(name), int(n)) for name, n in value))


def moment(row: Row, key: str) -> datetime | None:
    """A cell as a moment, to the second."""
    value = row.get(key)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    return value.replace(microsecond=0) if isinstance(value, datetime) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All that a run knows of one case on one phone: its timed trials, and the attempt that measured each."""

    model: str
    phone: str
    case: str
    row: str
    also: tuple[str, ...]
    twin_of: str
    trials: tuple[Row, ...]
    measured: Mapping[int, Row]
    """round -> the attempt that counts"""
    attempts: int
    tries: tuple[Row, ...] = ()
    """Every attempt, whether it counts or not, in the order in which they were recorded."""
    side: str = ""
    """A or B, where two are held against each other; `pair` is what these two are called together."""
    pair: str = ""

    def first(self, key: str) -> str:
        """What the first attempt that counts says under `key`."""
        return text(next(iter(self.measured.values()), {}), key)


def cells(trials: list[Row], attempts: list[Row]) -> list[Cell]:
    """The timed trials by model, phone and case, in the order of the plan, each with the attempt that counts.

    A trial that is not `measured` has none, nor does an attempt count without a usable p50 (none, zero, infinite).
    """
    ended_well = {text(row, "trial") for row in trials if text(row, "state") == "measured"}
    counted = {
        text(attempt, "trial"): attempt
        for attempt in attempts
        if flag(attempt, "counted") and text(attempt, "trial") in ended_well and (number(attempt, "p50_s") or 0.0) > 0.0
    }
    tries: dict[str, list[Row]] = {}
    for attempt in attempts:
        tries.setdefault(text(attempt, "trial"), []).append(attempt)
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in trials:
        if text(row, "purpose", "time") == "time":
            groups.setdefault((text(row, "model"), text(row, "phone"), text(row, "case")), []).append(row)
    return [
        Cell(
            model=model,
            phone=phone,
            case=case,
            row=text(rows[0], "row", case[:12]),
            also=names(rows[0], "also"),
            twin_of=text(rows[0], "twin_of"),
            trials=tuple(rows),
            measured={
                whole(row, "round") or 0: counted[text(row, "trial")] for row in rows if text(row, "trial") in counted
            },
            attempts=sum(len(tries.get(text(row, "trial"), ())) for row in rows),
            side=text(rows[0], "side"),
            pair=text(rows[0], "pair"),
            tries=tuple(attempt for row in rows for attempt in tries.get(text(row, "trial"), ())),
        )
        for (model, phone, case), rows in groups.items()
    ]


def rounds_of(cell: Cell) -> dict[int, float]:
    """The p50 of each valid round in seconds, in the order of the rounds."""
    return {at: value for at, row in sorted(cell.measured.items()) if (value := number(row, "p50_s")) is not None}

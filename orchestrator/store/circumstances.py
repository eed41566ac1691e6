"""What was true beside a case's figures in a run, as the ledger knows it: system, binary, model, battery, canary."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any

import sqlalchemy as sa

from android_runner.battery import BatteryReading
from android_runner.settings import SessionSettings
from orchestrator.nights.nouns import Circumstances, SeriesKey
from orchestrator.plan.case import Case, Purpose
from orchestrator.store.codec import from_text
from orchestrator.store.records import VariantRecord
from orchestrator.store.schema import ATTEMPT, BATTERY, RUN_VARIANT

AT_ONCE = 400
"""Names in one question: databases take a bounded number."""
_DEFAULTS = SessionSettings()


def of_runs(
    connection: sa.Connection, table: sa.Table, runs: Sequence[str], also: Sequence[sa.ColumnElement[bool]]
) -> Iterator[Any]:
    """The rows of a table that belong to runs, and for which more holds."""
    for at in range(0, len(runs), AT_ONCE):
        query = sa.select(table).where(table.c.run_id.in_(runs[at : at + AT_ONCE]), *also)
        yield from connection.execute(query)


def counts(row: Any) -> bool:
    """Whether a timed trial, with its attempt, has a figure."""
    return row.state == "measured" and row.p50_s is not None and row.p50_s > 0.0


def settings_text(case: Case) -> str:
    """What a case asks of the runtime, of the cores and of its inputs, as far as a row's name may hide it: all that is
    no default, as `name value`."""
    words = []
    for one in fields(SessionSettings):
        value = getattr(case.settings, one.name)
        if value != getattr(_DEFAULTS, one.name):
            words.append(f"{one.name} {_said(value)}")
    if case.cpu_mask is not None:
        words.append(f"affinity {case.affinity} {case.cpu_mask:#x}".replace("  ", " "))
    return ", ".join([*words, f"inputs {case.inputs_digest[:10]}"])


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(_said(one) for one in value)
    return str(value.value if isinstance(value, Enum) else value)


class Beside:
    """What was true beside the figures, read at once for all runs."""

    def __init__(
        self, connection: sa.Connection, runs: Sequence[str], variants: set[str], key: SeriesKey | None
    ) -> None:
        of_variants = (RUN_VARIANT.c.variant_id.in_(sorted(variants)),) if key is not None else ()
        self._variants = {
            (row.run_id, row.variant_id): from_text(VariantRecord, row.record)
            for row in of_runs(connection, RUN_VARIANT, runs, of_variants)
        }
        of_phone = (BATTERY.c.phone == key.phone,) if key is not None else ()
        self._health = {
            (row.run_id, row.phone): _health(from_text(BatteryReading, row.record))
            for row in of_runs(connection, BATTERY, runs, of_phone)
        }
        self._canaries = _canaries(connection, runs, key)

    def of(self, run: Any, case: Case, trials: Sequence[Any]) -> Circumstances:
        """One case's night; `trials` with their attempts."""
        first = next((row for row in trials if counts(row)), None)
        phone = trials[0].phone
        variant = self._variants.get((run.run_id, case.variant_id))
        warm = [found for row in trials if counts(row) and (found := _battery_c(row.after_vitals)) is not None]
        canaries = self._canaries.get((run.run_id, phone))
        return Circumstances(
            fingerprint="" if first is None else first.fingerprint,
            tuned=None if first is None else bool(first.tuned),
            binary_digest=case.binary_digest,
            ort_version=_ort_version(run, case.binary_digest),
            model_digest="" if variant is None else variant.model_digest,
            graph_digest=case.graph_digest,
            converter="" if variant is None else variant.converter_version,
            settings=settings_text(case),
            script_digest=run.script_digest if first is None else first.script_digest,
            orch_version=run.orch_version,
            host=run.host,
            battery_health=self._health.get((run.run_id, phone)),
            canary_p50_s=statistics.median(canaries) if canaries else None,
            warmest_c=max(warm, default=None),
        )


def _canaries(
    connection: sa.Connection, runs: Sequence[str], key: SeriesKey | None
) -> Mapping[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = {}
    asked = [ATTEMPT.c.purpose == Purpose.CANARY.value]
    if key is not None:
        asked.append(ATTEMPT.c.phone == key.phone)
    for at in range(0, len(runs), AT_ONCE):
        query = sa.select(ATTEMPT.c.run_id, ATTEMPT.c.phone, ATTEMPT.c.p50_s)
        query = query.where(ATTEMPT.c.run_id.in_(runs[at : at + AT_ONCE]), *asked)
        for run_id, phone, p50_s in connection.execute(query):
            if p50_s is not None and p50_s > 0.0:
                found.setdefault((run_id, phone), []).append(p50_s)
    return found


def _ort_version(run: Any, digest: str) -> str:
    if digest == run.binary_digest:
        return str(run.binary_ort_version)
    try:
        return str(json.loads(run.plan_json)["binaries"][digest][1])
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return ""


def _health(reading: BatteryReading) -> float | None:
    if not reading.full_uah or not reading.design_uah:
        return None
    return 100.0 * reading.full_uah / reading.design_uah


def _battery_c(vitals: str | None) -> float | None:
    try:
        said = json.loads(vitals or "{}").get("battery_c")
    except (ValueError, AttributeError, RecursionError):
        return None
    return float(said) if isinstance(said, (int, float)) else None

"""Pure: the ledger's nouns as the cells of frames' rows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from android_runner.affinity import mask_text
from orchestrator.outcome import Failed, Figures, Measured, Outcome, Skipped
from orchestrator.plan.case import Case
from orchestrator.store.codec import outcome_state
from orchestrator.store.records import (
    AttemptRecord,
    PhoneRecord,
    RunContents,
    RunRecord,
    RunSummary,
    TrialRow,
    VariantRecord,
)
from orchestrator.store.trace_rows import first_inference_cells
from orchestrator.store.vitals_rows import validity_cells, vitals_cells
from orchestrator.variants.tolerance import Numerics, problem, verdict

Cells = dict[str, object]

_RUN_CELLS = (
    "created_at", "plan_name", "plan_digest", "seed", "rounds", "note", "tags", "binary_name", "binary_digest",
    "binary_ort_version", "script_digest", "orch_version", "host", "user",
)  # fmt: skip
_FACT_CELLS = (
    "device_model", "manufacturer", "soc", "api_level", "fingerprint", "abis", "exec_abis", "cores", "max_freq_khz",
    "memory_bytes", "rooted", "virtual", "confinement", "profile", "shell",
)  # fmt: skip
_VARIANT_CELLS = (
    "model_digest", "recipe", "format", "converter_version", "graph_digest", "sha256", "size_bytes", "ort_format",
    "build_s", "nodes_before", "nodes_after",
)  # fmt: skip
_SETTING_CELLS = (
    "intra_op_threads", "inter_op_threads", "parallel_executor", "spinning", "arena", "memory_pattern",
    "denormals_as_zero", "nnapi_flags", "config",
)  # fmt: skip
_ATTEMPT_CELLS = (
    "phone", "fingerprint", "virtual", "tuned", "purpose", "round", "position", "number", "iterations_asked",
    "exit_code", "ending", "started_uptime_s", "ended_uptime_s", "slot_wait_s", "recorded_at", "script_digest",
    "schema_version", "adopted", "epoch", "argv", "evidence", "in_force",
)  # fmt: skip


def _cells(noun: object, names: tuple[str, ...]) -> Cells:
    return {name: getattr(noun, name) for name in names}


def _kept_cells(run: RunRecord) -> Cells:
    """What the resolved plan remembers, as far as it does: the command, and the precision that ends its rounds early,
    with how many rounds decide that."""
    try:
        kept = json.loads(run.plan_json)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    command, precision, rounds = (kept.get(name) for name in ("command", "precision", "rounds"))
    cells: Cells = {"command": command} if isinstance(command, str) else {}
    if isinstance(precision, float) and isinstance(rounds, int):
        cells |= {"precision": precision, "first_stage": rounds}
    if isinstance(origin := kept.get("origin"), dict) and origin:
        cells["origin"] = origin
    delta, sides = kept.get("delta"), kept.get("sides")
    if isinstance(delta, float) and isinstance(sides, dict):
        cells |= {"delta": delta, "sides": {str(side): str(words) for side, words in sides.items()}}
        gates = kept.get("fail_if")
        cells["fail_if"] = [str(gate) for gate in gates] if isinstance(gates, list) and gates else None
    return cells


def _versions(run: RunRecord) -> dict[str, str]:
    """By digest the ORT version of each binary of a run, as the binaries tell it."""
    try:
        others = json.loads(run.plan_json).get("binaries", {})
        versions = {str(digest): str(version) for digest, (_, version) in others.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        versions = {}
    return {**versions, run.binary_digest: run.binary_ort_version}


def run_cells(summary: RunSummary) -> Cells:
    """A row of `runs`."""
    return {
        "run": summary.run.run_id,
        "finished_at": summary.ended_at,
        "state": summary.state.value,
        **_kept_cells(summary.run),
        "planned": summary.planned,
        "measured": summary.measured,
        "failed": summary.failed,
        "skipped": summary.skipped,
        **_cells(summary.run, _RUN_CELLS),
    }


def phone_cells(run_id: str, phone: PhoneRecord, prepared: Mapping[str, Any] | None = None) -> Cells:
    """A row of `phones`; `prepared` is what the ledger knows of its preparation, None where none was asked for."""
    head: Cells = {"run": run_id, "phone": phone.phone, "label": phone.label, "serial": phone.serial}
    if prepared is not None:
        head["prepared"] = prepared["steps"]
        head["prepare_problem"] = prepared["problem"] or None
    return {**head, **_cells(phone.facts, _FACT_CELLS)}


def variant_cells(run_id: str, variant: VariantRecord) -> Cells:
    """A row of `variants`."""
    head: Cells = {"run": run_id, "variant": variant.variant_id, "model": variant.model_name}
    return {**head, **_cells(variant, _VARIANT_CELLS), **_numerics_cells(variant.numerics)}


def _numerics_cells(numerics: Numerics | None) -> Cells:
    """How far a variant is from its source, and what is said of it by the tolerances of today."""
    if numerics is None:
        return {}
    compared = bool(numerics.outputs)
    return {
        "verdict": verdict(numerics).value,
        "verdict_reason": numerics.unknown or problem(numerics) or None,
        "precision": numerics.precision.value if compared else None,
        "error": numerics.share,
        "cosine": numerics.cosine,
        "top1_same": numerics.top1_same,
        "output_errors": [asdict(one) for one in numerics.outputs] if compared else None,
    }


def dropped_cells(contents: RunContents) -> list[Cells]:
    """The rows of `dropped`."""
    labels = {phone.phone: phone.label for phone in contents.phones}
    return [
        {
            "run": contents.run.run_id,
            "model": one.model_name,
            "phone": one.phone,
            "label": labels.get(one.phone, one.phone),
            "row": one.row,
            "reason": one.reason,
        }
        for one in contents.dropped
    ]


def outcome_cells(outcome: Outcome | None) -> Cells:
    """Why there is no measurement, as far as there is none."""
    match outcome:
        case Failed(kind=kind, blame=blame, retry=retry, message=message):
            return {"kind": kind, "blame": blame.value, "retry": retry.value, "message": message}
        case Skipped(reason=reason, message=message):
            return {"reason": reason.value, "message": message or None}
        case _:
            return {}


class RunRows:
    """Rows that need to know the run's phones, cases and variants."""

    def __init__(self, contents: RunContents) -> None:
        self.run = contents.run
        self._phones: Mapping[str, PhoneRecord] = {phone.phone: phone for phone in contents.phones}
        self._cases: Mapping[str, Case] = {case.case_id: case for case in contents.cases}
        self._variants: Mapping[str, VariantRecord] = {one.variant_id: one for one in contents.variants}
        self._ort_versions = _versions(contents.run)

    def _named(self, phone: str, case_id: str) -> Cells:
        """What people call a phone and a case."""
        record, case = self._phones.get(phone), self._cases.get(case_id)
        cells: Cells = {
            "run": self.run.run_id,
            "case": case_id,
            "phone": phone,
            "label": phone if record is None else record.label,
        }
        if case is not None:
            cells |= {"model": case.model_name, "row": case.row, "also": case.also, "twin_of": case.twin_of or None}
        return cells

    def trial(self, row: TrialRow) -> Cells:
        """A row of `trials`."""
        return {
            **self._named(row.trial.phone, row.trial.case_id),
            "trial": row.trial_id,
            **self._of_pair(row.trial.case_id),
            "purpose": row.trial.purpose.value,
            "round": row.trial.round,
            "position": row.trial.position,
            "state": row.state.value,
            "counted_attempt": row.attempt_id,
            **outcome_cells(row.outcome),
        }

    def _of_pair(self, case_id: str) -> Cells:
        case = self._cases.get(case_id)
        return {} if case is None or case.side is None else {"side": case.side.value, "pair": case.pair}

    def attempt(self, attempt: AttemptRecord, *, counted: bool) -> Cells:
        """A row of `attempts`."""
        phone, case = self._phones.get(attempt.phone), self._cases.get(attempt.case_id)
        figures = attempt.outcome.figures if isinstance(attempt.outcome, Measured) else None
        return {
            **self._named(attempt.phone, attempt.case_id),
            **_cells(attempt, _ATTEMPT_CELLS),
            **({} if phone is None else _cells(phone.facts, ("device_model", "api_level"))),
            **self._of_case(attempt.case_id),
            **({} if figures is None else {one.name: getattr(figures, one.name) for one in fields(Figures)}),
            **first_inference_cells(figures),
            **outcome_cells(attempt.outcome),
            **vitals_cells("before", attempt.before),
            **vitals_cells("after", attempt.after),
            "trial": attempt.trial_id or None,
            "attempt": attempt.attempt_id,
            "counted": counted,
            "outcome": outcome_state(attempt.outcome),
            "ort_version": self._ort_versions.get("" if case is None else case.binary_digest),
            "seed": self.run.seed,
            "orch_version": self.run.orch_version,
            "block": attempt.block_id,
            "command": shlex.join(attempt.argv),
            **validity_cells(attempt, None if case is None else case.cpu_mask),
        }

    def _of_case(self, case_id: str) -> Cells:
        case = self._cases.get(case_id)
        if case is None:
            return {}
        variant = self._variants.get(case.variant_id)
        return {
            "variant": case.variant_id,
            "recipe": case.recipe_name,
            "graph_digest": case.graph_digest,
            "binary_digest": case.binary_digest,
            "inputs_digest": case.inputs_digest,
            "affinity": case.affinity or None,
            "cpu_mask": None if case.cpu_mask is None else mask_text(case.cpu_mask),
            "provider": case.settings.provider.value,
            "level": None if case.settings.level is None else case.settings.level.value,
            **_cells(case.settings, _SETTING_CELLS),
            **({} if variant is None else _cells(variant, ("format", "converter_version"))),
        }

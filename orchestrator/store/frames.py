"""Ledger and evidence as tidy pandas frames: one row a thing, units in column names, every column in `COLUMNS`.

Iterations, operators, placements, claims and partitions are read from the evidence when they are asked for, with the
parsers of today.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from android_runner.assignment import Assignment
from android_runner.nnapi.graph import Graph
from android_runner.nnapi.notation import graph_from_text
from android_runner.trace import TraceTable
from android_runner.trace_shapes import shapes_of
from orchestrator.errors import StoreError
from orchestrator.outcome import Measured
from orchestrator.plan.case import Case, Purpose
from orchestrator.store.attempt_evidence import AttemptEvidence, cleaned_days
from orchestrator.store.battery_rows import with_batteries
from orchestrator.store.columns import CHECKS, COLD_STARTS, COLUMNS, ITERATIONS, OPERATORS, PARTITIONS, PLACEMENTS
from orchestrator.store.evidence import EvidenceCleaned, EvidenceStore
from orchestrator.store.frame_rows import Cells, RunRows, dropped_cells, phone_cells, run_cells, variant_cells
from orchestrator.store.incidents import incident_cells
from orchestrator.store.ledger import Ledger
from orchestrator.store.meaning import ColumnMeaning
from orchestrator.store.nnapi_rows import claim_cells, partition_cells, placement_cells
from orchestrator.store.predicted import companion, node_cells, predicted_cells, predicted_pieces
from orchestrator.store.records import AttemptRecord, RunContents, RunSummary, TrialRow
from orchestrator.store.run_rows import hold_together
from orchestrator.store.trace_rows import cold_cells, operator_cells, warm_attempts
from orchestrator.store.typed import frame_of, typed
from orchestrator.store.verify_rows import Verified, check_cells, other_nodes, verified_cells, wanted_nodes

if TYPE_CHECKING:
    from orchestrator.store.hunts import Hopeless, Hunt
    from orchestrator.tuning.attempts import Attempt

MAX_CLAIM_GRAPH_BYTES = 256 * 1024 * 1024


class RunFrames:
    """A run's frames, each made when it is first asked for.

    Raises StoreError when the ledger can't be read; for what comes from the evidence also when that is missing.
    """

    def __init__(self, ledger: Ledger, evidence: EvidenceStore, run_id: str, *, lenient: bool = False) -> None:
        """With `lenient`, evidence that can't be read is left out, and `unread` says so."""
        self._ledger = ledger
        self.evidence = evidence.knowing(lambda digest: self._cleaned.get(digest, ""))
        self._files = AttemptEvidence(self.evidence, lenient=lenient)
        self.run_id = run_id
        self._graphs: dict[str, Graph] = {}

    @property
    def unread(self) -> tuple[str, ...]:
        """Evidence that could not be read for the frames that were asked for so far, a sentence each."""
        return self._files.unread

    @cached_property
    def _contents(self) -> RunContents:
        return self._ledger.contents(self.run_id)

    @cached_property
    def _summary(self) -> RunSummary:
        return self._ledger.summary(self.run_id)

    @cached_property
    def _trial_rows(self) -> list[TrialRow]:
        return self._ledger.trials(self.run_id)

    @cached_property
    def _attempt_records(self) -> list[AttemptRecord]:
        records = self._ledger.attempts(self.run_id)
        hold_together(self._contents, ((one.case_id, one.phone) for one in records))
        return records

    @cached_property
    def _cleaned(self) -> dict[str, str]:
        """The day on which a file was cleaned, by digest."""
        return cleaned_days(self._ledger.cleanings.of_run(self.run_id), self._attempt_records, self._contents.variants)

    @cached_property
    def _counted(self) -> set[str]:
        return {row.attempt_id for row in self._trial_rows if row.attempt_id is not None}

    @cached_property
    def _rows(self) -> RunRows:
        return RunRows(self._contents)

    def read_now(self) -> RunFrames:
        """Read all that the ledger says; it may be closed afterwards. Evidence is still read when asked for."""
        _ = (self._contents, self._summary, self._trial_rows, self._attempt_records, self.incidents, self._cleaned)
        return self

    @cached_property
    def searches(self) -> list[tuple[Hunt | Hopeless, list[Attempt]]]:
        """The searches for the best setting, with what they were told; none where nothing was searched for."""
        from orchestrator.store.hunts import hunted  # noqa: PLC0415 - scipy comes with it

        return hunted(self._contents, self._trial_rows, self._attempt_records)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row: the run."""
        return frame_of("runs", [run_cells(self._summary)])

    @cached_property
    def phones(self) -> pd.DataFrame:
        """One row a phone."""
        prepared = self._ledger.prepared(self.run_id)
        rows = [phone_cells(self.run_id, one, prepared.get(one.phone)) for one in self._contents.phones]
        return frame_of("phones", with_batteries(rows, self.run_id, self._ledger.batteries, self._attempt_records))

    @cached_property
    def variants(self) -> pd.DataFrame:
        """One row a variant."""
        return frame_of("variants", [variant_cells(self.run_id, one) for one in self._contents.variants])

    @cached_property
    def dropped(self) -> pd.DataFrame:
        """One row a cell of the matrix that is no trial."""
        return frame_of("dropped", dropped_cells(self._contents))

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a planned trial, in the order of the plan."""
        return frame_of("trials", [self._rows.trial(row) for row in self._trial_rows])

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """One row an attempt, calibrations too, in the order in which they were recorded."""
        warm = warm_attempts(self._attempt_records, self._contents.cases)
        rows = [{**self._attempt(one), "page_cache": warm.get(one.attempt_id)} for one in self._attempt_records]
        return frame_of("attempts", rows)

    def _attempt(self, attempt: AttemptRecord) -> Cells:
        return self._rows.attempt(attempt, counted=attempt.attempt_id in self._counted)

    @cached_property
    def incidents(self) -> pd.DataFrame:
        """One row a rung that was tried for a phone, or an event of an adb server or hub, in their order."""
        return frame_of("incidents", incident_cells(self._ledger.incidents.of(self.run_id), self._contents))

    @cached_property
    def iterations(self) -> pd.DataFrame:
        """One row an inference of every timed attempt that measured, counted or not."""
        parts: list[pd.DataFrame] = []
        for attempt in self._attempt_records:
            if attempt.purpose == Purpose.TIME and _measured(attempt):
                latencies = self._files.latencies(attempt)
                head = {**dict.fromkeys(ITERATIONS), **self._head(attempt, ITERATIONS)}
                cells = {name: [value] * latencies.size for name, value in head.items()}
                parts.append(typed({**cells, "iteration": range(latencies.size), "latency_s": latencies}, ITERATIONS))
        return pd.concat(parts, ignore_index=True) if parts else frame_of("iterations", [])

    @cached_property
    def operators(self) -> pd.DataFrame:
        """One row an operator and execution provider of every trace."""
        rows: list[Cells] = []
        for attempt, trace in self._traced:
            head = self._head(attempt, OPERATORS)
            rows += [{**head, **cells} for cells in operator_cells(trace)]
        return frame_of("operators", rows)

    def traces(self) -> list[tuple[Cells, TraceTable]]:
        """Every trace with all of its nodes, and of which attempt it is."""
        return [(self._head(one, OPERATORS), table) for one, table in self._traced]

    @cached_property
    def cold_starts(self) -> pd.DataFrame:
        """One row a trace: what its process needed before the first answer."""
        cells = [{**self._head(one, COLD_STARTS), **cold_cells(trace)} for one, trace in self._traced]
        return frame_of("cold_starts", cells)

    @cached_property
    def _traced(self) -> list[tuple[AttemptRecord, TraceTable]]:
        """The attempts that traced, with their traces; without those that can't be read."""
        traced = [one for one in self._attempt_records if one.purpose == Purpose.TRACE and _measured(one)]
        return [(one, trace) for one in traced if (trace := self._files.trace(one)) is not None]

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """One row a phone, variant and set of NNAPI flags: what NNAPI should take, by the rules of today."""
        return frame_of("predictions", predicted_cells(self._contents, self.claim_graphs))

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row a node of each variant, for each API level and set of NNAPI flags: where it should run, and why."""
        return frame_of("nodes", node_cells(self._contents, self.claim_graphs))

    @cached_property
    def claim_graphs(self) -> dict[str, Graph]:
        """The graphs that the run kept, by variant id; twins share one. One that can't be read costs its prediction."""
        found: dict[str, Graph] = {}
        for variant in self._contents.variants:
            if variant.claim_graph:
                try:
                    found[variant.variant_id] = self._claim_graph(variant.claim_graph)
                except EvidenceCleaned as error:
                    self._files.leave_out(f"{error}: of the variants, for NNAPI's rules")
                except (ValueError, StoreError) as error:
                    self._files.leave_out(f"{variant.model_name} {variant.recipe}: its graph can't be read: {error}")
        return found

    def _claim_graph(self, digest: str) -> Graph:
        if digest not in self._graphs:
            self._graphs[digest] = graph_from_text(self.evidence.read(digest, MAX_CLAIM_GRAPH_BYTES))
        return self._graphs[digest]

    @cached_property
    def placements(self) -> pd.DataFrame:
        """One row an introspection, failed ones too: how much NNAPI took, or why that is not known."""
        return frame_of("placements", [{**head, **placement_cells(said)} for head, said in self._introspections])

    @cached_property
    def claims(self) -> pd.DataFrame:
        """One row a node that NNAPI was asked about, of every introspection and look at the graph."""
        said = self._introspections
        return frame_of("claims", [{**head, **cells} for head, one in said for cells in claim_cells(one)])

    @cached_property
    def partitions(self) -> pd.DataFrame:
        """One row an NNAPI partition of every trace, with the CPU's time for the same nodes."""
        cases = {case.case_id: case for case in self._contents.cases}
        by_case = {(one.case_id, one.phone): trace for one, trace in self._traced}
        rows: list[Cells] = []
        for attempt, trace in self._traced:
            case = cases[attempt.case_id]
            beside = companion(case, cases.values())
            cpu = None if beside is None else by_case.get((beside.case_id, attempt.phone))
            cells = partition_cells(trace, self._pieces(case, attempt.phone), None if cpu is trace else cpu)
            rows += [{**self._head(attempt, PARTITIONS), **one} for one in cells]
        return frame_of("partitions", rows)

    @cached_property
    def checks(self) -> pd.DataFrame:
        """One row an output of every case that was to be verified; one for all where nothing is known of any."""
        heads = {row.trial_id: self._rows.trial(row) for row in self._trial_rows}
        return frame_of("checks", verified_cells(self._contents, self._trial_rows, heads, self._checked))

    def _checked(self, verified: Verified) -> list[Cells]:
        attempts = {one.attempt_id: one for one in self._attempt_records}
        attempt, own = attempts[verified.attempt_id], attempts.get(verified.traced_id)
        own_trace, trace = None if own is None else self._files.trace(own), self._files.trace(attempt)
        shapes = self._files.of_trace(attempt, lambda chunks: shapes_of(chunks, wanted_nodes(verified.facts))) or {}
        if own is None:
            why = "nothing was traced of the case itself, to see whether the same nodes ran"
        elif own_trace is None or trace is None:
            why = "its trace can't be read"
        else:
            why = other_nodes(own_trace, trace, verified.facts.prefix)
        cells = check_cells(verified.case, verified.facts, shapes, why)
        return [{**self._head(attempt, CHECKS), **one} for one in cells]

    def _pieces(self, case: Case, phone: str) -> list[tuple[str, ...]]:
        graph = self.claim_graphs.get(case.variant_id)
        level = next((one.facts.api_level for one in self._contents.phones if one.phone == phone), None)
        return [] if graph is None or level is None else predicted_pieces(case, graph, level)

    @cached_property
    def _introspections(self) -> list[tuple[Cells, Assignment]]:
        return [
            (self._head(attempt, PLACEMENTS), self._files.said(attempt))
            for attempt in self._attempt_records
            if attempt.purpose == Purpose.INTROSPECT
        ]

    def _head(self, attempt: AttemptRecord, columns: Mapping[str, ColumnMeaning]) -> Cells:
        """The columns that say of which attempt a row is."""
        cells = self._attempt(attempt)
        return {name: cells.get(name) for name in columns if name in cells and name in COLUMNS["attempts"]}


def _measured(attempt: AttemptRecord) -> bool:
    return isinstance(attempt.outcome, Measured)

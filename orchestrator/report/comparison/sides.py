"""Pure: a run as one side of a comparison: its cases with all that must be equal, or may be meant to differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.plan.case import Purpose
from orchestrator.report import source
from orchestrator.report.answer import PhoneSource, out_of_tolerance
from orchestrator.report.checks import checks_of
from orchestrator.report.comparison.nouns import Across, ComparedRun
from orchestrator.report.numbers import plural
from orchestrator.report.show import Target
from orchestrator.report.source import Cell, Row, RunFrames, flag, names, number, text, whole
from orchestrator.report.tally import why_not_measured

SETTINGS = (
    "provider", "intra_op_threads", "inter_op_threads", "parallel_executor", "spinning", "arena",
    "memory_pattern", "denormals_as_zero", "nnapi_flags", "config", "affinity", "cpu_mask",
)  # fmt: skip
TUNED, REAL, INPUTS, VARIANT, LEVEL = "tuning", "kind of phone", "inputs", "build", "level"
_SHORT_DIGEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCase:
    """A case of one side. `traits` are what it was measured with, by name, in words that are equal only where the
    things are; `unranked` is why its figures count for nothing."""

    cell: Cell
    label: str
    recipe: str
    virtual: bool
    unranked: str
    nnapi: str = ""
    """What NNAPI took of it, in words; "" where nobody asked, or it is not known."""
    error: str = ""
    """How far its outputs on the phone are from what is expected, in words; "" where nobody looked."""
    traits: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What the case is called."""
        return (self.cell.row, *self.cell.also)

    @property
    def missing(self) -> str:
        """Why there are no figures; "" where there are."""
        if not self.cell.measured:
            return why_not_measured(self.cell.trials)
        return self.unranked

    def figures(self, column: str) -> dict[int, float]:
        """What each valid round says in a column, where that is above 0, by the round's number."""
        found = {at: number(row, column) or 0.0 for at, row in sorted(self.cell.measured.items())}
        return {at: value for at, value in found.items() if value > 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: what was asked for of a run."""

    head: ComparedRun
    cases: tuple[SideCase, ...]
    canaries: Mapping[str, tuple[float, ...]]
    """The p50s of each phone's canary, in seconds."""
    variants: tuple[Row, ...]
    dropped: tuple[Row, ...]
    labels: Mapping[str, str]
    first_stage: int | None
    run: Row

    @property
    def recipes(self) -> tuple[str, ...]:
        """Every recipe of the run."""
        return tuple(dict.fromkeys(text(row, "recipe") for row in self.variants))


def side_of(frames: RunFrames, target: Target) -> Side:
    """A run, or a phone or row of it, as a side; twins measured on purpose are no part of it."""
    run = next(iter(source.records(frames.runs)), {})
    attempts = source.records(frames.attempts)
    variants = source.records(frames.variants)
    phones = {text(row, "phone"): row for row in source.records(frames.phones)}
    checks = checks_of(source.records(frames.checks))
    wrong = out_of_tolerance(variants)
    placed = {(text(row, "phone"), text(row, "case")): _placed(row) for row in source.records(frames.placements)}
    by_variant = {text(row, "variant"): row for row in variants}
    cases = []
    for cell in source.cells(source.records(frames.trials), attempts):
        facts = phones.get(cell.phone, {})
        own = {case: check for (phone, case), check in checks.items() if phone == cell.phone}
        beside = PhoneSource(
            phone=cell.phone, facts=facts, default_dropped="", twins=None, nnapi=None, refused=wrong, checks=own
        )
        if not cell.twin_of and _is_asked(cell, facts, target):
            made = _case(cell, facts, by_variant, beside.why_unranked(cell))
            check = own.get(cell.case)
            error = check.worst.words if check is not None and check.worst is not None else ""
            cases.append(replace(made, nnapi=placed.get((cell.phone, cell.case), ""), error=error))
    return Side(
        head=ComparedRun(
            run=text(run, "run"),
            created_at=source.moment(run, "created_at"),
            state=text(run, "state"),
            ort_version=text(run, "binary_ort_version"),
            binary_digest=text(run, "binary_digest"),
            phone=target.phone,
            row=target.row,
        ),
        cases=tuple(cases),
        canaries=_canaries(attempts),
        variants=tuple(variants),
        dropped=tuple(source.records(frames.dropped)),
        labels={phone: text(row, "label", phone) for phone, row in phones.items()},
        first_stage=whole(run, "first_stage"),
        run=run,
    )


def _placed(row: Row) -> str:
    claimed, nodes, pieces = (whole(row, name) for name in ("nodes_claimed", "nodes_in_graph", "partitions"))
    if not flag(row, "known") or claimed is None or nodes is None or pieces is None:
        return ""
    return f"{claimed} of {plural(nodes, 'node')} in {plural(pieces, 'partition')}"


def _is_asked(cell: Cell, facts: Row, target: Target) -> bool:
    if target.phone not in ("", cell.phone, text(facts, "label"), text(facts, "serial")):
        return False
    return target.row in ("", cell.row, f"{cell.model} {cell.row}", *cell.also)


def _case(cell: Cell, facts: Row, variants: Mapping[str, Row], unranked: str) -> SideCase:
    rows = list(cell.measured.values())
    first = rows[0] if rows else {}
    variant = variants.get(text(first, "variant"), {})
    virtual = flag(facts, "virtual") or any(flag(row, "virtual") for row in rows)
    traits: dict[str, str] = {}
    if rows:
        traits = {
            Across.BINARY: _binary(first),
            Across.CONVERTER: text(first, "converter_version"),
            Across.MODEL: text(variant, "model_digest")[:_SHORT_DIGEST],
            Across.FORMAT: text(first, "format"),
            Across.RECIPE: text(first, "recipe"),
            Across.SETTINGS: settings_words(first),
            Across.FINGERPRINT: " and ".join(sorted({text(row, "fingerprint") for row in rows} - {""})),
            LEVEL: text(first, "level"),
            INPUTS: text(first, "inputs_digest")[:_SHORT_DIGEST],
            VARIANT: text(first, "variant")[:_SHORT_DIGEST],
            TUNED: " and ".join(sorted({"tuned" if flag(row, "tuned") else "stock" for row in rows})),
            REAL: "virtual" if virtual else "real",
        }
    return SideCase(
        cell=cell,
        label=text(facts, "label", cell.phone),
        recipe=text(first, "recipe"),
        virtual=virtual,
        unranked=unranked,
        traits=traits,
    )


def _binary(row: Row) -> str:
    version, digest = text(row, "ort_version"), text(row, "binary_digest")[:_SHORT_DIGEST]
    return f"ORT {version} ({digest})" if version else digest


def settings_words(row: Row) -> str:
    """What was asked of the runtime and of the cores but for `-o`, as `name value`; what was not asked is left out."""
    words = []
    for name in SETTINGS:
        value = row.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(" ".join(map(str, one)) if isinstance(one, (list, tuple)) else str(one) for one in value)
        if value not in (None, "", False):
            words.append(f"{name} {'yes' if value is True else _plain(value)}")
    return ", ".join(words)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _canaries(attempts: Sequence[Row]) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {}
    for row in attempts:
        if text(row, "purpose") == Purpose.CANARY and (p50_s := number(row, "p50_s") or 0.0) > 0.0:
            found.setdefault(text(row, "phone"), []).append(p50_s)
    return {phone: tuple(values) for phone, values in found.items()}


def dropped_reason(side: Side, phone: str, model: str, row: str) -> str:
    """Why a cell is no trial on a side; "" where it was not asked for."""
    for one in side.dropped:
        if (text(one, "phone"), text(one, "model")) == (phone, model) and row in (
            text(one, "row"),
            *names(one, "also"),
        ):
            return f"dropped: {text(one, 'reason')}"
    return ""

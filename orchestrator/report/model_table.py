"""Pure: what every recipe makes of a model, as a page in Markdown: nodes, fusions, NNAPI's part, size, build time,
error; and which recipes make nothing of it, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.report.numbers import NOTHING, percent, size
from orchestrator.report.summary import VariantRow
from orchestrator.report.variants_text import error_words, total, verdict_words
from orchestrator.variants.tolerance import Verdict

_HEAD = ("variant", "nodes", "fused", "own", "NNAPI", "parts", "multiply-adds", "size", "build", "error")
_PLAIN = ("", Verdict.SOURCE, Verdict.WITHIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabRow:
    """A variant, twins and all. `fused` counts nodes that stand for more of the source's nodes than they are, `own`
    those of operators that are not ONNX's. Of `asked` nodes NNAPI takes `taken` in `partitions` pieces, `work_share` is
    the part of all multiply-adds in them; None where nobody knows. `build_s` is what building it took once."""

    variant: VariantRow
    build_s: float
    fused: int | None
    own: int
    taken: int | None = None
    asked: int | None = None
    partitions: int | None = None
    work_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabModel:
    """A model, its variants, and the recipes that make nothing of it (recipe, reason). `check` is the verdict's word of
    `orch model check`, `findings` the ids of what it found; empty where the model could not be checked."""

    model: str
    opset: int
    ir_version: int
    nodes: int
    size_bytes: int
    check: str
    findings: tuple[str, ...]
    rows: tuple[LabRow, ...]
    not_made: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A page: models in the order they were named, the versions that made it, and Android's API level."""

    models: tuple[LabModel, ...]
    onnxruntime: str
    onnx: str
    machine: str
    api_level: int


def lab_markdown(lab: Lab) -> str:
    """The page, ending with a line feed."""
    head = (
        f"onnxruntime {lab.onnxruntime}, onnx {lab.onnx}, {lab.machine}. NNAPI: by the rules of ONNX Runtime 1.21's "
        f"provider at API {lab.api_level}."
    )
    return "\n".join([head, *(line for model in lab.models for line in _model(model))]) + "\n"


def _model(model: LabModel) -> Iterator[str]:
    found = f": {', '.join(model.findings)}" if model.findings else ""
    check = f" `check` says {model.check}{found}." if model.check else ""
    yield from (
        "",
        f"### {_cell(model.model)}",
        "",
        f"Opset {model.opset}, IR {model.ir_version}, {model.nodes} nodes, {size(model.size_bytes)}.{check}",
        "",
        _line(_HEAD),
        _line(["---", *["---:"] * (len(_HEAD) - 1)]),
        *(_line(_cells(row)) for row in model.rows),
    )
    said = [f"* {_names(row.variant)}: {_cell(verdict_words(row.variant))}" for row in model.rows if _is_odd(row)]
    yield from ["", *said] if said else ()
    if model.not_made:
        yield ""
        yield "Not made:"
        yield ""
        yield from (f"* `{recipe}`: {_cell(reason.removeprefix('; '))}" for recipe, reason in model.not_made)


def _is_odd(row: LabRow) -> bool:
    return row.variant.verdict not in _PLAIN or row.variant.top1_same is False


def _cells(row: LabRow) -> list[str]:
    one = row.variant
    return [
        _names(one),
        _count(total(one.nodes_after)),
        _count(row.fused),
        str(row.own),
        NOTHING if row.taken is None else f"{row.taken}/{row.asked}",
        _count(row.partitions),
        NOTHING if row.work_share is None else percent(row.work_share),
        size(one.size_bytes),
        _took(row.build_s),
        error_words(one) + ("" if one.verdict != Verdict.OUT else " **out**"),
    ]


def _names(variant: VariantRow) -> str:
    return " = ".join(f"`{name}`" for name in (variant.recipe, *variant.twins))


def _count(number: int | None) -> str:
    return NOTHING if number is None else str(number)


def _took(seconds: float) -> str:
    """Whole milliseconds; a copy may take less than one."""
    if seconds < 0.0005:
        return "<1 ms"
    return f"{seconds * 1e3:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def _cell(text: str) -> str:
    """Text that can't end a cell or begin something else."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

"""Pure: the map of phones × settings, and the one setting that would do for all phones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.report.numbers import percent
from orchestrator.report.stats import Sureness
from orchestrator.report.summary import ModelSummary, PhoneAnswer, SettingRow


class Mark(StrEnum):
    """What a cell is, said without colour: the words are classes of the style sheet, too."""

    WINNER = "winner"
    TIE = "tie"
    PLAIN = "plain"
    HATCHED = "hatched"
    REFUSED = "refused"
    NOTHING = "nothing"


SIGNS: Mapping[Mark, str] = {
    Mark.WINNER: "*",
    Mark.TIE: "=",
    Mark.PLAIN: "",
    Mark.HATCHED: "//",
    Mark.REFUSED: "x",
    Mark.NOTHING: "·",
}
LEGEND = "* winner   = tie   // not ranked (see why)   x not measured   · no trial   v virtual"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One setting on one phone: how many times as fast as the baseline ("1.90"), its bar as a part of the longest on
    its phone (0 to 1), what it is, and why where it has no figure. `case` is empty where there was no trial."""

    case: str
    words: str
    bar: float
    mark: Mark
    why: str

    @property
    def sign(self) -> str:
        """The mark as a sign."""
        return SIGNS[self.mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """One phone: a cell for each setting of the map."""

    phone: str
    label: str
    virtual: bool
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Settings in the order of the plan's best ranks, phones in that of the report."""

    settings: tuple[str, ...]
    rows: tuple[HeatRow, ...]


def heat_map(model: ModelSummary) -> HeatMap:
    """The map of one model: the baseline first, then the settings by how well they do over all phones."""
    ratios: dict[str, list[float]] = {}
    for phone in model.phones:
        for row in phone.rows:
            ratios.setdefault(row.row, []).extend([found] if (found := _ratio(row, phone)) is not None else [])
    base = {phone.baseline for phone in model.phones}
    names = sorted(ratios, key=lambda name: (name not in base, -max(ratios[name], default=0.0), name))
    dropped = {(label, one.row): one.reason for one in model.dropped for label in one.phones}
    return HeatMap(settings=tuple(names), rows=tuple(_row(phone, names, dropped) for phone in model.phones))


def _row(phone: PhoneAnswer, names: Sequence[str], dropped: Mapping[tuple[str, str], str]) -> HeatRow:
    rows = {row.row: row for row in phone.rows}
    longest = max((found for row in phone.rows if (found := _ratio(row, phone)) is not None), default=1.0)
    label = phone.label or phone.phone
    cells = tuple(
        _cell(rows[name], phone, longest)
        if name in rows
        else HeatCell(case="", words="", bar=0.0, mark=Mark.NOTHING, why=dropped.get((label, name), ""))
        for name in names
    )
    return HeatRow(phone=phone.phone, label=label, virtual=phone.virtual, cells=cells)


def _cell(row: SettingRow, phone: PhoneAnswer, longest: float) -> HeatCell:
    ratio = _ratio(row, phone)
    words = "" if ratio is None else f"{ratio:.2f}"
    bar = 0.0 if ratio is None else min(1.0, ratio / longest)
    return HeatCell(case=row.case, words=words, bar=bar, mark=_mark(row), why=row.reason)


def _mark(row: SettingRow) -> Mark:
    if row.p50_s is None:
        return Mark.REFUSED
    if row.rank is None:
        return Mark.HATCHED
    if row.rank == 1:
        return Mark.TIE if row.shared else Mark.WINNER
    return Mark.PLAIN


def _ratio(row: SettingRow, phone: PhoneAnswer) -> float | None:
    if row.row == phone.baseline and row.p50_s is not None:
        return 1.0
    return row.vs_default.value if row.vs_default is not None else None


def one_setting(phones: Sequence[PhoneAnswer]) -> str:
    """`one setting for both answered phones: cpu all 4t, 89 % slower than the best on B3`; "" for fewer than two.

    It is the setting that has a rank on all of them and whose largest loss against the best of a phone is least. Real
    and virtual phones are never asked together: the caller gives one kind.
    """
    answered = [one for one in phones if one.verdict.sureness is not Sureness.NO_ANSWER and one.best is not None]
    if len(answered) < 2:
        return ""
    losses: dict[str, list[tuple[float, str]]] = {}
    for phone in answered:
        ranked = {row.row: row.p50_s for row in phone.rows if row.rank is not None and row.p50_s is not None}
        best_s = min(ranked.values(), default=0.0)
        for name, p50_s in ranked.items():
            if best_s > 0.0:
                losses.setdefault(name, []).append((p50_s / best_s - 1.0, phone.label or phone.phone))
    common = {name: max(told) for name, told in losses.items() if len(told) == len(answered)}
    which = "both" if len(answered) == 2 else f"all {len(answered)}"
    if not common:
        return f"no setting was ranked on {which} answered phones"
    name = min(common, key=lambda one: (common[one], one))
    loss, where = common[name]
    cost = "the best on each" if loss <= 0.0 else f"at most {percent(loss)} slower than the best of a phone ({where})"
    return f"one setting for {which} answered phones: {name}, {cost}"

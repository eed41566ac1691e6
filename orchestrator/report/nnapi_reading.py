"""Pure: from the rows of predictions, introspections and traces to what NNAPI did on one phone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.report.nnapi import NnapiAnswer, NnapiCase, NnapiPrediction, NotTaken
from orchestrator.report.source import Row, flag, names, number, text, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiRows:
    """All rows of a run that speak of NNAPI; `graph_of` gives a variant's graph digest, `cases` a case's row."""

    predictions: Sequence[Row]
    placements: Sequence[Row]
    partitions: Sequence[Row]
    graph_of: Mapping[str, str]
    cases: Mapping[str, Row]

    def answer(self, model: str, phone: str) -> NnapiAnswer | None:
        """NNAPI for one model on one phone; None where nothing was asked of it."""
        predicted = [row for row in self.predictions if _is(row, model, phone)]
        placed = [row for row in self.placements if _is(row, model, phone)]
        if not placed and not predicted:
            return None
        ran = [row for row in self.partitions if _is(row, model, phone)]
        return NnapiAnswer(
            devices=_devices(placed),
            predictions=_predictions(predicted, self.graph_of),
            cases=tuple(_case(row, _prediction_for(row, predicted, self.cases), ran) for row in _last_tries(placed)),
        )


def _is(row: Row, model: str, phone: str) -> bool:
    return text(row, "model") == model and text(row, "phone") == phone


def _pairs(row: Row, key: str) -> list[tuple[object, ...]]:
    value = row.get(key)
    if not isinstance(value, Iterable) or isinstance(value, (str, Mapping)):
        return []
    return [tuple(item) for item in value if isinstance(item, (list, tuple))]


def _devices(placed: Iterable[Row]) -> tuple[tuple[str, str], ...] | None:
    """What the phone listed, from whichever introspection saw most of it."""
    lists = [
        tuple((str(pair[0]), str(pair[1])) for pair in _pairs(row, "devices") if len(pair) == 2)
        for row in placed
        if row.get("devices") is not None
    ]
    return max(lists, key=len, default=None)


def _predictions(rows: Sequence[Row], graph_of: Mapping[str, str]) -> tuple[NnapiPrediction, ...]:
    """One for each claim; with flags only where they take other nodes than none would."""
    plain = {text(row, "variant"): _pieces(row) for row in rows if not names(row, "nnapi_flags")}
    grouped: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        flags = names(row, "nnapi_flags")
        if not flags or _pieces(row) != plain.get(text(row, "variant")):
            key = (flags, whole(row, "nodes"), str(_pieces(row)), str(_pairs(row, "not_taken")))
            grouped.setdefault(key, []).append(row)
    return tuple(_prediction(same, graph_of) for same in grouped.values())


def _pieces(row: Row) -> list[tuple[object, ...]]:
    return _pairs(row, "partition_operators")


def _prediction(rows: Sequence[Row], graph_of: Mapping[str, str]) -> NnapiPrediction:
    row = rows[0]
    graphs: dict[str, dict[str, None]] = {}
    for one in rows:
        graph = graph_of.get(text(one, "variant"), text(one, "variant"))
        graphs.setdefault(graph, {})[text(one, "recipe")] = None
    return NnapiPrediction(
        graphs=tuple(tuple(recipes) for recipes in graphs.values()),
        flags=names(row, "nnapi_flags"),
        nodes=whole(row, "nodes") or 0,
        nodes_claimed=whole(row, "nodes_claimed") or 0,
        partitions=tuple(tuple(map(str, one)) for one in _pieces(row)),
        multiply_adds_share=_multiply_adds_share(row),
        not_taken=tuple(_not_taken(row)),
        not_checked=whole(row, "not_checked") or 0,
        caveat=text(row, "caveat"),
    )


def _not_taken(row: Row) -> Iterable[NotTaken]:
    for item in _pairs(row, "not_taken"):
        if len(item) == 3 and isinstance(item[2], int):
            yield str(item[0]), str(item[1]), item[2]


def _multiply_adds_share(row: Row) -> float | None:
    every, claimed = whole(row, "multiply_adds"), whole(row, "multiply_adds_claimed")
    return claimed / every if every and claimed is not None else None


def _last_tries(placed: Iterable[Row]) -> list[Row]:
    """Of several introspections of one case the one that is known, else the last."""
    best: dict[str, Row] = {}
    for row in placed:
        before = best.get(text(row, "case"))
        if before is None or not flag(before, "known"):
            best[text(row, "case")] = row
    return list(best.values())


def _prediction_for(placed: Row, predicted: Iterable[Row], cases: Mapping[str, Row]) -> Row:
    case = cases.get(text(placed, "case"), {})
    wanted = (text(case, "variant"), names(case, "nnapi_flags"))
    return next((row for row in predicted if (text(row, "variant"), names(row, "nnapi_flags")) == wanted), {})


def _case(placed: Row, predicted: Row, ran: Sequence[Row]) -> NnapiCase:
    """`nodes_before_layout` is told where ONNX Runtime looked twice: then that look has the model's own nodes."""
    known = flag(placed, "known")
    looked_twice = whole(placed, "nodes_before_layout") is not None
    claimed = whole(placed, "claimed_before_layout" if looked_twice else "nodes_claimed")
    every = whole(placed, "nodes_in_graph")
    own = whole(placed, "nodes_before_layout") if looked_twice else every
    partitions = whole(placed, "partitions")
    expected = (whole(predicted, "partitions"), whole(predicted, "nodes_claimed"))
    as_predicted = (
        None if not known or None in expected or None in (partitions, claimed) else (expected == (partitions, claimed))
    )
    pieces = [row for row in ran if text(row, "case") == text(placed, "case")]
    return NnapiCase(
        case=text(placed, "case"),
        row=text(placed, "row"),
        known=known,
        why=text(placed, "why"),
        partitions=partitions,
        nodes=own if known else None,
        nodes_claimed=claimed if known else None,
        layout_nodes=every - own if known and every is not None and own is not None else None,
        partition_s=tuple(number(row, "mean_s") or 0.0 for row in pieces),
        cpu_s=tuple(number(row, "cpu_mean_s") for row in pieces),
        time_share=sum(number(row, "share") or 0.0 for row in pieces) if pieces else None,
        multiply_adds_share=_multiply_adds_share(predicted) if as_predicted else None,
        as_predicted=as_predicted,
    )

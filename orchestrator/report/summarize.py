"""Pure: the frames of one run → what they say (`RunSummary`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from orchestrator.errors import UsageError
from orchestrator.plan.case import Purpose
from orchestrator.report import source
from orchestrator.report.ab import AbAnswer, ab_answer
from orchestrator.report.ab_gates import ab_gates
from orchestrator.report.ab_phones import as_pairs_say
from orchestrator.report.ab_text import ab_headline, ab_sentence
from orchestrator.report.answer import PhoneSource, out_of_tolerance, phone_answer, twin_difference
from orchestrator.report.checks import CaseCheck, checks_of
from orchestrator.report.comparison.nouns import GateResult
from orchestrator.report.hands import incidents_of, needs_hands
from orchestrator.report.lines import as_listed
from orchestrator.report.nnapi_reading import NnapiRows
from orchestrator.report.replay import Replay, replay_of
from orchestrator.report.replay_text import replay_headline
from orchestrator.report.sentence import headline, model_sentence
from orchestrator.report.source import Row, RunFrames, flag, number, text, whole
from orchestrator.report.stats import Sureness, Verdict
from orchestrator.report.summary import (
    DroppedRow,
    ModelSummary,
    PhoneAnswer,
    RunHead,
    RunSummary,
    TwinDifference,
    VariantRow,
)
from orchestrator.report.sustained import Sustained, sustained_of
from orchestrator.report.tally import count_trials
from orchestrator.report.tune import TuneReport
from orchestrator.report.tune_phones import as_search_says
from orchestrator.report.tune_text import tune_headline, tune_sentence


def summarize(frames: RunFrames) -> RunSummary:
    """What one run found. A run that has not ended yet gives what it has so far."""
    trials = source.records(frames.trials)
    attempts = source.records(frames.attempts)
    variants = source.records(frames.variants)
    dropped = source.records(frames.dropped)
    phones = {text(row, "phone"): row for row in source.records(frames.phones)}
    cells = source.cells(trials, attempts)
    nnapi = NnapiRows(
        predictions=source.records(frames.predictions),
        placements=source.records(frames.placements),
        partitions=source.records(frames.partitions),
        graph_of={text(row, "variant"): text(row, "graph_digest") for row in variants},
        cases={text(row, "case"): row for row in attempts},
    )
    # in the order of the plan, not of the trials
    groups: dict[str, dict[str, list[source.Cell]]] = {text(row, "model"): {} for row in variants}
    for cell in cells:
        groups.setdefault(cell.model, {}).setdefault(cell.phone, []).append(cell)
    for row in dropped:  # a phone on which nothing of a model could be planned still has its place
        groups.setdefault(text(row, "model"), {}).setdefault(text(row, "phone"), [])
    checks = checks_of(source.records(frames.checks))
    runs = source.records(frames.runs)
    first_s, long = _first_inferences(source.records(frames.cold_starts)), sustained_of(trials, attempts)
    canaries = [row for row in attempts if text(row, "purpose") == Purpose.CANARY]
    wrong = out_of_tolerance(variants)
    known = _Known(phones, _twins(cells), nnapi, wrong, checks, _first_stage(runs), first_s, long, canaries)
    run: Row = runs[0] if runs else {}
    ab = ab_answer(run, cells, phones, _unranked(cells, wrong, checks))
    tune = _searched(frames, phones, trials, text(run, "state"))
    again = replay_of(run, cells, phones, attempts)
    models = tuple(
        _model(model, by_phone, known, variants, dropped, ab, tune) for model, by_phone in groups.items() if by_phone
    )
    models = models if again is None else tuple(map(_as_asked_again, models))
    return RunSummary(
        headline=tune_headline(tune) if tune is not None else _headline(models, ab, again),
        head=_head(runs, attempts, variants),
        counts=count_trials(trials),
        models=models,
        ab=ab,
        gates=_gates(run, ab),
        replay=again,
        tune=tune,
        hands=needs_hands(incidents_of(source.records(frames.incidents))),
        unread=frames.unread,
    )


def _searched(frames: RunFrames, phones: Mapping[str, Row], trials: Sequence[Row], state: str) -> TuneReport | None:
    if not (searches := frames.searches):
        return None
    from orchestrator.report.searched import tune_report  # noqa: PLC0415 - scipy comes with it

    return tune_report(searches, phones, trials, state)


def _gates(run: Row, ab: AbAnswer | None) -> tuple[GateResult, ...]:
    """The gates that were asked for with A and B; one that can't be read (of another orch) is none."""
    try:
        return () if ab is None else ab_gates(source.names(run, "fail_if"), ab.pairs)
    except UsageError:
        return ()


def _as_asked_again(model: ModelSummary) -> ModelSummary:
    """A model of a replay: its one row is compared with what it was, not with another setting."""
    words = Verdict(sureness=Sureness.NO_ANSWER, reason="one row, asked again: see there")
    phones = tuple(replace(phone, verdict=words, best=None) for phone in model.phones)
    return replace(model, sentence=f"{model.model}: one row, asked again.", phones=phones)


def _headline(models: Sequence[ModelSummary], ab: AbAnswer | None, again: Replay | None) -> str:
    if again is not None:
        return replay_headline(again)
    return headline(models) if ab is None else ab_headline(ab)


def _unranked(
    cells: Sequence[source.Cell], refused: Mapping[str, str], checks: Mapping[tuple[str, str], CaseCheck]
) -> dict[tuple[str, str], str]:
    """By phone and case why its figures count for nothing, where they do."""
    found = {}
    for cell in cells:
        check = checks.get((cell.phone, cell.case))
        if why := refused.get(cell.first("variant"), "") or (check.refusal if check is not None else ""):
            found[(cell.phone, cell.case)] = why
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a run's phones, by identity, and of NNAPI."""

    phones: Mapping[str, Row]
    twins: Mapping[str, TwinDifference]
    nnapi: NnapiRows
    refused: Mapping[str, str]
    checks: Mapping[tuple[str, str], CaseCheck]
    first_stage: int | None
    first_s: Mapping[str, Mapping[str, Sequence[float]]]
    sustained: Mapping[tuple[str, str], Sustained]
    canaries: Sequence[Row]


def _first_stage(runs: Sequence[Row]) -> int | None:
    """How many rounds decided the number of rounds: a run with a precision asked for stops its cases by what it saw."""
    return next((first for run in runs if (first := whole(run, "first_stage")) is not None), None)


def _model(
    model: str,
    by_phone: Mapping[str, list[source.Cell]],
    known: _Known,
    variants: Sequence[Row],
    dropped: Sequence[Row],
    ab: AbAnswer | None,
    tune: TuneReport | None,
) -> ModelSummary:
    drops = [row for row in dropped if text(row, "model") == model]
    reasons = {(text(row, "phone"), text(row, "row")): text(row, "reason") for row in drops}
    answers = [
        phone_answer(
            PhoneSource(
                phone=phone,
                facts=known.phones.get(phone, {}),
                default_dropped=reasons.get((phone, "default"), ""),
                twins=known.twins.get(phone),
                nnapi=known.nnapi.answer(model, phone),
                refused=known.refused,
                first_stage=known.first_stage,
                canaries=[row for row in known.canaries if text(row, "phone") == phone],
                checks={case: check for (where, case), check in known.checks.items() if where == phone},
                first_s=known.first_s.get(phone, {}),
                sustained=known.sustained.get((model, phone)),
            ),
            cells,
        )
        for phone, cells in by_phone.items()
    ]
    answers = [as_search_says(as_pairs_say(answer, ab), model, tune) for answer in answers]
    answers.sort(key=lambda answer: (answer.virtual, as_listed(answer.label)))
    return ModelSummary(
        model=model,
        sentence=_sentence(model, answers, ab, tune),
        phones=tuple(answers),
        variants=_variants([row for row in variants if text(row, "model") == model]),
        dropped=_dropped(drops, known.phones),
    )


def _sentence(model: str, answers: Sequence[PhoneAnswer], ab: AbAnswer | None, tune: TuneReport | None) -> str:
    if tune is not None:
        return tune_sentence(model, tune)
    return model_sentence(model, answers) if ab is None else ab_sentence(model, ab)


def _first_inferences(rows: Sequence[Row]) -> dict[str, dict[str, list[float]]]:
    """By phone and case, as traces tell them."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if (first_s := number(row, "first_inference_s")) is not None:
            found.setdefault(text(row, "phone"), {}).setdefault(text(row, "case"), []).append(first_s)
    return found


def _twins(cells: Sequence[source.Cell]) -> dict[str, TwinDifference]:
    by_name = {(cell.phone, cell.model, cell.row): cell for cell in cells if not cell.twin_of}
    found: dict[str, TwinDifference] = {}
    for cell in cells:
        twin = by_name.get((cell.phone, cell.model, cell.twin_of)) if cell.twin_of else None
        difference = twin_difference(twin, cell) if twin else None
        if difference is not None:
            found.setdefault(cell.phone, difference)
    return found


def _variants(rows: Sequence[Row]) -> tuple[VariantRow, ...]:
    kinds: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if text(row, "graph_digest"):
            kinds.setdefault((text(row, "format"), text(row, "graph_digest")), []).append(text(row, "recipe"))
    return tuple(
        VariantRow(
            variant=text(row, "variant"),
            recipe=text(row, "recipe"),
            format=text(row, "format"),
            converter_version=text(row, "converter_version"),
            graph_digest=text(row, "graph_digest"),
            size_bytes=whole(row, "size_bytes"),
            ort_format=whole(row, "ort_format"),
            nodes_before=source.counts(row, "nodes_before"),
            nodes_after=source.counts(row, "nodes_after"),
            twins=tuple(
                name
                for name in kinds.get((text(row, "format"), text(row, "graph_digest")), [])
                if name != text(row, "recipe")
            ),
            verdict=text(row, "verdict"),
            verdict_reason=text(row, "verdict_reason"),
            precision=text(row, "precision"),
            error=number(row, "error"),
            cosine=number(row, "cosine"),
            top1_same=None if row.get("top1_same") is None else flag(row, "top1_same"),
        )
        for row in rows
    )


def _dropped(rows: Sequence[Row], phones: Mapping[str, Row]) -> tuple[DroppedRow, ...]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        label = text(phones.get(text(row, "phone"), {}), "label", text(row, "phone"))
        labels = grouped.setdefault((text(row, "row"), text(row, "reason")), [])
        if label not in labels:
            labels.append(label)
    return tuple(DroppedRow(row=row, reason=reason, phones=tuple(where)) for (row, reason), where in grouped.items())


def _head(runs: Sequence[Row], attempts: Sequence[Row], variants: Sequence[Row]) -> RunHead:
    row = runs[0] if runs else {}
    created = source.moment(row, "created_at")
    converters = sorted({text(variant, "converter_version") for variant in variants} - {""})
    return RunHead(
        run=text(row, "run"),
        created_at=created,
        state=text(row, "state"),
        duration_s=_duration_s(created, row, attempts),
        plan_name=text(row, "plan_name"),
        plan_digest=text(row, "plan_digest"),
        seed=whole(row, "seed"),
        rounds=whole(row, "rounds") or 0,
        note=text(row, "note"),
        tags=source.names(row, "tags"),
        binary_name=text(row, "binary_name"),
        binary_digest=text(row, "binary_digest"),
        ort_version=text(row, "binary_ort_version"),
        converter_versions=tuple(converters),
        script_digest=text(row, "script_digest"),
        orch_version=text(row, "orch_version"),
        host=text(row, "host"),
        user=text(row, "user"),
        command=text(row, "command"),
    )


def _duration_s(created: datetime | None, run: Row, attempts: Sequence[Row]) -> float | None:
    """From the run's start to its end, as its row says, else to the last result."""
    moments = [source.moment(run, "finished_at")]
    if moments == [None]:
        moments = [source.moment(row, "recorded_at") for row in attempts]
    ends = [moment for moment in moments if moment is not None]
    if created is None or not ends:
        return None
    end = max(ends)
    if (end.tzinfo is None) != (created.tzinfo is None):
        return None
    return max(0.0, (end - created).total_seconds())

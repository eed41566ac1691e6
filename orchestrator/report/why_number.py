"""Pure: why a row's number is what it is, in five sentences: where it comes from, what ran, what it is beside others,
how the phone was, and what speaks for it. What nobody knows is said to be unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.report.nnapi import NnapiCase
from orchestrator.report.numbers import decimals_for, ms, percent, plural, ratio
from orchestrator.report.sentence import base_words
from orchestrator.report.source import Cell, Row, flag, names, number, rounds_of, text, whole
from orchestrator.report.stats import MIN_ROUNDS
from orchestrator.report.summary import PhoneAnswer, SettingRow
from orchestrator.report.tally import counts_of, kind_word, on_one_line, outcome_words
from orchestrator.report.trust import rejections_of

_RETRIES = {
    "never": "trying again would end the same",
    "here": "it may be tried again here",
    "elsewhere": "it may be tried again on another phone",
    "later": "it may be tried again later",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WhySource:
    """What is known of one row: its cell and phone; `setting` is None for a twin measured on purpose. `tries` are all
    its attempts, timed or not; `operators` the rows of its traces."""

    cell: Cell
    answer: PhoneAnswer
    setting: SettingRow | None
    tries: Sequence[Row]
    operators: Sequence[Row]


def why_number(known: WhySource) -> tuple[str, ...]:
    """Five sentences."""
    words = (_figure(known), _ran(known), _beside(known), _phone(known), _trust(known))
    return tuple(f"{one[0].upper()}{one[1:].rstrip('.')}." for one in words)


# --- where it comes from ----------------------------------------------------------------------------------------


def _figure(known: WhySource) -> str:
    rounds = rounds_of(known.cell)
    if not rounds:
        ended = outcome_words(counts_of("time", known.cell.trials)) or "nothing planned"
        return f"there is no figure: of {plural(len(known.cell.trials), 'round')} {ended}"
    decimals = decimals_for(rounds.values())
    figure, setting = sorted(rounds.values()), known.setting
    middle = setting.p50_s if setting is not None and setting.p50_s is not None else _median(figure)
    words = f"{ms(middle, decimals)} ms is the median of the p50s of {plural(len(figure), 'round')}, a process each"
    if len(figure) > 1:
        words += f", which lie between {ms(figure[0], decimals)} and {ms(figure[-1], decimals)} ms"
    if setting is not None and setting.half_width_s is not None:
        words += f"; ±{ms(setting.half_width_s, decimals)} ms is its interval at 95 %"
    elif len(figure) < MIN_ROUNDS:
        words += f"; fewer than {MIN_ROUNDS} rounds have no interval"
    return words + _iterations(known.cell)


def _iterations(cell: Cell) -> str:
    counted = list(cell.measured.values())
    n = _range([value for row in counted if (value := whole(row, "iterations")) is not None])
    dropped = max((whole(row, "warm_up_dropped") or 0 for row in counted), default=0)
    warm = f", up to {dropped} of them left out as warm-up" if dropped else ""
    return f"; a round has {n} iterations{warm}" if n else ""


def _range(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _median(values: Sequence[float]) -> float:
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


# --- what ran ---------------------------------------------------------------------------------------------------


def _ran(known: WhySource) -> str:
    row = next(iter(known.cell.measured.values()), next(iter(known.tries), {}))
    version = f" by ONNX Runtime {text(row, 'ort_version')}" if text(row, "ort_version") else ""
    form = f" in {text(row, 'format').upper()} format" if text(row, "format") else ""
    what = f"what ran is {known.cell.model} as {text(row, 'recipe') or known.cell.row}{form}{version}{_on(row)}"
    where = [_taken(known.answer.nnapi.case(known.cell.case) if known.answer.nnapi else None), _time(known.operators)]
    told = [one for one in where if one]
    return f"{what}; {'; '.join(told) if told else 'nothing was traced, so where its time goes is not known (--trace)'}"


def _on(row: Row) -> str:
    """` on nnapi (fp16) with 4 threads`."""
    provider, flags = text(row, "provider"), names(row, "nnapi_flags")
    threads = whole(row, "intra_op_threads")
    words = f" on {provider}{f' ({chr(32).join(flags)})' if flags else ''}" if provider else ""
    return f"{words} with {plural(threads, 'thread')}" if threads else words


def _taken(case: NnapiCase | None) -> str:
    if case is None:
        return ""
    if not case.known:
        return f"what NNAPI took is not known: {case.why}"
    share = f", {percent(case.time_share)} of the time inside" if case.time_share is not None else ""
    parts = plural(case.partitions or 0, "partition")
    return f"NNAPI took {case.nodes_claimed} of {case.nodes} nodes in {parts}{share}"


def _time(operators: Sequence[Row]) -> str:
    shares: Counter[str] = Counter()
    for row in operators:
        provider = text(row, "ran_on").removesuffix("ExecutionProvider")
        name = "NNAPI" if provider == "Nnapi" else f"{text(row, 'operator')} on {provider}"
        shares[name] += number(row, "self_s") or 0.0  # type: ignore[assignment]
    total = sum(shares.values())
    if not total:
        return ""
    most = [f"{name} {percent(self_s / total)}" for name, self_s in shares.most_common(2)]
    return f"of the time in its nodes when traced, {' and '.join(most)}"


# --- beside others ----------------------------------------------------------------------------------------------


def _beside(known: WhySource) -> str:
    setting, phone = known.setting, known.answer
    if known.cell.twin_of:
        told = phone.twins
        if told is None:
            return f"it is the twin of {known.cell.twin_of}, measured on purpose; too few common rounds to compare"
        return (
            f"it is the twin of {known.cell.twin_of}, the same graph measured again on purpose; on this phone twins "
            f"differed by {percent(told.difference)}"
        )
    if setting is None or setting.p50_s is None:
        return _who_acts(known)
    if setting.rank is None:
        return f"it has no rank: {setting.reason}"
    place = f"it has rank {setting.rank}{', shared with what cannot be told from it' if setting.shared else ''}"
    if setting.row == phone.baseline:
        others = phone.best if phone.best is not None and phone.best.row != setting.row else None
        best = (
            f"; the fastest, {others.row}, is {others.vs_default.value:.2f}× as fast"
            if others and others.vs_default
            else ""
        )
        return f"{place}; the other settings are held against it{best}"
    against = setting.vs_default
    if against is None:
        return f"{place}; {phone.baseline_note or 'there is nothing to hold it against'}"
    how = f"paired over {plural(against.n, 'round')}" if against.paired else "unpaired, as few rounds are common"
    tells = (
        f", and differences from {percent(setting.resolves)} up could be told" if setting.resolves is not None else ""
    )
    return f"{place}; it is {ratio(against.value, against.half_width)} as fast as {base_words(phone)}, {how}{tells}"


def _who_acts(known: WhySource) -> str:
    failed = [row for row in known.cell.trials if text(row, "state") == "failed"]
    if not failed:
        return "nobody has to act: it was not tried to its end"
    (kind, blame, retry), _ = Counter(
        (text(row, "kind"), text(row, "blame"), text(row, "retry")) for row in failed
    ).most_common(1)[0]
    message = on_one_line(next((text(row, "message") for row in failed if text(row, "kind") == kind), ""))
    again = f", and {_RETRIES[retry]}" if retry in _RETRIES else ""
    act = f"; who must act: {blame}{again}" if blame else ""
    return (
        f"what befell it most is \u201c{kind_word(kind)}\u201d{f', in these words: {message}' if message else ''}{act}"
    )


# --- the phone --------------------------------------------------------------------------------------------------


def _phone(known: WhySource) -> str:
    rows = [row for row in known.cell.tries if text(row, "outcome") == "measured"] or list(known.cell.tries)
    parts = [
        _between(rows, "battery_c_before", "battery {} °C", 1.0),
        _between(rows, "zone_max_c_before", "hottest zone {} °C", 1.0),
        _between(rows, "freq_max_khz_after", "top clock {} MHz", 1e-3),
        _between(rows, "battery_level_before", "battery at {} %", 1.0),
    ]
    told = ", ".join(part for part in parts if part) or "its vitals are not known"
    return f"around its {plural(len(rows), 'process', 'processes')} the phone was so: {told}; {_judged(known.cell)}"


def _between(rows: Sequence[Row], key: str, words: str, scale: float) -> str:
    values = sorted(value * scale for row in rows if (value := number(row, key)) is not None)
    if not values:
        return ""
    low, high = f"{values[0]:.0f}", f"{values[-1]:.0f}"
    return words.format(low if low == high else f"{low} to {high}")


def _judged(cell: Cell) -> str:
    judged = rejections_of(cell)
    waited = sum(number(row, "gate_waited_s") or 0.0 for row in cell.tries)
    wait = f"; it waited {waited:.0f} s in all until the phone was fit" if waited else ""
    if not judged.judged:
        return f"nobody judged whether that is fit{wait}"
    if judged.rejected:
        reasons = ", ".join(f"{count} {reason}" for reason, count in judged.reasons)
        return f"{judged.rejected} of {plural(judged.judged, 'attempt')} rejected for it ({reasons}){wait}"
    doubts = f", {judged.suspect} suspect" if judged.suspect else ""
    return f"none of {plural(judged.judged, 'attempt')} rejected for it{doubts}{wait}"


# --- what speaks for it -----------------------------------------------------------------------------------------


def _trust(known: WhySource) -> str:
    phone, trust = known.answer, known.answer.trust
    parts = [
        "this computer computed it for a virtual phone, so it says nothing of a phone's speed" if phone.virtual else "",
        "the phone was changed for measuring (tuned)" if phone.tuned else "",
    ]
    drift = trust.drift if trust is not None else None
    if drift is not None:
        side = "slower" if drift.change >= 0 else "faster"
        flat = "flat" if drift.flat else "not flat: the phone drifted, whatever ran on it"
        parts.append(f"the canary was {percent(abs(drift.change))} {side} at the end than at first, {flat}")
    else:
        parts.append("no canary tells whether the phone drifted")
    if phone.twins is not None and not known.cell.twin_of:
        parts.append(
            f"twins of one graph differed by {percent(phone.twins.difference)}, so less than that means nothing"
        )
    check = known.setting.check if known.setting is not None else None
    worst = check.worst if check is not None else None
    if worst is not None:
        error = "" if worst.error_db is None else "an error "
        parts.append(f"what it computes here is, beside this computer's, {error}{worst.words}")
    never_flat = sum(row.get("flat") is not None and not flag(row, "flat") for row in known.cell.measured.values())
    parts.append(f"{plural(never_flat, 'round')} never settled" if never_flat else "")
    around = trust.around if trust is not None else ()
    parts.append(f"it ran in a shell's process{''.join(f', {one}' for one in around)}, not in an app")
    return "; ".join(part for part in parts if part)

"""Pure: why the settings of a phone came out as they did, as far as NNAPI has to do with it."""

from __future__ import annotations

from orchestrator.report.nnapi import NnapiAnswer, NnapiCase, NnapiPrediction
from orchestrator.report.numbers import ms, percent, plural
from orchestrator.report.summary import PhoneAnswer, SettingRow


def why_words(phone: PhoneAnswer) -> list[str]:
    """Sentences: what the fastest setting with NNAPI gave it, what that cost, which variant loses most to fusion."""
    if phone.nnapi is None:
        return []
    rows = {row.case: row for row in phone.rows}
    fastest = next((row for row in phone.rows if row.p50_s is not None and phone.nnapi.case(row.case)), None)
    case = None if fastest is None else phone.nnapi.case(fastest.case)
    words = [_took(fastest, case)] if fastest is not None and case is not None and case.known else []
    words += [_slower(case)] if case is not None and _known_cost(case) else []
    words += [f"{rows[one.case].row}: {one.why}" for one in phone.nnapi.cases if not one.known and one.case in rows][:1]
    return [one for one in (*words, _lost(phone.nnapi)) if one]


def _took(row: SettingRow, case: NnapiCase) -> str:
    share = f", {percent(case.time_share)} of the time inside" if case.time_share is not None else ""
    return (
        f"{row.row}: {case.nodes_claimed} of {case.nodes} nodes in {plural(case.partitions or 0, 'partition')}{share}"
    )


def _known_cost(case: NnapiCase) -> bool:
    return bool(case.partition_s) and len(case.cpu_s) == len(case.partition_s) and None not in case.cpu_s


def _slower(case: NnapiCase) -> str:
    there, cpu = sum(case.partition_s), sum(one or 0.0 for one in case.cpu_s)
    return f"its partitions take {ms(there, 3)} ms, the CPU {ms(cpu, 3)} ms for the same nodes (traced)"


def _lost(nnapi: NnapiAnswer) -> str:
    """`extended: com.microsoft:FusedConv keeps 26 nodes on the CPU, 10 partitions in place of 1`."""
    plain = [one for one in nnapi.predictions if not one.flags]
    if not plain:
        return ""
    best = max(plain, key=lambda one: (one.nodes_claimed / max(one.nodes, 1), -len(one.partitions)))
    worst = min(plain, key=lambda one: (one.nodes_claimed / max(one.nodes, 1), -len(one.partitions)))
    if worst is best or not worst.not_taken:
        return ""
    operator, _, count = max(worst.not_taken, key=lambda one: one[2])
    pieces = f"{plural(len(worst.partitions), 'partition')} in place of {len(best.partitions)}"
    return f"{_name(worst)}: {operator} keeps {plural(count, 'node')} on the CPU, {pieces}"


def _name(prediction: NnapiPrediction) -> str:
    return " = ".join(" = ".join(recipes) for recipes in prediction.graphs)

"""Pure: a run as JUnit: a suite a phone, each planned trial a case of it.

What a model, a plan or a runtime is to blame for is a `failure`; what the lab or the program is (a lost phone, a full
one), an `error`; what was skipped, with its reason, `skipped`. A trial that has not ended yet is an `error` too: a run
that was cut off is never green. tests = measured + failures + errors + skipped, always.
"""

from __future__ import annotations

from android_runner.errors import Blame
from orchestrator.report import source
from orchestrator.report.junit import Ending, JunitCase, JunitSuite, render_junit
from orchestrator.report.lines import joined
from orchestrator.report.source import Row, RunFrames, number, text, whole
from orchestrator.report.tally import first_line, kind_word, why_skipped

_NOT_THEIRS = (Blame.LAB.value, Blame.US.value)


def run_junit(frames: RunFrames) -> str:
    """The XML of one run."""
    phones = {text(row, "phone"): row for row in source.records(frames.phones)}
    took_s: dict[str, float] = {}
    for row in source.records(frames.attempts):
        trial = text(row, "trial")
        took_s[trial] = took_s.get(trial, 0.0) + _seconds(row)
    by_phone: dict[str, list[Row]] = {phone: [] for phone in phones}
    for row in source.records(frames.trials):
        by_phone.setdefault(text(row, "phone"), []).append(row)
    run = next(iter(source.records(frames.runs)), {})
    dropped: dict[str, list[str]] = {}
    for row in source.records(frames.dropped):
        words = f"no trial: {text(row, 'model')} {text(row, 'row')}: {text(row, 'reason')}"
        dropped.setdefault(text(row, "phone"), []).append(words)
    suites = [
        _suite(run, phones.get(phone, {}), trials, took_s, dropped.get(phone, [])) for phone, trials in by_phone.items()
    ]
    return render_junit(text(run, "run"), suites)


def _seconds(attempt: Row) -> float:
    """How long a process ran, by its phone's clock."""
    began, ended = number(attempt, "started_uptime_s"), number(attempt, "ended_uptime_s")
    return max(0.0, ended - began) if began is not None and ended is not None else 0.0


def _suite(run: Row, phone: Row, trials: list[Row], took_s: dict[str, float], dropped: list[str]) -> JunitSuite:
    virtual = "virtual" if phone.get("virtual") is True else ""
    label = text(phone, "label") or text(phone, "phone")
    known = [
        ("run", text(run, "run")), ("phone", text(phone, "phone")), ("virtual", "yes" if virtual else "no"),
        *((name, text(phone, name)) for name in ("device_model", "api_level", "fingerprint")),
        *((name, text(run, name)) for name in ("binary_digest", "binary_ort_version", "plan_digest", "orch_version")),
    ]  # fmt: skip
    return JunitSuite(
        name=joined([virtual, label, text(phone, "device_model")], " "),
        at=source.moment(run, "created_at"),
        cases=[_case(row, label, took_s) for row in trials],
        properties=[(name, value) for name, value in known if value],
        out="\n".join(dropped),
    )


def _case(trial: Row, label: str, took_s: dict[str, float]) -> JunitCase:
    purpose = text(trial, "purpose", "time")
    which = f"round {whole(trial, 'round') or 0}" if purpose == "time" else f"{purpose} {whole(trial, 'round') or 0}"
    twin = f" (twin of {text(trial, 'twin_of')})" if text(trial, "twin_of") else ""
    state, ending, kind, message, details = text(trial, "state", "planned"), Ending.PASSED, "", "", ""
    if state == "failed":
        ending = Ending.ERROR if text(trial, "blame") in _NOT_THEIRS else Ending.FAILURE
        kind, details = text(trial, "kind"), text(trial, "message")
        message = joined([kind_word(kind), first_line(details)], ": ")
    elif state == "skipped":
        ending, message = Ending.SKIPPED, why_skipped(trial)
    elif state != "measured":
        ending, kind, message = Ending.ERROR, "not_ended", "not ended yet"
    return JunitCase(
        group=f"{text(trial, 'model')}.{label}",
        name=f"{text(trial, 'row')}{twin}, {which}",
        ending=ending,
        kind=kind,
        message=message,
        details=details,
        time_s=took_s.get(text(trial, "trial"), 0.0),
    )

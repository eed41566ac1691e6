"""Whether a row that was asked again says the same: pure, by frames of the second run."""

from __future__ import annotations

import json
import math
import random

import pytest
from report_frames import Made

from orchestrator.report.as_json import render_json
from orchestrator.report.html.page import render_html
from orchestrator.report.markdown import render_markdown
from orchestrator.report.replay import Agreement, ReplayAnswer, origin_as_kept, origin_of
from orchestrator.report.source import cells, records
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal

PHONE = "R58N30ABCDE"


def noisy(ms: float, n: int, spread: float, seed: int) -> list[float]:
    dice = random.Random(seed)
    return [ms * math.exp(dice.gauss(0, spread)) for _ in range(n)]


def then(p50s_ms: list[float], device_model: str = "Pixel 8", resolves: float | None = None, **facts) -> dict:
    """What a replay keeps of a run in which the row had these p50s."""
    made = Made(rounds=len(p50s_ms))
    made.phone(PHONE, "B3", device_model)
    made.phones[-1] |= facts
    made.case(PHONE, "mnist", "cpu all", 1.0, p50s=p50s_ms)
    frames = made.frames()
    attempts = records(frames.attempts)
    (cell,) = cells(records(frames.trials), attempts)
    canary = {"purpose": "canary", "phone": PHONE, "p50_s": 0.001}
    return json.loads(
        json.dumps(origin_as_kept(cell, records(frames.phones)[0], resolves, [canary], "0412-quick-7k2f"))
    )


def again(origin: dict, p50s_ms: list[float], *, phone: str = PHONE, canary_s: float = 0.001, fails=()) -> Made:
    made = Made(rounds=len(p50s_ms))
    made.phone(phone, "B3" if phone == PHONE else "B4", "Pixel 8")
    made.case(phone, "mnist", "cpu all", 1.0, p50s=p50s_ms, fails=fails)
    made.attempts.append(
        {**made.attempts[0], "trial": None, "attempt": "c", "purpose": "canary", "p50_s": canary_s, "case": "canary"}
    )
    made.run = {"origin": origin, "rounds": len(p50s_ms)}
    return made


def answer_of(made: Made) -> tuple[RunSummary, ReplayAnswer]:
    summary = summarize(made.frames())
    assert summary.replay is not None
    (answer,) = summary.replay.answers
    return summary, answer


def test_the_same_agrees() -> None:
    summary, answer = answer_of(again(then(noisy(4.12, 5, 0.01, 1)), noisy(4.12, 5, 0.01, 2)))
    assert answer.agreement is Agreement.AGREES
    assert summary.headline.startswith("0412-quick-7k2f/B3/cpu all asked again: B3 Pixel 8 agrees: 4.1")
    assert (answer.n_then, answer.n_now) == (5, 5)
    assert answer.canary == pytest.approx(1.0)


def test_what_became_slower_differs() -> None:
    summary, answer = answer_of(again(then(noisy(4.0, 5, 0.01, 1)), noisy(4.4, 5, 0.01, 2), canary_s=0.0011))
    assert answer.agreement is Agreement.DIFFERS
    assert answer.ratio == pytest.approx(1 / 1.1, rel=0.02)
    text = " ".join(render_terminal(summary).split())
    assert "B3 Pixel 8 differs: " in text
    assert "its canary is 10.0 % slower than then: the phone itself is not as it was" in text


def test_a_difference_below_what_the_phone_could_tell_is_none() -> None:
    """The rounds alone would call it one; the phone's other settings showed that it tells no such thing."""
    p50s = noisy(4.0, 8, 0.002, 1), noisy(4.06, 8, 0.002, 2)
    assert answer_of(again(then(p50s[0]), p50s[1]))[1].agreement is Agreement.DIFFERS
    _, answer = answer_of(again(then(p50s[0], resolves=0.04), p50s[1]))
    assert answer.agreement is Agreement.AGREES
    assert answer.resolves == 0.04


def test_another_device_model_has_no_verdict() -> None:
    summary, answer = answer_of(again(then(noisy(4.0, 5, 0.01, 1), "Pixel 6"), noisy(4.0, 5, 0.01, 2), phone="x"))
    assert answer.agreement is Agreement.OTHER_MODEL
    assert answer.canary is None
    assert "is another device model, whose figures are its own" in summary.headline


def test_another_phone_of_the_same_model_says_so() -> None:
    summary, answer = answer_of(again(then(noisy(4.0, 5, 0.01, 1)), noisy(4.0, 5, 0.01, 2), phone="x"))
    assert answer.agreement is Agreement.AGREES
    assert "another phone of the same device model (B3 then)" in " ".join(render_terminal(summary).split())


def test_an_update_since_is_said() -> None:
    _, answer = answer_of(again(then(noisy(4.0, 5, 0.01, 1), fingerprint="old"), noisy(4.0, 5, 0.01, 2)))
    assert answer.notes == ("its fingerprint has changed since: another build of Android",)


@pytest.mark.parametrize(("n_then", "n_now", "why"), [(2, 5, "2 valid rounds then"), (5, 2, "2 valid rounds now")])
def test_too_few_rounds_say_nothing(n_then: int, n_now: int, why: str) -> None:
    summary, answer = answer_of(again(then(noisy(4.0, n_then, 0.01, 1)), noisy(4.0, n_now, 0.01, 2)))
    assert answer.agreement is Agreement.NO_ANSWER
    assert answer.reason == f"{why}, 3 are needed"
    assert why in summary.headline


def test_what_failed_says_why() -> None:
    fails = dict.fromkeys(range(1, 4), ("crashed", "signal 11"))
    _, answer = answer_of(again(then([4.0] * 3), [4.0] * 3, fails=fails))
    assert answer.reason == "0 valid rounds now, 3 are needed: signal 11"


@pytest.mark.parametrize(
    "kept", [None, 7, {}, {"p50s_s": "x"}, {"p50s_s": [None, -1.0, 0.0, "1"], "resolves": "much", "run": 5}]
)
def test_an_origin_in_pieces_is_none_or_empty(kept: object) -> None:
    found = origin_of(kept)
    assert found is None or found.p50s_s == ()


def test_every_form_of_the_report_has_it() -> None:
    made = again(then(noisy(4.0, 5, 0.01, 1)), noisy(4.0, 5, 0.01, 2))
    summary, _ = answer_of(made)
    told = json.loads(render_json(summary))["replay"]
    assert (told["origin"]["run"], told["answers"][0]["agreement"]) == ("0412-quick-7k2f", "agrees")
    assert "## Asked again" in render_markdown(summary)
    assert "<h2>Asked again</h2>" in render_html(summary, made.frames())
    assert "nothing to compare it with" not in render_markdown(summary)
    assert max(map(len, render_terminal(summary).splitlines())) <= 80

"""What a report says of A beside B: on one phone, on several, with little measured, with a wrong model."""

from __future__ import annotations

import json
import math
import random

import pytest
from report_frames import Made

from orchestrator.errors import UsageError
from orchestrator.measure.sequential import Finding
from orchestrator.report.ab_gates import limit_of
from orchestrator.report.ab_text import ab_section
from orchestrator.report.as_json import render_json
from orchestrator.report.html.page import render_html
from orchestrator.report.markdown import render_markdown
from orchestrator.report.stats import Sureness
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import RunSummary
from orchestrator.report.terminal import render_terminal

CAP = 30
ROUNDS = range(1, CAP + 1)


class Pair(Made):
    """A run that holds A against B."""

    def sides(self, phone, model, ratio, *, n=6, noise=0.002, models=None, left="resolved early", **more):
        """`n` pairs, in which B is `ratio` times as fast; the other rounds are `left` as this reason says."""
        dice = random.Random(11)
        a_model, b_model = models or (model, model)
        skips = {number: left for number in ROUNDS if number > n}
        b_ms = [10.0 / ratio * math.exp(dice.gauss(0, noise)) for _ in ROUNDS]
        first = len(self.trials)
        self.case(phone, a_model, "A default", 10.0, p50s=[10.0] * CAP, skips=skips, rounds=CAP, **more)
        middle = len(self.trials)
        self.case(phone, b_model, "B cpu onnx 4t", 10.0, p50s=b_ms, skips=skips, rounds=CAP, **more)
        for at, trial in enumerate(self.trials[first:], start=first):
            trial |= {"side": "A" if at < middle else "B", "pair": model}
        for one in dict.fromkeys((a_model, b_model)):
            self.variant(one, "onnx", f"graph of {one}", 1000, {}, {}, "onnx")
        return self

    def told(self) -> RunSummary:
        self.run = {"rounds": CAP, "delta": 0.02, "sides": {"A": "threads=1", "B": "threads=4"}, **self.run}
        return summarize(self.frames())


def one_pair(ratio: float, **more) -> RunSummary:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    return made.sides("R58N", "mnist", ratio, **more).told()


@pytest.mark.parametrize(
    ("ratio", "more", "finding", "words"),
    [
        (1.031, {}, Finding.FASTER, "B is 3.2 % faster (2.8 … 3.6 %), 6 pairs."),
        (1 / 1.05, {}, Finding.SLOWER, "B is 4.9 % slower (4.5 … 5.3 %), 6 pairs."),
        (2.5, {}, Finding.FASTER, "B is 2.50× as fast (2.4"),
        (1.0, {}, Finding.SAME, "same within ± 2.0 %: B is between 0."),
        (1.0, {"noise": 0.2, "n": 30}, Finding.UNDECIDED, "undecided: B is between "),
        (1.031, {"n": 2}, Finding.UNDECIDED, "no answer: 2 of 3 pairs that are needed"),
    ],
)
def test_the_words_for_one_phone(ratio: float, more: dict, finding: Finding, words: str) -> None:
    summary = one_pair(ratio, **more)
    assert summary.ab is not None
    (pair,) = summary.ab.pairs
    assert pair.finding is finding
    assert summary.headline.startswith(f"mnist on B3 Pixel 8: {words}")
    text = render_terminal(summary)
    assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert words.partition(",")[0] in render_markdown(summary)


def test_the_phone_s_own_answer_says_the_same_as_the_pair() -> None:
    summary = one_pair(1.05)
    phone = summary.models[0].phones[0]
    pair = summary.ab.pairs[0] if summary.ab else None
    assert phone.verdict.sureness is Sureness.SURE
    assert phone.best is not None
    assert phone.best.row == "B cpu onnx 4t" == phone.rows[0].row
    assert phone.baseline == "A default"
    assert phone.best.vs_default is not None
    assert pair is not None
    assert (phone.best.vs_default.low, phone.best.vs_default.high) == (pair.low, pair.high)
    assert [row.rank for row in phone.rows] == [1, 2]


def test_the_slower_b_stands_behind_a() -> None:
    phone = one_pair(0.9).models[0].phones[0]
    assert [row.row for row in phone.rows] == ["A default", "B cpu onnx 4t"]
    assert phone.best is not None
    assert phone.best.row == "A default"


def test_a_tie_is_a_tie() -> None:
    phone = one_pair(1.0).models[0].phones[0]
    assert phone.verdict.sureness is Sureness.TIE
    assert [row.rank for row in phone.rows] == [1, 1]


def test_rounds_that_were_spared_are_said() -> None:
    assert "6 pairs, 24 rounds spared" in " ".join(render_terminal(one_pair(1.1)).split())


def test_a_run_that_goes_on_says_so() -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", 1.0, noise=0.05, n=7, left="later")
    for trial in made.trials:
        if trial["state"] == "skipped":
            trial |= {"state": "planned", "reason": None}
    summary = made.told()
    assert summary.ab is not None
    assert (summary.ab.pairs[0].n, summary.ab.pairs[0].going_on) == (6, True)
    assert "not decided yet: B is between" in summary.headline


@pytest.mark.parametrize(("left", "n", "words"), [("interrupted", 6, "not decided yet"), ("budget", 8, "undecided")])
def test_what_was_left_decides_what_is_spent(left: str, n: int, words: str) -> None:
    """After a Ctrl-C somebody may go on by what he sees; a budget was set before anything was seen."""
    summary = one_pair(1.0, noise=0.05, n=8, left=left)
    assert summary.ab is not None
    assert summary.ab.pairs[0].n == n
    assert words in summary.headline


def test_before_the_first_look_nothing_is_said() -> None:
    summary = one_pair(1.5, n=4, left="interrupted")
    assert summary.headline == ("mnist on B3 Pixel 8: not decided yet: 4 pairs so far, looked at first after 6.")


def test_two_models_are_told_above_and_neither_section_contradicts() -> None:
    summary = one_pair(1.2, models=("old", "new"))
    assert [model.sentence for model in summary.models] == [
        f"{name}: A and B are two models, see A beside B." for name in ("old", "new")
    ]
    text = render_terminal(summary)
    assert "mnist on B3 Pixel 8: B is 20.1 % faster" in " ".join(text.split())
    assert "no answer" not in text


def test_real_and_virtual_phones_stand_apart() -> None:
    made = Pair()
    for phone, virtual in (("R58N", False), ("orch-v1", True)):
        made.phone(phone, phone, "Pixel 8", virtual=virtual)
        made.sides(phone, "mnist", 1.1)
    summary = made.told()
    assert summary.headline == (
        "A and B: B is faster in 1 of 1; on virtual phones (this computer's speed, not a phone's) "
        "B is faster in 1 of 1."
    )
    text = render_terminal(summary)
    assert text.index("R58N Pixel 8: B is") < text.index("on virtual phones (this computer's speed, not a phone's):\n")


def test_figures_of_a_wrong_model_are_no_answer() -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", 1.5)
    made.variants.clear()
    made.variant("mnist", "onnx", "g", 1000, {}, {}, "onnx", verdict="out of tolerance", verdict_reason="0.3 off")
    for attempt in made.attempts:
        attempt["variant"] = "variant-mnist-onnx" if attempt["row"].startswith("B") else "another"
    summary = made.told()
    assert "no answer: B: out of tolerance: 0.3 off; by its figures B is between" in summary.headline
    assert summary.models[0].phones[0].best is None or summary.models[0].phones[0].best.row != "B cpu onnx 4t"


def test_a_side_that_always_failed_says_why() -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", 1.0, fails=dict.fromkeys(ROUNDS, ("crashed", "signal 11")), n=CAP)
    summary = made.told()
    assert "no answer: 0 of 3 pairs that are needed; A: signal 11; B: signal 11" in summary.headline


@pytest.mark.parametrize(
    ("ratio", "more", "gate", "word"),
    [
        (1 / 1.08, {}, "p50:5%", "failed"),
        (1 / 1.08, {}, "p50:10%", "passed"),
        (1.08, {}, "p50:0%", "passed"),
        (1.0, {}, "p50:0%", "passed"),  # the same within what matters
        (1.0, {"noise": 0.2, "n": 30}, "p50:1%", "not told"),
        (1.0, {"noise": 0.05, "n": 30}, "p50:50%", "passed"),  # undecided, but surely not as much slower
        (1.0, {"n": 2}, "p50:5%", "not told"),
    ],
)
def test_gates(ratio: float, more: dict, gate: str, word: str) -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", ratio, **more)
    made.run = {"fail_if": (gate,)}
    summary = made.told()
    (found,) = summary.gates
    assert (found.gate, found.word.value) == (gate, word)
    text = " ".join(render_terminal(summary).split())
    assert f"gate {gate} {word}: B3 · mnist: " in text
    assert f"gate {gate} {word}: B3 · mnist: " in render_markdown(summary).replace("\\", "")


@pytest.mark.parametrize("gate", ["p90:5%", "p50", "p50:much%", "size:1%", "missing", "p50:-5%"])
def test_what_is_no_gate_of_ab(gate: str) -> None:
    with pytest.raises(UsageError, match="orch compare"):
        limit_of(gate)


def test_gates_of_another_orch_cost_only_themselves() -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", 1.1)
    made.run = {"fail_if": ("energy:5%",)}
    assert made.told().gates == ()


@pytest.mark.parametrize("run", [{"delta": -5.0}, {"delta": math.inf}, {"delta": 1.0}, {"rounds": -3}, {"sides": 7}])
def test_a_ledger_in_pieces_is_no_bug(run: dict) -> None:
    made = Pair()
    made.phone("R58N", "B3", "Pixel 8")
    made.sides("R58N", "mnist", 1.1)
    made.run = run
    summary = made.told()
    assert summary.ab is None or [side.words for side in summary.ab.sides] == ["", ""]
    assert render_terminal(summary)


def test_an_ordinary_run_has_none() -> None:
    made = Made()
    made.phone("R58N", "B3", "Pixel 8")
    made.case("R58N", "mnist", "default", 1.0)
    summary = summarize(made.frames())
    assert summary.ab is None
    assert ab_section(summary.ab) == []


def test_json_has_the_fields_by_name_and_the_page_the_section() -> None:
    made = Pair()
    made.phone("R58N", "B3 <b>", "Pixel 8")
    made.sides("R58N", "mnist", 1.1)
    summary = made.told()
    told = json.loads(render_json(summary))["ab"]
    assert told["delta"] == 0.02
    assert told["sides"][1]["words"] == "threads=4"
    assert told["pairs"][0]["finding"] == "faster"
    assert told["pairs"][0]["n"] == 6
    page = render_html(summary, made.frames())
    assert "<h2>A beside B</h2>" in page
    assert "B3 &lt;b&gt;" in page
    assert "B3 <b>" not in page

"""What a run recommends, from frames: winner, runner-up, how surely, why; NNAPI's end; one setting for all phones."""

from __future__ import annotations

import json
import math
import random

import pandas as pd
import pytest
from report_frames import Frames, Made, lab

from orchestrator.report.recommendation.nouns import ModelAdvice, PhoneAdvice
from orchestrator.report.recommendation.recommend import chance_faster, recommend
from orchestrator.report.recommendation.text import recommendations_json, render_recommendations

NET = "net"


def knobs(frames: Frames) -> Frames:
    """The columns of a case's settings, as its row says them."""
    said = frames.attempts["row"].str.split()

    def has(word: str) -> pd.Series:
        return said.map(lambda words: word in words)

    threads = said.map(
        lambda words: next((float(w[:-1]) for w in words if w[-1] == "t" and w[:-1].isdigit()), math.nan)
    )
    frames.attempts["provider"] = said.map(lambda words: "nnapi" if words[0] == "nnapi" else "cpu")
    frames.attempts["nnapi_flags"] = [["fp16"] if fp16 else [] for fp16 in has("fp16")]
    frames.attempts["intra_op_threads"] = threads
    for column, word in (("spinning", "no-spin"), ("arena", "no-arena")):
        frames.attempts[column] = ~has(word)
    return frames


def one_phone(rows: dict[str, float], *, api_level: int = 34, noise: float = 0.005, **more: object) -> Frames:
    made = Made(rounds=6)
    made.phone("B3", "B3", "Pixel 8", api_level=api_level)
    for row, ms in rows.items():
        made.case("B3", NET, row, ms, noise=noise, **more)  # type: ignore[arg-type]
    return knobs(made.frames())


def advice(frames: Frames) -> PhoneAdvice:
    (model,) = recommend(frames)
    (phone,) = model.phones
    return phone


def test_the_winner_with_margin_confidence_and_reason() -> None:
    found = advice(
        one_phone({"default": 10.0, "cpu all": 8.0, "cpu all 4t": 4.0, "cpu all 2t": 6.0, "cpu all 4t no-spin": 5.0})
    )
    assert found.winner is not None
    assert found.winner.row == "cpu all 4t"
    assert found.vs_default is not None
    assert math.isclose(found.vs_default.value, 2.5, rel_tol=0.02)
    assert found.runner_up is not None
    assert found.runner_up.other.row == "cpu all 4t no-spin"
    assert found.runner_up.ratio is not None
    assert math.isclose(found.runner_up.ratio.value, 1.25, rel_tol=0.02)
    assert found.runner_up.confidence is not None
    assert found.runner_up.confidence > 0.999
    assert found.reason.startswith("cpu all 4t is ahead: threads 4 instead of 2 makes it 1.5")
    assert "spinning on instead of off makes it 1.2" in found.reason
    assert found.without_nnapi is None
    assert found.nnapi_note == ""


def test_what_can_t_be_told_from_the_default_is_the_default() -> None:
    made = Made(rounds=6)
    made.phone("B3", "B3", "Pixel 8")
    made.case("B3", NET, "default", 10.0, p50s=[10.0, 10.3, 9.8, 10.1, 9.9, 10.2])
    made.case("B3", NET, "cpu all", 10.0, p50s=[10.1, 10.0, 9.9, 9.9, 10.1, 9.9])
    made.case("B3", NET, "cpu all 4t", 20.0)
    found = advice(knobs(made.frames()))
    assert found.winner is not None
    assert found.winner.row == "default"
    assert found.tied == ("cpu all",)
    assert found.reason == "nothing can be told from default, which needs no setting."


@pytest.mark.parametrize(("api_level", "words"), [(34, "from Android 15 on"), (35, "on this phone")])
def test_nnapi_wins_and_has_an_end(api_level: int, words: str) -> None:
    frames = one_phone(
        {"default": 10.0, "nnapi basic fp16": 2.0, "nnapi basic": 3.0, "cpu all 4t": 4.0}, api_level=api_level
    )
    frames.placements = pd.DataFrame(
        [
            {
                "phone": "B3",
                "model": NET,
                "case": f"case-{NET}-nnapi basic fp16",
                "row": "nnapi basic fp16",
                "known": True,
                "why": None,
                "partitions": 2,
                "nodes_claimed": 60,
                "nodes_in_graph": 66,
                "nodes_before_layout": None,
                "claimed_before_layout": None,
                "devices": [["tpu", "accelerator"]],
            }
        ]
    )
    found = advice(frames)
    assert found.winner is not None
    assert found.winner.row == "nnapi basic fp16"
    assert "NNAPI's flags fp16 instead of none makes it 1." in found.reason
    assert "NNAPI takes 60 of 66 nodes in 2 partitions" in found.reason
    assert words in found.nnapi_note
    assert found.without_nnapi is not None
    assert found.without_nnapi.other.row == "cpu all 4t"
    assert found.without_nnapi.ratio is not None
    assert math.isclose(found.without_nnapi.ratio.value, 2.0, rel_tol=0.02)


def test_the_cpu_wins_and_the_reason_says_what_nnapi_took() -> None:
    frames = one_phone({"default": 10.0, "nnapi basic": 8.0, "cpu all 4t": 4.0})
    place = {
        "phone": "B3", "model": NET, "case": f"case-{NET}-nnapi basic", "row": "nnapi basic", "known": True,
        "why": None, "partitions": 17, "nodes_claimed": 40, "nodes_in_graph": 66, "nodes_before_layout": None,
        "claimed_before_layout": None, "devices": None,
    }  # fmt: skip
    frames.placements = pd.DataFrame([place])
    found = advice(frames)
    assert "NNAPI's best, nnapi basic, takes 40 of 66 nodes in 17 partitions and is 0.50× as fast" in found.reason


def test_too_few_rounds_are_no_advice() -> None:
    found = advice(one_phone({"default": 10.0, "cpu all": 8.0}, rounds=2))
    assert found.winner is None
    assert found.runner_up is None
    assert found.reason


def fleet(prices: dict[str, dict[str, float]], virtual: tuple[str, ...] = ()) -> ModelAdvice:
    made = Made(rounds=5)
    for phone, rows in prices.items():
        made.phone(phone, phone, "Pixel", virtual=phone in virtual)
        for row, ms in rows.items():
            made.case(phone, NET, row, ms, noise=0.001)
    (model,) = recommend(knobs(made.frames()))
    return model


def test_one_setting_for_all_phones_with_its_price() -> None:
    found = fleet(
        {
            "A1": {"default": 10.0, "cpu all 4t": 5.0, "cpu all 2t": 5.2},
            "A2": {"default": 10.0, "cpu all 4t": 8.0, "cpu all 2t": 6.0},
            "V1": {"default": 1.0, "cpu all 4t": 9.0, "cpu all 2t": 9.0},
        },
        virtual=("V1",),
    )
    assert found.fleet is not None
    assert found.fleet.setting == "cpu all 2t"
    assert not found.fleet_virtual
    assert math.isclose(found.fleet.worst, 0.04, abs_tol=0.005)
    assert [price.phone for price in found.fleet.prices] == ["A1 Pixel", "A2 Pixel"]
    assert found.fleet_sentence.startswith("cpu all 2t is at most ")
    assert found.fleet_sentence.endswith("off the best of any of 2 phones, on A1 Pixel")


def test_no_setting_holds_or_is_everywhere() -> None:
    far = fleet({"A1": {"cpu all 4t": 5.0, "cpu all 2t": 9.0}, "A2": {"cpu all 4t": 9.0, "cpu all 2t": 5.0}})
    assert far.fleet_sentence.endswith(": none keeps within 5.0 %")
    apart = fleet({"A1": {"cpu all 4t": 5.0, "default": 6.0}, "A2": {"cpu all 2t": 5.0, "cpu all": 6.0}})
    assert apart.fleet is None
    assert apart.fleet_sentence == "no setting has figures on every phone"
    virtual = fleet({"V1": {"default": 1.0, "cpu all": 0.5}}, virtual=("V1",))
    assert virtual.fleet_virtual
    assert virtual.fleet_sentence == "one phone only: cpu all"


def test_a_lab_where_much_goes_wrong_has_advice() -> None:
    models = {model.model: model for model in recommend(lab())}
    assert models["squeezenet"].fleet is not None
    assert models["squeezenet"].fleet.setting == "cpu all 4t"
    assert models["mnist"].fleet is not None
    assert "A1 Redmi 9" not in {price.phone for price in models["mnist"].fleet.prices}
    for model in models.values():
        for phone in model.phones:
            assert (phone.winner is None) == (phone.how_sure == "no answer")


def test_how_surely_one_is_faster() -> None:
    dice = random.Random(3)
    same = {at: math.exp(dice.gauss(0, 0.01)) for at in range(1, 9)}
    other = {at: value * 1.1 * math.exp(dice.gauss(0, 0.01)) for at, value in same.items()}
    sure = chance_faster(same, other)
    assert sure is not None
    assert sure > 0.999
    reverse = chance_faster(other, same)
    assert reverse is not None
    assert math.isclose(sure + reverse, 1.0, abs_tol=1e-9)
    assert chance_faster(same, same) == 0.5
    assert chance_faster({1: 1.0, 2: 1.0}, {1: 2.0, 2: 2.0}) is None
    apart = chance_faster({1: 1.0, 2: 1.01, 3: 0.99}, {4: 2.0, 5: 2.01, 6: 2.02})
    assert apart is not None
    assert apart > 0.999


def test_what_a_person_reads_fits_80_columns() -> None:
    rows = {"default": 10.0, "nnapi basic fp16": 2.0, "nnapi basic": 3.0, "cpu all 4t": 4.0}
    said = render_recommendations(recommend(one_phone(rows, api_level=35)))
    assert max(map(len, said.splitlines())) <= 80
    assert "B3 Pixel 8: nnapi basic fp16, 2.00 ms, 4.98× as fast as the default (sure)" in said
    flat = " ".join(said.split())
    assert "next: nnapi basic, 49." in flat
    assert "slower, the order is right with more than 99.9 %" in flat
    assert "NNAPI is deprecated on this phone (Android 15 and later); keep the best setting without it at hand" in flat
    assert "without it: cpu all 4t," in flat
    assert "one for all: one phone only: nnapi basic fp16" in flat
    many = recommend(lab())
    text = render_recommendations(many)
    assert max(map(len, text.splitlines())) <= 80
    assert "squeezenet" in text
    assert render_recommendations(()) == "Nothing was planned: nothing to recommend.\n"
    assert [model["model"] for model in json.loads(recommendations_json(many))] == [model.model for model in many]


def test_the_first_of_several_that_can_t_be_told_apart_is_not_called_ahead() -> None:
    made = Made(rounds=6)
    made.phone("B3", "B3", "Pixel 8")
    made.case("B3", NET, "default", 20.0)
    made.case("B3", NET, "cpu all 2t", 10.0, p50s=[10.0, 10.3, 9.8, 10.1, 9.9, 10.2])
    made.case("B3", NET, "cpu all 2t no-spin", 10.0, p50s=[10.1, 10.0, 9.9, 9.9, 10.1, 9.9])
    made.case("B3", NET, "cpu all 4t no-spin", 15.0)
    found = advice(knobs(made.frames()))
    assert found.tied == ("cpu all 2t",)
    assert found.reason.startswith("cpu all 2t no-spin is the first of 2 that can't be told apart")

from dataclasses import replace

import pytest

from orchestrator.nights.changes import What, changes
from orchestrator.nights.nouns import CaseNight, Circumstances, SeriesKey

KEY = SeriesKey("R5", "net", "onnx", "nnapi fp16")
CALM = Circumstances(
    fingerprint="google/13", binary_digest="b" * 64, ort_version="1.22", model_digest="m" * 64, graph_digest="g" * 64,
    converter="1.22", settings="cpu", script_digest="s" * 64, orch_version="0.8", host="lab", battery_health=95.0,
    canary_p50_s=0.010, warmest_c=33.0, nnapi_taken="65 of 65",
)  # fmt: skip


def night(at: str, **others: object) -> CaseNight:
    circumstances = replace(CALM, **others)
    return CaseNight(key=KEY, run_id=at, night=at, rounds_s=(0.01,), ended="", circumstances=circumstances)


def whats(**others: object) -> list[What]:
    return [one.what for one in changes(night("2026-04-11"), night("2026-04-12", **others))]


def test_nothing_changed():
    assert whats() == []


@pytest.mark.parametrize(
    ("others", "what"),
    [
        ({"model_digest": "n" * 64, "graph_digest": "h" * 64}, What.MODEL),
        ({"binary_digest": "c" * 64, "ort_version": "1.23"}, What.BINARY),
        ({"settings": "cpu -x 2"}, What.SETTINGS),
        ({"converter": "1.23"}, What.CONVERTER),
        ({"graph_digest": "h" * 64}, What.GRAPH),
        ({"nnapi_taken": "53 of 65"}, What.NNAPI),
        ({"fingerprint": "google/14"}, What.SYSTEM),
        ({"canary_p50_s": 0.011}, What.CANARY),
        ({"warmest_c": 37.0}, What.HEAT),
        ({"battery_health": 80.0}, What.BATTERY),
        ({"script_digest": "t" * 64}, What.SCRIPT),
        ({"orch_version": "0.9"}, What.ORCH),
        ({"host": "lab2"}, What.HOST),
    ],
)
def test_each_thing_that_is_another_is_named_alone(others, what):
    assert whats(**others) == [what]


def test_what_is_not_known_on_one_night_is_no_change():
    unknown = {"fingerprint": "", "binary_digest": "", "ort_version": "", "canary_p50_s": None, "warmest_c": None}
    assert whats(**unknown) == []


def test_what_a_phone_gains_is_no_cause():
    assert whats(canary_p50_s=0.009, warmest_c=28.0, battery_health=100.0) == []


def test_a_model_and_a_binary_come_before_the_phone_and_that_before_the_tools():
    found = whats(
        model_digest="n", graph_digest="h", binary_digest="c", fingerprint="google/14", canary_p50_s=0.02,
        orch_version="0.9", nnapi_taken="53 of 65",
    )  # fmt: skip
    assert found == [What.MODEL, What.BINARY, What.SYSTEM, What.CANARY, What.NNAPI, What.ORCH]


def test_a_model_whose_graph_stayed_is_an_unlikely_cause():
    (same_graph,) = changes(night("2026-04-11"), night("2026-04-12", model_digest="n" * 64))
    assert not same_graph.likely
    assert "the graph that runs is the same" in same_graph.words


def test_a_binary_is_one_cause_for_all_phones_and_a_system_one_for_each():
    other = replace(night("2026-04-12"), key=replace(KEY, phone="R6", model_name="net2"))
    bad = replace(CALM, binary_digest="c" * 64, fingerprint="google/14")
    here = changes(night("2026-04-11"), replace(night("2026-04-12"), circumstances=bad))
    there = changes(night("2026-04-11"), replace(other, circumstances=bad))
    assert here[0].cause == there[0].cause
    assert here[1].cause != there[1].cause


def test_a_long_cause_is_known_by_its_digest():
    (one,) = changes(night("2026-04-11"), night("2026-04-12", settings="x" * 5000))
    (other,) = changes(night("2026-04-11"), night("2026-04-12", settings="x" * 5001))
    assert len(one.cause) < 100
    assert one.cause != other.cause

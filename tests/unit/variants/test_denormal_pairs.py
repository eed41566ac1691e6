"""The paired measurement: three settings in turn, and its words, also when there is nothing to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.variants.checks.facts import Arm, Measured, ModelFacts
from orchestrator.variants.checks.finding import Finding
from orchestrator.variants.checks.weights import weight_findings
from orchestrator.variants.denormal_pairs import AS_IS, DENORMAL_AS_ZERO, FLUSHED, measure
from orchestrator.variants.facts_of_model import facts_of
from orchestrator.variants.inspect import inspect_model
from tests.unit.variants import check_nets, nets


def effect(measured: Measured, folder: Path) -> Finding:
    path = nets.save(check_nets.plain(), folder / "net.onnx")
    from dataclasses import replace

    facts: ModelFacts = replace(facts_of(path, {}), measured=measured)
    (found,) = [one for one in weight_findings(facts) if one.id == "denormal-effect"]
    return found


def test_each_setting_is_measured_in_every_round(tmp_path: Path) -> None:
    path = nets.save(check_nets.with_weights(1e-40, 1e-41), tmp_path / "net.onnx")
    found = measure(path, inspect_model(path), (), rounds=3)
    assert not found.problem
    assert [arm.name for arm in found.arms] == [AS_IS, DENORMAL_AS_ZERO, FLUSHED]
    assert found.rounds == 3
    assert found.runs_per_round >= 1
    for arm in found.arms:
        assert 0 < arm.low_s <= arm.median_s <= arm.high_s
        assert 0 < arm.ratio_low <= arm.ratio <= arm.ratio_high
    assert found.arms[0].ratio_low == found.arms[0].ratio_high == 1.0


def test_open_dimensions_are_measured_with_their_numbers(tmp_path: Path) -> None:
    path = nets.save(check_nets.chain("Relu", shape=("n", 3, 8, 8)), tmp_path / "net.onnx")
    assert measure(path, inspect_model(path), (("n", 2),), rounds=2).problem == ""
    assert "dynamic dimension n" in measure(path, inspect_model(path), (), rounds=2).problem


def test_without_a_subnormal_weight_there_is_nothing_to_flush(tmp_path: Path) -> None:
    path = nets.save(check_nets.plain(), tmp_path / "net.onnx")
    found = measure(path, inspect_model(path), (), rounds=2)
    assert [arm.name for arm in found.arms] == [AS_IS, DENORMAL_AS_ZERO]


def test_external_weights_come_inside_when_they_are_flushed(tmp_path: Path) -> None:
    path = nets.save_external(check_nets.with_weights(1e-40), tmp_path / "net.onnx")
    found = measure(path, inspect_model(path), (), rounds=2)
    assert not found.problem
    assert len(found.arms) == 3


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.99, 1.01, "no effect that stands out"), (0.2, 0.3, "faster"), (1.1, 1.2, "slower"), (0.5, 1.5, "no effect")],
)
def test_an_effect_must_stand_out_of_its_spread(low: float, high: float, words: str, tmp_path: Path) -> None:
    def arm(name: str, low: float, high: float) -> Arm:
        middle = (low + high) / 2
        return Arm(
            name=name, median_s=middle, low_s=low, high_s=high, ratio=middle, ratio_low=low, ratio_high=high
        )  # fmt: skip

    arms = (arm(AS_IS, 1.0, 1.0), arm(DENORMAL_AS_ZERO, low, high))
    found = effect(Measured(machine="x86_64", rounds=5, runs_per_round=2, arms=arms), tmp_path)
    assert f"{DENORMAL_AS_ZERO}: {words}" in found.reason
    assert f"({low:.2f} to {high:.2f})" in found.reason
    assert "x86 only" in found.remedy


def test_a_large_effect_keeps_its_digits(tmp_path: Path) -> None:
    base = Arm(name=AS_IS, median_s=2, low_s=1.9, high_s=2.1, ratio=1, ratio_low=1, ratio_high=1)
    arm = Arm(name=FLUSHED, median_s=14e-3, low_s=12e-3, high_s=20e-3, ratio=71e-4, ratio_low=6e-3, ratio_high=1e-2)
    found = effect(Measured(machine="x86_64", rounds=15, runs_per_round=1, arms=(base, arm)), tmp_path)
    assert "weights flushed 14.000 ms (12.000 to 20.000), 0.0071 times (0.006 to 0.01)" in found.reason
    assert "15 rounds of 1 run, one thread" in found.reason


def test_what_could_not_be_measured_is_told(tmp_path: Path) -> None:
    assert "no word" in effect(Measured(machine="x86_64", problem="no word from it"), tmp_path).reason

"""The experiment of the speed table on a few phones: that it measures what it says, not how well we do."""

import math

import pytest

from android_runner.validity import Limits
from android_runner.virtual.heat.scenario import load_scenario
from android_runner.virtual.heat.simulated import draw
from benchmarks.known_truth import JUDGED, Leg, error_row, most_by_chance, noisy_run, one_phone
from benchmarks.simulated_farm import RATIOS, Asked, OurFarm, Policy, plain_loop, wait_at_gate


@pytest.fixture(scope="module")
def drift() -> Leg:
    leg = Leg()
    for seed in range(6):
        told = one_phone("drift", seed)
        leg.seen += told.seen
        leg.rounds.append(told.rounds)
        leg.invalid.append(told.invalid)
        leg.waited_s.append(told.waited_s)
    return leg


def test_a_phone_is_the_same_again_for_the_same_seed() -> None:
    assert one_phone("bursts", 3) == one_phone("bursts", 3)


def test_drift_fools_the_plain_loop_and_not_the_rounds(drift: Leg) -> None:
    assert len(drift.seen) == 6 * len(JUDGED)
    row = error_row("drift", drift, 1 / 3)
    assert row.met, row.lines()
    assert "plain loop" in row.detail


def test_a_hot_phone_has_attempts_rejected(drift: Leg) -> None:
    assert max(drift.invalid) > 0.1


def test_both_have_the_same_time() -> None:
    kind = load_scenario("quiet")
    ours, plain = draw(kind, 1), draw(kind, 1)
    told = OurFarm(ours, 1, Policy(budget_s=600.0)).run()
    plain_loop(plain, 600.0)
    assert told.took_s <= 600.0
    assert plain.now_s <= 600.0
    assert min(map(len, told.valid.values())) >= 10


def test_a_noise_free_case_comes_out_as_it_is() -> None:
    asked = Asked(RATIOS, cvs=dict.fromkeys(RATIOS, 1e-9))
    told = OurFarm(draw(load_scenario("quiet"), 1), 1, Policy(precision=0.01, rounds=9), asked).run()
    for case, ratio in RATIOS.items():
        assert told.valid[case] == {round_: pytest.approx(0.02 * ratio) for round_ in range(1, 7)}


def test_the_gate_waits_for_others_and_for_heat_but_not_for_ever() -> None:
    phone = draw(load_scenario("drift"), 1)
    phone.run(900.0)
    phone.rest(400.0)  # the battery follows the chip, and gets warmer for a while yet
    warm_c = phone.vitals().battery_c
    assert warm_c is not None
    assert wait_at_gate(phone, Limits(max_battery_c=None, max_load=None)).waited_s == 0.0
    assert wait_at_gate(phone, Limits(max_battery_c=warm_c - 1.0, max_load=None)).waited_s > 0.0
    assert phone.vitals().battery_c < warm_c
    hopeless = Limits(max_battery_c=-20.0, max_load=None, flat_c=0.0, gate_timeout_s=120)
    assert wait_at_gate(phone, hopeless).waited_s == pytest.approx(120.0, abs=2.1)


def test_cases_of_their_own_noise_end_at_their_own_time() -> None:
    cost = noisy_run(0.05, 1)
    assert 6 * 24 <= cost.ours < 2 * cost.fixed


def test_the_bound_is_where_one_in_a_hundred_lies_above() -> None:
    assert most_by_chance(0.05, 8000) == pytest.approx(0.05 + 2.326 * math.sqrt(0.05 * 0.95 / 8000))

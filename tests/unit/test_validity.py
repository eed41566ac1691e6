"""Verdicts on attempts: each rule by itself, what is not offered, and that the verdict is the worst finding's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.facts import ProcessFacts, Vitals
from android_runner.residency import residency_loss
from android_runner.validity import Limits, Reason, Standing, Validity, judge_validity, load_by_others

BIG, LITTLE = 4, 0
QUIET = Vitals(
    uptime_s=100.0,
    boot_id="b",
    battery_level=80,
    battery_c=30.0,
    thermal_status=0,
    zones_c={"cpu": 40.0, "skin": 31.0},
    current_freq_khz=(600_000, 2_000_000),
    limit_khz={LITTLE: 1_000_000, BIG: 2_000_000},
    residency_s={LITTLE: ((500_000, 50.0), (1_000_000, 50.0)), BIG: ((1_000_000, 60.0), (2_000_000, 40.0))},
    load_1m=0.5,
    running=1,
    screen_on=True,
    doze="ACTIVE",
)
PLACED = ProcessFacts(cpuset="/", allowed_cpus=(0, 4), online_cpus=(0, 4), nice=0)


def later(seconds: float = 10.0, *, big: float = 1.0, little: float = 0.0) -> Vitals:
    """`seconds` after QUIET, with shares of the two clusters' time at their top clocks."""
    low, high = (seconds * (1 - big), seconds * big), (seconds * (1 - little), seconds * little)
    return replace(
        QUIET,
        uptime_s=100.0 + seconds,
        residency_s={
            LITTLE: ((500_000, 50.0 + high[0]), (1_000_000, 50.0 + high[1])),
            BIG: ((1_000_000, 60.0 + low[0]), (2_000_000, 40.0 + low[1])),
        },
    )


def verdict(before: Vitals | None, after: Vitals | None, **more: object) -> Validity:
    return judge_validity(before, after, PLACED, replace(Limits(), **more))  # type: ignore[arg-type]


def test_a_quiet_trial_is_valid() -> None:
    assert verdict(QUIET, later()) == Validity(standing=Standing.VALID)


@pytest.mark.parametrize(
    ("change", "reason", "standing"),
    [
        ({"boot_id": "c"}, Reason.REBOOTED, Standing.INVALID),
        ({"uptime_s": 3.0, "residency_s": {}}, Reason.REBOOTED, Standing.INVALID),
        ({"limit_khz": {LITTLE: 1_000_000, BIG: 1_500_000}}, Reason.CLOCKS_CAPPED, Standing.INVALID),
        ({"thermal_status": 2}, Reason.STATUS_HIGH, Standing.INVALID),
        ({"thermal_status": 1}, Reason.STATUS_RISEN, Standing.SUSPECT),
        ({"battery_c": 45.0}, Reason.BATTERY_HOT, Standing.INVALID),
        ({"battery_c": 33.5}, Reason.BATTERY_ROSE, Standing.INVALID),
        ({"battery_level": 29}, Reason.BATTERY_LOW, Standing.INVALID),
        ({"running": 6, "load_1m": 5.0}, Reason.BUSY, Standing.SUSPECT),
        ({"screen_on": False}, Reason.SCREEN_CHANGED, Standing.INVALID),
        ({"doze": "IDLE"}, Reason.DOZE_CHANGED, Standing.INVALID),
        ({"boot_id": None}, Reason.NO_BOOT_ID, Standing.SUSPECT),
        ({"thermal_status": None, "zones_c": {}}, Reason.NO_HEAT, Standing.SUSPECT),
        ({"battery_c": None}, Reason.NO_BATTERY_TEMPERATURE, Standing.SUSPECT),
        ({"residency_s": {}, "current_freq_khz": (1_200_000,)}, Reason.CLOCKS_LOW, Standing.SUSPECT),
        ({"residency_s": {}, "current_freq_khz": ()}, Reason.NO_CLOCKS, Standing.SUSPECT),
    ],
)
def test_each_rule_tells_its_own_reason(change: dict[str, object], reason: Reason, standing: Standing) -> None:
    given_ = verdict(QUIET, replace(later(), **change))  # type: ignore[arg-type]
    assert reason in given_.reasons
    assert given_.standing is standing
    assert len(given_.details) == len(given_.reasons)


def test_what_neither_snapshot_offers_is_suspect_each_under_its_own_reason() -> None:
    nothing = verdict(Vitals(), Vitals())
    assert nothing.standing is Standing.SUSPECT
    assert nothing.reasons == (
        Reason.NO_BOOT_ID,
        Reason.NO_CLOCKS,
        Reason.NO_HEAT,
        Reason.NO_BATTERY_TEMPERATURE,
        Reason.NO_BATTERY_LEVEL,
        Reason.NO_LOAD,
    )
    for before, after in ((None, None), (None, QUIET), (QUIET, None)):
        assert verdict(before, after).reasons == (Reason.NO_VITALS,)


def test_a_rule_that_is_off_says_nothing() -> None:
    off = Limits(
        max_battery_c=None,
        min_battery_level=None,
        max_load=None,
        max_status=None,
        max_residency_loss=None,
        max_rise_c=None,
    )
    bare = Vitals(boot_id="b")
    assert judge_validity(bare, bare, None, off) == Validity(standing=Standing.VALID)


def test_loss_of_residency_is_that_of_the_cluster_that_worked() -> None:
    assert residency_loss(QUIET, later(big=1.0, little=0.0)) == 0.0
    assert residency_loss(QUIET, later(big=0.5)) == pytest.approx(0.25)
    assert Reason.RESIDENCY_LOST in verdict(QUIET, later(big=0.5)).reasons
    assert verdict(QUIET, later(big=0.8)).standing is Standing.VALID, "a tenth is within the limit"


def test_with_a_mask_only_its_clusters_count() -> None:
    after = later(big=1.0, little=0.0)
    assert residency_loss(QUIET, after, 0b1) == pytest.approx(0.5)
    assert residency_loss(QUIET, after, 0b11110000) == 0.0
    given_ = judge_validity(QUIET, after, replace(PLACED, allowed_cpus=(0,)), Limits(), cpu_mask=1)
    assert given_.reasons == (Reason.RESIDENCY_LOST,)


def test_counters_that_lie_or_run_backwards_are_not_believed() -> None:
    stuck = replace(later(), residency_s=QUIET.residency_s)
    backwards = replace(later(), residency_s={BIG: ((1_000_000, 1.0), (2_000_000, 70.0))})
    for after in (stuck, backwards):
        assert residency_loss(QUIET, after) is None
        assert Reason.CLOCKS_DOUBTFUL in verdict(QUIET, after).reasons


def test_cores_that_are_not_those_asked_for() -> None:
    smaller = judge_validity(QUIET, later(), replace(PLACED, allowed_cpus=(4,)), Limits(), cpu_mask=0b110000)
    assert (smaller.standing, smaller.reasons) == (Standing.INVALID, (Reason.CPUS_NOT_AS_ASKED,))
    unread = judge_validity(QUIET, later(), None, Limits(), cpu_mask=0b110000)
    assert (unread.standing, unread.reasons) == (Standing.SUSPECT, (Reason.NO_AFFINITY,))
    withheld = judge_validity(QUIET, later(), replace(PLACED, cpuset="/background", allowed_cpus=(0,)), Limits())
    assert (withheld.standing, withheld.reasons) == (Standing.SUSPECT, (Reason.CPUS_WITHHELD,))
    demoted = judge_validity(QUIET, later(), replace(PLACED, nice=10), Limits())
    assert demoted.reasons == (Reason.DEMOTED,)


def test_the_load_by_others_needs_a_moment_and_a_minute() -> None:
    assert load_by_others(Vitals()) is None
    assert load_by_others(Vitals(load_1m=7.0)) == 7.0
    assert load_by_others(Vitals(running=9)) == 8.0
    assert load_by_others(Vitals(running=1, load_1m=7.0)) == 0.0, "our own last trial is in the mean"
    busy = {"running": 6, "load_1m": 5.0}
    both = verdict(replace(QUIET, **busy), replace(later(), **busy))  # type: ignore[arg-type]
    assert (both.standing, both.reasons) == (Standing.INVALID, (Reason.BUSY,))


def test_a_warm_battery_within_the_rise_is_a_remark() -> None:
    warm = verdict(replace(QUIET, battery_c=36.5), replace(later(), battery_c=38.0))
    assert (warm.standing, warm.reasons) == (Standing.SUSPECT, (Reason.BATTERY_WARM,))


def test_the_zone_limit_looks_at_the_start() -> None:
    hot = verdict(QUIET, later(), max_zone_c=35.0)
    assert (hot.standing, hot.reasons) == (Standing.SUSPECT, (Reason.ZONE_HOT,))


numbers = st.floats(min_value=0, max_value=1e6)
counters = st.dictionaries(
    st.integers(0, 8),
    st.lists(st.tuples(st.integers(0, 10**7), numbers), max_size=4).map(tuple),
    max_size=3,
)
anything = st.builds(
    Vitals,
    uptime_s=st.none() | numbers,
    boot_id=st.none() | st.sampled_from("ab"),
    battery_level=st.none() | st.integers(0, 100),
    battery_c=st.none() | st.floats(-60, 200),
    thermal_status=st.none() | st.integers(0, 6),
    current_freq_khz=st.lists(st.integers(0, 10**9), max_size=3).map(tuple),
    limit_khz=st.dictionaries(st.integers(0, 8), st.integers(0, 10**9), max_size=3),
    residency_s=counters,
    load_1m=st.none() | numbers,
    running=st.none() | st.integers(0, 100),
)


@given(anything, anything, st.none() | st.integers(1, 2**10))
def test_any_pair_of_snapshots_gets_a_verdict_that_fits_its_reasons(a: Vitals, b: Vitals, mask: int | None) -> None:
    given_ = judge_validity(a, b, None, Limits(), cpu_mask=mask)
    assert len(given_.details) == len(given_.reasons)
    assert (given_.standing is Standing.VALID) == (given_.reasons == ())
    loss = residency_loss(a, b, mask)
    assert loss is None or 0.0 <= loss <= 1.0


def test_with_a_mask_only_its_samples_count() -> None:
    before = replace(QUIET, residency_s={}, current_freq_khz=(1_000_000, 2_000_000))
    after = replace(later(), residency_s={}, current_freq_khz=(500_000, 2_000_000))
    little = judge_validity(before, after, replace(PLACED, allowed_cpus=(0,)), Limits(), cpu_mask=1)
    assert little.reasons == (Reason.CLOCKS_LOW,)
    assert "50%" in little.details[0]
    assert verdict(before, after).standing is Standing.VALID, "the big cluster is at its top clock"


@pytest.mark.parametrize(
    ("before", "after", "standing"),
    [
        ({}, {}, Standing.VALID),
        (None, {"sh 9@1": 9.0}, Standing.VALID),
        ({"sh 9@1": 3.0}, {"sh 9@1": 3.0}, Standing.SUSPECT),
        ({"sh 9@1": 3.0}, {}, Standing.SUSPECT),
        ({}, {"sh 9@1": 0.5}, Standing.SUSPECT),
        ({}, {"sh 9@1": 0.7}, Standing.INVALID),
        ({"sh 9@1": 3.0}, {"sh 9@1": 3.4, "top 10@2": 0.3}, Standing.INVALID),
    ],
)
def test_somebodys_shell_is_said_and_spoils_what_it_computed_beside(
    before: dict[str, float] | None, after: dict[str, float] | None, standing: Standing
) -> None:
    """Ten seconds: a tenth of a second and five per cent of it are let pass."""
    found = verdict(replace(QUIET, shells=before), replace(later(), shells=after))
    assert found.standing is standing
    assert found.reasons == (() if standing is Standing.VALID else (Reason.SHELL,))
    assert all("sh 9" in detail and "@" not in detail for detail in found.details)

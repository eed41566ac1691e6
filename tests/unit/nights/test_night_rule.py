"""The nightly's rule on series with a known course."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from night_series import again, flat, night, nights, step

from orchestrator.nights.nouns import CaseNight, Judged, Verdict
from orchestrator.nights.rule import judge, judge_each, nights_of


def words(given_nights: list[CaseNight]) -> list[Verdict]:
    return [one.verdict for one in judge_each(given_nights)]


def test_a_week_makes_a_base_and_a_quiet_series_stays_the_same() -> None:
    told = judge_each(nights(flat(30)))
    assert [one.verdict for one in told] == [Verdict.INSUFFICIENT] * 7 + [Verdict.SAME] * 23
    assert told[2].reason == "2 of the 7 nights that make a base"
    assert (told[2].nights, told[2].change, told[2].p) == (3, None, None)
    last = told[-1]
    assert last.low is not None
    assert last.change is not None
    assert last.high is not None
    assert last.low < last.change < last.high
    assert last.threshold is not None
    assert 1.01 <= last.threshold < 1.03


def test_a_step_in_the_third_night_is_insufficient_and_in_the_ninth_suspected() -> None:
    assert judge(nights([0, 0, step(8)])).verdict is Verdict.INSUFFICIENT
    told = judge(nights([*flat(8), step(8)]))
    assert told.verdict is Verdict.SUSPECTED
    assert (told.last_good, told.first_bad) == ("run-7", "run-8")
    assert told.change == pytest.approx(1.08, abs=0.01)
    assert told.p is not None
    assert told.p < 0.01


def test_asked_again_and_slow_again_it_has_regressed_and_stays_so_until_the_old_level_is_back() -> None:
    history = nights([*flat(8), step(8)])
    history.append(again(history[-1], step(8)))
    told = judge(history)
    assert (told.verdict, told.reason) == (Verdict.REGRESSED, "asked again, it was slow again")
    assert (told.last_good, told.first_bad, told.nights) == ("run-7", "run-8", 9)
    history += nights([step(8)] * 3, first=9)
    later = judge(history)
    assert (later.verdict, later.reason) == (Verdict.REGRESSED, f"since {told.night}")
    assert (later.last_good, later.first_bad) == ("run-7", "run-8")
    assert later.change == pytest.approx(1.08, abs=0.01)
    history += nights([0], first=12)
    assert judge(history).verdict is Verdict.RECOVERED
    history += nights([0], first=13)
    assert judge(history).verdict is Verdict.SAME


def test_asked_again_and_well_it_was_a_bad_hour() -> None:
    history = nights([*flat(12), step(8)])
    history.append(again(history[-1], 0.0))
    told = judge(history)
    assert (told.verdict, told.reason) == (Verdict.SAME, "asked again, it was not slow")
    assert words([*history, *nights(flat(5), first=13)])[-5:] == [Verdict.SAME] * 5


def test_the_next_night_confirms_where_nobody_asked_again() -> None:
    told = judge_each(nights([*flat(10), step(8), step(8)]))
    assert [one.verdict for one in told[-2:]] == [Verdict.SUSPECTED, Verdict.REGRESSED]
    assert told[-1].reason == "two nights in a row"
    assert (told[-1].last_good, told[-1].first_bad) == ("run-9", "run-10")


def test_a_second_step_is_told_of_its_own() -> None:
    told = judge_each(nights([*flat(10), *[step(8)] * 5, *[step(20)] * 3]))
    assert [one.verdict for one in told[11:]] == [Verdict.REGRESSED] * 7
    assert told[14].first_bad == "run-10"
    assert told[-1].first_bad == "run-15"
    assert told[-1].change == pytest.approx(1.2, abs=0.02)


def test_faster_for_two_nights_is_improved_and_a_new_base() -> None:
    told = judge_each(nights([*flat(10), *[step(-10)] * 4, 0.0, 0.0]))
    assert [one.verdict for one in told[10:14]] == [Verdict.SAME, Verdict.IMPROVED, Verdict.SAME, Verdict.SAME]
    assert [one.verdict for one in told[14:]] == [Verdict.SUSPECTED, Verdict.REGRESSED]


def test_another_system_makes_a_new_base_and_no_alarm() -> None:
    history = nights(flat(10)) + nights([step(15)] * 9, first=10, fingerprint="os2")
    told = judge_each(history)
    assert [one.verdict for one in told[10:]] == [
        Verdict.REBASED,
        *[Verdict.INSUFFICIENT] * 6,
        Verdict.SAME,
        Verdict.SAME,
    ]
    assert told[10].reason == "another system: a new base"
    assert told[10].nights == 1


def test_held_clocks_make_a_new_base() -> None:
    history = nights(flat(10), tuned=False) + nights([step(-15)], first=10, tuned=True)
    assert judge(history).verdict is Verdict.REBASED
    assert judge(history).reason == "its clocks are held now: a new base"


@pytest.mark.parametrize("what", ["binary_digest", "model_digest", "converter", "settings"])
def test_what_a_nightly_is_to_catch_makes_no_new_base(what: str) -> None:
    history = nights(flat(10)) + nights([step(8)] * 2, first=10, **{what: "new"})
    assert judge(history).verdict is Verdict.REGRESSED


def with_canary(history: list[CaseNight], canaries: list[float]) -> list[CaseNight]:
    made = zip(history, canaries, strict=True)
    return [
        replace(one, circumstances=replace(one.circumstances, canary_p50_s=0.001 * (1 + canary)))
        for one, canary in made
    ]


def test_what_the_canary_shares_is_the_phones() -> None:
    quiet = [0.001, -0.001, 0.0, 0.002, -0.002] * 4
    history = with_canary(nights([*flat(12), *[step(8)] * 3]), [*quiet[:12], 0.08, 0.079, 0.081])
    told = judge_each(history)
    assert [one.verdict for one in told[12:]] == [Verdict.SAME] * 3
    assert "so is the phone" in told[12].reason
    shared_in_part = with_canary(nights([*flat(12), *[step(20)] * 3]), [*quiet[:12], 0.08, 0.079, 0.081])
    assert judge(shared_in_part).verdict is Verdict.REGRESSED
    assert judge(shared_in_part).change == pytest.approx(1.2 / 1.08, abs=0.02)


def test_a_base_of_nights_when_the_phone_was_slow_begins_anew() -> None:
    history = with_canary(nights([*[step(9)] * 4, *flat(9)]), [*[0.09] * 4, *[0.0] * 9])
    told = judge_each(history)
    assert told[4].reason == "its phone was slow so far, as the canary says now: the base begins anew"
    assert [one.verdict for one in told] == [Verdict.INSUFFICIENT] * 11 + [Verdict.SAME] * 2
    assert told[-1].threshold is not None
    assert told[-1].threshold < 1.05


def test_a_phone_that_is_slow_from_its_second_night_on_tells_nothing_yet() -> None:
    history = with_canary(nights([0.0, *[step(9)] * 11]), [0.0, *[0.09] * 11])
    told = judge(history)
    assert (told.verdict, told.reason) == (Verdict.INSUFFICIENT, "so far its phone was slow in nearly all nights")


def test_a_new_binary_that_slows_the_canary_too_is_no_excuse() -> None:
    quiet = [0.001, -0.001, 0.0, 0.002, -0.002] * 4
    history = nights(flat(12)) + nights([step(8)] * 3, first=12, binary_digest="b2")
    told = judge_each(with_canary(history, [*quiet[:12], 0.08, 0.08, 0.08]))
    assert [one.verdict for one in told[12:]] == [Verdict.SUSPECTED, Verdict.REGRESSED, Verdict.REGRESSED]


def test_a_night_without_figures_is_insufficient_and_changes_nothing() -> None:
    nan = float("nan")
    told = judge_each(nights([*flat(10), nan, step(8), nan, step(8), nan]))
    assert [one.verdict for one in told[10:]] == [
        Verdict.INSUFFICIENT,
        Verdict.SUSPECTED,
        Verdict.INSUFFICIENT,
        Verdict.REGRESSED,
        Verdict.INSUFFICIENT,
    ]
    assert told[10].reason == "no figures: failed: crashed"
    assert told[-1].reason == f"no figures: failed: crashed; slower since {told[11].night}"


def test_a_series_noise_raises_its_own_threshold() -> None:
    loud = [0.03 * one for one in (1.0, 0.8, -1.2, -0.3, 0.4, -1.0, 0.9, 0.2, -0.8, -0.9, 0.6, 0.7)] * 2
    told = judge_each(nights([*loud, step(5), step(5)]))
    assert [one.verdict for one in told[7:]] == [Verdict.SAME] * 19
    assert told[-1].threshold is not None
    assert told[-1].threshold > 1.06


def test_a_slow_drift_is_no_step() -> None:
    assert Verdict.REGRESSED not in words(nights([0.0005 * at for at in range(90)]))


def test_confirming_runs_belong_to_their_night() -> None:
    history = nights(flat(3))
    lost = replace(again(history[1], 0.0), confirms="run-of-another-home")
    found = nights_of([history[0], history[1], again(history[1], 0.0), lost, history[2]])
    assert [(one.own.run_id, len(one.again)) for one in found] == [("run-0", 0), ("run-1", 2), ("run-2", 0)]
    with pytest.raises(ValueError, match="without nights"):
        judge([])


LEVELS = st.lists(
    st.one_of(st.floats(-20, 20), st.just(float("nan")), st.sampled_from([0.0, 0.0, 0.0, 0.08, 0.5])), max_size=40
)


SYSTEMS = st.lists(st.sampled_from(["os1", "os1", "os1", "os2", ""]), min_size=40, max_size=40)
CANARIES = st.lists(st.sampled_from([None, 0.001, 0.00101, 0.0011, 0.002, 0.0]), min_size=40, max_size=40)


@settings(max_examples=150, deadline=None)
@given(LEVELS, SYSTEMS, CANARIES)
def test_any_history_has_a_word_for_each_night_and_later_nights_change_none(
    levels: list[float], systems: list[str], canaries: list[float | None]
) -> None:
    history = [night(at, level, fingerprint=systems[at], canary_p50_s=canaries[at]) for at, level in enumerate(levels)]
    told = judge_each(history)
    assert len(told) == len(history)
    for at, one in enumerate(told):
        assert isinstance(one, Judged)
        if one.change is not None:
            assert one.low is not None
            assert one.high is not None
            assert one.low <= one.change <= one.high
        if at % 7 == 0:
            assert judge(history[: at + 1]) == one

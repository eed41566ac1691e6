"""The pure part of preparing: which steps a phone gets, what an undo list asks for, values as the phone tells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.preparing.knobs import Kind, Knob, change_command, knob_from_text, same, setting, value_of
from android_runner.preparing.steps import (
    About,
    Standing,
    Step,
    StepName,
    StepReport,
    fixed_clocks,
    reached_by_network,
    steps_for,
)
from android_runner.preparing.undo import Todo, UndoEntry, UndoList, merged, todo, undo_from_text, undo_to_text

BRIGHTNESS = setting("system", "screen_brightness")
CLOCKS = (
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq:1800000\n"
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_frequencies:300000 1200000 1500000 1700000 1800000 \n"
    "/sys/devices/system/cpu/cpufreq/policy4/cpuinfo_max_freq:2400000\n"
    "/sys/devices/system/cpu/cpufreq/policy6/cpuinfo_max_freq:-5\n"
)


def about(**more: object) -> About:
    return About(**{"api_level": 33, "no_root": "", "by_network": False, "clocks": {"policy0": 1}, **more})  # type: ignore[arg-type]


def step(name: StepName, of: About) -> Step | StepReport:
    (only,) = steps_for(of, [name])
    return only


def undo(*entries: UndoEntry) -> UndoList:
    return UndoList(phone="p", run_id="r", made_at="2026-11-21T10:00:00+00:00", entries=entries)


def entry(before: str = "102", ours: str = "50", *, confirmed: bool = False, knob: Knob = BRIGHTNESS) -> UndoEntry:
    return UndoEntry(step=StepName.SCREEN, knob=knob, before=before, ours=ours, confirmed=confirmed)


def test_steps_come_in_their_own_order_and_only_those_wanted() -> None:
    found = steps_for(about(), [StepName.DOZE, StepName.AWAKE])
    assert [one.name for one in found if isinstance(one, Step)] == [StepName.AWAKE, StepName.DOZE]


@pytest.mark.parametrize(
    ("of", "kind", "words"),
    [
        (about(by_network=True), None, "by network"),
        (about(by_network=True, api_level=29), None, "by network"),
        (about(api_level=29, no_root="this phone is not rooted"), None, "needs root before API 30"),
        (about(api_level=29), Kind.AIRPLANE_AS_ROOT, ""),
        (about(api_level=30, no_root="no"), Kind.AIRPLANE, ""),
    ],
)
def test_airplane_mode_is_never_for_the_network_and_needs_root_before_api_30(
    of: About, kind: Kind | None, words: str
) -> None:
    found = step(StepName.AIRPLANE, of)
    if kind is None:
        assert isinstance(found, StepReport)
        assert found.standing is Standing.NOT_OFFERED
        assert words in found.words
    else:
        assert isinstance(found, Step)
        assert [knob.kind for knob, _ in found.targets] == [kind]


@pytest.mark.parametrize(
    ("serial", "network"),
    [
        ("R58N30ABCDE", False), ("emulator-5554", False), ("192.168.1.7:5555", True), ("[fe80::1]:5555", True),
        ("adb-R58N30-x1._adb-tls-connect._tcp", True), ("adb-R58N30-x1._adb-tls-connect._tcp.", True),
    ],
)  # fmt: skip
def test_a_network_is_told_by_the_serial(serial: str, network: bool) -> None:
    assert reached_by_network(serial) is network


def test_clocks_stay_below_seven_eighths_and_need_root() -> None:
    assert fixed_clocks(CLOCKS) == {"policy0": 1500000, "policy4": 2100000}
    assert fixed_clocks("/a/policy0/cpuinfo_max_freq:100\n/a/policy0/scaling_available_frequencies:99 100\n") == {
        "policy0": 99
    }
    assert isinstance(step(StepName.CLOCKS, about(no_root="this phone is not rooted")), StepReport)
    found = step(StepName.CLOCKS, about(clocks={"policy0": 7}))
    assert isinstance(found, Step)
    assert [knob.name for knob, _ in found.targets] == ["policy0 min", "policy0 max"], "undone backwards"


@pytest.mark.parametrize(
    ("of", "now", "what"),
    [
        (entry(), "102", Todo.NOTHING),
        (entry(), "102.0", Todo.NOTHING),
        (entry(), "50", Todo.PUT_BACK),
        (entry(), "51", Todo.PUT_BACK_UNSURE),
        (entry(confirmed=True), "50", Todo.PUT_BACK),
        (entry(confirmed=True), "51", Todo.LEAVE),
        (entry(before="null", confirmed=True), "null", Todo.NOTHING),
        (entry(), None, Todo.UNKNOWN),
    ],
)
def test_what_an_entry_asks_for(of: UndoEntry, now: str | None, what: Todo) -> None:
    assert todo(of, now) is what


def test_an_older_list_knows_the_true_value_before() -> None:
    other = setting("system", "screen_off_timeout")
    old = undo(entry(before="10", ours="50", confirmed=True), entry(before="1", knob=other))
    new = merged(old, undo(entry(before="50", ours="60")))
    assert {one.knob: (one.before, one.ours) for one in new.entries} == {BRIGHTNESS: ("10", "60"), other: ("1", "50")}
    assert new.told(BRIGHTNESS, "10").entries == (entry(before="1", knob=other),)
    assert new.told(BRIGHTNESS, "61").entries[-1] == entry(before="10", ours="61", confirmed=True)


@given(st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_a_list_survives_its_text(before: str, ours: str, confirmed: bool) -> None:
    made = undo(entry(before, ours, confirmed=confirmed), entry(knob=Knob(Kind.CLOCK, "policy0/scaling_min_freq")))
    assert undo_from_text(undo_to_text(made)) == made
    assert undo_from_text(undo_to_text(undo())) == undo()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2, "phone": "p", "run": "r", "made_at": "x", "entries": []}',
     '{"version": 1, "phone": 3, "run": "r", "made_at": "x", "entries": []}',
     '{"version": 1, "phone": "p", "run": "r", "made_at": "", "entries": [["screen", "clock ../x", "1", "2", true]]}'],
)  # fmt: skip
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"undo list|version|Expecting|not a clock"):
        undo_from_text(text)


@pytest.mark.parametrize("where", ["global a;reboot", "nowhere key", "global", "system ../x", ""])
def test_a_knob_is_only_what_its_kind_has(where: str) -> None:
    with pytest.raises(ValueError, match="not a setting"):
        knob_from_text(f"setting {where}")


def test_a_phones_value_is_only_ever_a_word_of_shell() -> None:
    hostile = "1; reboot 'x' $(id)"
    assert (
        change_command(BRIGHTNESS, hostile) == "settings put system screen_brightness '1; reboot '\"'\"'x'\"'\"' $(id)'"
    )
    assert change_command(BRIGHTNESS, "null") == "settings delete system screen_brightness"
    assert value_of(BRIGHTNESS, 0, "a\nb") is None
    assert value_of(BRIGHTNESS, 0, "x" * 201) is None
    assert value_of(BRIGHTNESS, 127, "") is None
    assert value_of(Knob(Kind.CLOCK, "policy0/scaling_min_freq"), 0, "1; reboot") is None
    assert value_of(Knob(Kind.WAKEFULNESS, "screen"), 0, "mWakefulness=Dozing\n") == "Asleep"


def test_the_same_value_in_other_words() -> None:
    assert same("0", "0.0")
    assert not same("null", "0")
    assert not same(None, None)

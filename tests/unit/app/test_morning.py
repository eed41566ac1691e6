"""Nights out of a ledger to what people read of them in the morning, and which alerts stand."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from orchestrator.app.alerting import LossWatch, at_once, end_night
from orchestrator.app.morning import morning, which_night
from orchestrator.errors import UsageError
from orchestrator.home import Home
from orchestrator.nights.alerts import Alert, AlertKind
from orchestrator.nights.changes import What
from orchestrator.report.morning.message import morning_message
from orchestrator.report.morning.nouns import Digest
from orchestrator.report.morning.page import digest_html
from orchestrator.report.morning.text import digest_text
from orchestrator.report.morning.written import digest_json
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.kept_numbers import Use
from orchestrator.store.ledger import Ledger
from orchestrator.store.registered import Hold, Sighting
from tests.unit.app.lab_of_nights import B3, B4, C1, C2, MODELS, NIGHTLY, PLACES, Night, measure

NEW = "cc" * 32
SLOW = {B3: 1.08, B4: 1.08, C1: 1.08, C2: 1.08}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[Home, Ledger]]:
    ledger = Ledger.open(tmp_path)
    for phone in (B3, B4, C1, C2):
        ledger.phones.add(phone, "nina")
        ledger.phones.expect(phone, True, "nina")
        seen = Sighting(device_model="", serial=phone, where=PLACES[phone], fingerprint=f"os/{phone}")
        ledger.phones.saw(phone, seen)
    yield Home(tmp_path), ledger
    ledger.close()


def test_ten_nights_with_a_step_from_the_ninth_and_a_phone_that_dies_on_the_seventh(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    told: list[tuple[int, list[Alert], list[Alert]]] = []
    for day in range(1, 11):
        there = (B3, B4, C1, C2) if day <= 7 else (B3, C1, C2)
        slow = {"slower": SLOW, "binary": NEW} if day >= 9 else {}
        measure(ledger, Night(day=day, phones=there, dies=[B4] if day == 7 else [], **slow))
        if day == 9:
            measure(ledger, Night(day=9, phones=there, confirms="0409-lab", **slow))
        _, folded = end_night(home, ledger, NIGHTLY, f"2026-04-{day:02}")
        told.append((day, list(folded.opened), list(folded.closed)))
    assert [day for day, opened, closed in told if opened or closed] == [7, 9]
    (gone,) = told[6][1]
    assert (gone.kind, gone.members) == (AlertKind.PHONE, (B4,))
    assert "hub 1-1.2" in gone.words
    (slower,) = told[8][1]
    assert slower.kind is AlertKind.REGRESSION
    assert len(slower.members) == 6
    assert "another perf_test" in slower.words

    seventh = morning(home, ledger, NIGHTLY, "2026-04-07")
    (dead,) = seventh.died
    assert (dead.name, dead.where, dead.at[:10]) == ("B4", "hub 1-1.2", "2026-04-07")
    assert "battery 78 %" in dead.vitals
    assert [words.split("; ")[1].split(",")[0] for words in dead.tried] == [
        "wait: in vain", "reconnect: in vain", "leave to a person: ended"
    ]  # fmt: skip
    assert dead.twin is not None
    assert dead.twin.name == "B3"
    assert [(one.row, one.last_night) for one in dead.twin.figures] == [
        ("default", "2026-04-07"), ("cpu all", "2026-04-07")
    ]  # fmt: skip
    assert seventh.hands[0].missing
    assert seventh.sentence == "nothing regressed, 1 phone is missing"

    ninth = morning(home, ledger, NIGHTLY, "2026-04-09")
    assert ninth.sentence.startswith("6 cases regressed (another perf_test")
    shift = ninth.regressed[0]
    assert (shift.fresh, shift.since, shift.again_in) == (True, "2026-04-09", ("0409-lab-again",))
    assert shift.change == pytest.approx(0.08, abs=0.01)
    assert len(shift.trend.points) == 9

    tenth = morning(home, ledger, NIGHTLY, "2026-04-10")
    assert tenth.sentence == "nothing regressed, 6 cases are still slower, 1 phone is missing"
    assert [one.kind for one in tenth.standing] == [AlertKind.PHONE, AlertKind.REGRESSION]

    measure(ledger, Night(day=11, phones=(B3, C1, C2)))
    eleventh, folded = end_night(home, ledger, NIGHTLY, "2026-04-11")
    assert eleventh.sentence == "nothing regressed, 6 cases recovered, 1 phone is missing"
    assert [one.why for one in folded.closed] == ["fast again"]
    recovered = eleventh.recovered[0]
    assert (recovered.change, recovered.changes[0].what) == (None, What.BINARY)
    assert recovered.before_s is not None
    assert recovered.after_s is not None
    assert recovered.before_s > recovered.after_s * 1.05

    _shown(seventh, "B4 Pixel 8", "its twin B3")
    _shown(ninth, "another perf_test", "8.", "% slower")
    kept = {(one.number.run_id, one.number.phone) for one in ledger.kept.all() if one.why is Use.ALERTED}
    assert kept == {(run, phone) for run in ("0408-lab", "0409-lab") for phone in (B3, C1, C2)}


def _shown(found: Digest, *parts: str) -> None:
    """Text, 80 columns wide, and page show these words."""
    text, page = digest_text(found), digest_html(found)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    for words in (found.sentence, *parts):
        assert words in " ".join(text.split())
        assert words in page
    assert "<script" not in page


def test_the_twin_of_a_phone_that_is_dead_from_the_start_stands_for_all_its_cases(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2, phones=(B3, C1, C2)))
    found = morning(home, ledger, NIGHTLY, "2026-04-02")
    (dead,) = found.died
    assert dead.twin is not None
    assert [(one.row, one.last_night) for one in dead.twin.figures] == [
        ("default", "2026-04-01"), ("cpu all", "2026-04-01")
    ]  # fmt: skip
    assert dead.twin.figures[0].twin_s == pytest.approx(0.004, rel=0.01)
    assert found.not_run == ()
    alone = morning(home, ledger, NIGHTLY, "2026-04-01")
    assert alone.died == ()


def test_a_phone_without_a_twin_says_so(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2, phones=(B3, B4, C2)))
    text = digest_text(morning(home, ledger, NIGHTLY, "2026-04-02"))
    assert "no other Galaxy A54 with s5e8835 measured this night" in text


def test_a_refusal_is_news_once_and_its_end_is(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    refused = [(B3, "cpu all")]
    for day, rows in ((1, []), (2, refused), (3, refused), (4, [])):
        measure(ledger, Night(day=day, refused=rows))
    days = [morning(home, ledger, NIGHTLY, f"2026-04-0{day}") for day in (1, 2, 3, 4)]
    assert [[one.reason for one in day.not_run] for day in days] == [[], ["failed: refused"], [], []]
    assert [day.still for day in days] == [0, 0, 1, 0]
    assert [one.cases for one in days[3].runs_again] == [("mnist cpu all",)]
    assert "B3: failed: refused: mnist cpu all" in digest_text(days[3])


def test_the_same_step_on_the_third_night_is_insufficient_data_and_no_alert(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    for day in (1, 2, 3):
        measure(ledger, Night(day=day, **({"slower": SLOW, "binary": NEW} if day == 3 else {})))
        found, folded = end_night(home, ledger, NIGHTLY, f"2026-04-0{day}")
        assert folded.opened == ()
    assert found.sentence == "nothing regressed"
    assert found.insufficient == 8
    assert "8 cases with insufficient data" in digest_text(found)


def test_a_phone_in_hand_is_not_missing_and_ends_its_alert(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2, phones=(B3, B4, C1)))
    _, first = end_night(home, ledger, NIGHTLY, "2026-04-02")
    assert [one.members for one in first.opened] == [(C2,)]
    ledger.phones.hold(C2, Hold(by="nina", since=datetime(2026, 4, 3, tzinfo=UTC), why="demo"))
    measure(ledger, Night(day=3, phones=(B3, B4, C1)))
    found, second = end_night(home, ledger, NIGHTLY, "2026-04-03")
    assert [one.why for one in second.closed] == ["in hand"]
    assert found.hands == ()


def test_a_battery_that_needs_a_person_is_said_after_who_is_missing(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2, phones=(B4, C1, C2), health={C1: "Overheat"}))
    found = morning(home, ledger, NIGHTLY, "2026-04-02")
    assert [(one.name, one.missing) for one in found.hands] == [("B3", True), ("C1", False)]
    assert found.hands[1].why.startswith("battery health Overheat: take it off power")
    assert found.sentence == "nothing regressed, 1 phone is missing, 1 more needs hands"


def test_a_hub_that_goes_while_a_run_lasts_is_told_at_once_and_once(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2))
    heard: list[Alert] = []
    with LossWatch(home, NIGHTLY, "2026-04-02", "0402-lab", heard.extend, every_s=0.01):
        _waits(ledger, "0402-lab", C1)
        assert at_once(home, ledger, NIGHTLY, "2026-04-02", "0402-lab") == ()
        _waits(ledger, "0402-lab", C2)
        deadline = datetime.now(UTC).timestamp() + 20
        while not heard and datetime.now(UTC).timestamp() < deadline:
            time.sleep(0.02)
    (told,) = heard
    assert told.kind is AlertKind.HUB
    assert "hub 1-2 is gone with its 2 phones (C1, C2)" in told.words
    assert at_once(home, ledger, NIGHTLY, "2026-04-02", "0402-lab") == ()
    _, folded = end_night(home, ledger, NIGHTLY, "2026-04-02")  # they came back: every trial of theirs was measured
    assert ([one.kind for one in folded.closed], folded.opened) == ([AlertKind.HUB], ())


def _waits(ledger: Ledger, run: str, phone: str) -> None:
    ledger.incidents.add(
        IncidentRecord(
            run_id=run, phone=phone, at=datetime(2026, 4, 2, 22, 5, tzinfo=UTC), seen="not attached", rung="wait",
            result="in vain", took_s=60.0,
        )
    )  # fmt: skip


def test_which_night_is_meant(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    with pytest.raises(UsageError, match="no night is in this ledger"):
        which_night(home, ledger, "", "")
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2))
    assert which_night(home, ledger, "", "") == (NIGHTLY, "2026-04-02")
    assert which_night(home, ledger, NIGHTLY, "2026-04-01") == (NIGHTLY, "2026-04-01")
    with pytest.raises(UsageError, match="its newest: 2026-04-01, 2026-04-02"):
        which_night(home, ledger, "", "2026-05-01")
    with pytest.raises(UsageError, match="known: lab"):
        which_night(home, ledger, "lib", "")


def test_a_night_without_a_phone_says_so_and_is_one_alert(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    _kept(home, "2026-04-02", exit=4, problem="no usable device\nB3 is offline (replug it)")
    assert which_night(home, ledger, "", "") == (NIGHTLY, "2026-04-02")
    found, folded = end_night(home, ledger, NIGHTLY, "2026-04-02")
    assert found.sentence == "nothing was measured: no usable device, 4 phones are missing"
    assert [one.words for one in folded.opened] == ["4 of the lab's 4 phones are gone at once: B3, B4, C1, virtual C2"]
    assert "B3 is offline (replug it)" in digest_text(found)
    message = morning_message(found, folded)
    assert message is not None
    assert message.title == "lab, 2 Apr 2026: nothing was measured: no usable device, 4 phones are missing"


def test_a_night_that_could_not_begin_for_another_reason_blames_no_phone(lab: tuple[Home, Ledger]) -> None:
    home, ledger = lab
    measure(ledger, Night(day=1))
    _kept(home, "2026-04-02", exit=2, problem="suite.toml: no such model")
    found, folded = end_night(home, ledger, NIGHTLY, "2026-04-02")
    assert (found.hands, folded.opened) == ((), ())
    assert morning_message(found, folded) is None


def _kept(home: Home, night: str, **record: object) -> None:
    folder = home.root / "nightly" / NIGHTLY / night
    folder.mkdir(parents=True)
    (folder / "night.json").write_text(json.dumps(record))


def test_what_a_phone_says_of_itself_is_harmless(lab: tuple[Home, Ledger], monkeypatch: pytest.MonkeyPatch) -> None:
    home, ledger = lab
    monkeypatch.setitem(MODELS, C2, ("<script>alert(1)</script>\x1b[31m\u202e", "</style>"))
    measure(ledger, Night(day=1))
    measure(ledger, Night(day=2, dies=[C2]))
    found, folded = end_night(home, ledger, NIGHTLY, "2026-04-02")
    assert found.died
    message = morning_message(found, folded)
    assert message is not None
    for shown in (digest_text(found), digest_html(found), message.title + message.text):
        assert not {"\x1b", "\u202e"} & set(shown)
    assert "<script" not in digest_html(found)
    assert digest_html(found).count("</style>") == 1
    assert json.loads(digest_json(found))["died"][0]["soc"] == "</style>"

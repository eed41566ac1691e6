"""Phones of one hub that go together are the hub's incident; one that goes alone is a cable's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.farm.siblings import TOGETHER_S, HubIncident, Siblings

LAB = {"B3": "1-1.3", "B4": "1-1.4", "A1": "1-2.1", "A2": "1-2.2", "C1": "2-3", "N1": ""}


def lose(siblings: Siblings, *losses: tuple[str, float]) -> list[HubIncident]:
    told = [siblings.lost(phone, at_s) for phone, at_s in losses]
    return [one for one in told if one is not None]


def test_two_of_a_hub_within_ten_seconds_are_one_incident() -> None:
    siblings = Siblings(LAB)
    assert siblings.worth_watching()
    (incident,) = lose(siblings, ("B3", 100.0), ("B4", 100.0 + TOGETHER_S))
    assert (incident.hub, incident.phones) == ("1-1", ("B3", "B4"))
    assert [siblings.blamed(phone) for phone in ("B3", "B4", "A1")] == [True, True, False]
    assert "hub 1-1 lost 2 phones" in incident.words()


@pytest.mark.parametrize(
    "losses",
    [
        [("B3", 100.0)],
        [("B3", 100.0), ("B4", 100.1 + TOGETHER_S)],
        [("C1", 100.0), ("B3", 100.0)],
        [("N1", 100.0), ("B3", 100.0)],
        [("B3", 100.0), ("B3", 101.0)],
        [("unknown", 100.0), ("B3", 100.0)],
    ],
)
def test_what_goes_apart_is_no_hubs_doing(losses: list[tuple[str, float]]) -> None:
    siblings = Siblings(LAB)
    assert lose(siblings, *losses) == []
    assert not any(siblings.blamed(phone) for phone in LAB)


def test_an_incident_that_grows_stays_one_and_is_told_as_it_grows() -> None:
    siblings = Siblings({f"P{port}": f"1-1.{port}" for port in range(1, 5)} | {"Q": "1-4"})
    told = lose(siblings, ("P1", 1.0), ("P2", 2.0), ("P3", 3.0), ("P4", 11.0))
    assert [one.phones for one in told] == [("P1", "P2"), ("P1", "P2", "P3"), ("P1", "P2", "P3", "P4")]
    assert {(one.hub, one.first_s) for one in told} == {("1-1", 1.0)}


def test_a_hub_of_hubs_is_blamed_when_all_below_it_are_gone() -> None:
    chained = {"P1": "1-1.1.1", "P2": "1-1.1.2", "P3": "1-1.2.1", "Q": "1-3.1"}
    told = lose(Siblings(chained), ("P1", 1.0), ("P2", 1.1), ("P3", 1.2))
    assert told[-1].hub == "1-1"
    assert told[-1].phones == ("P1", "P2", "P3")


def test_two_hubs_at_once_are_two_incidents_and_a_whole_controller_is_one() -> None:
    told = lose(Siblings(LAB | {"Q": "1-4"}), ("B3", 1.0), ("B4", 1.1), ("A1", 1.2), ("A2", 1.3))
    assert {(one.hub, one.phones) for one in told} == {("1-1", ("B3", "B4")), ("1-2", ("A1", "A2"))}
    dead = lose(Siblings(LAB), ("B3", 1.0), ("B4", 1.1), ("A1", 1.2), ("A2", 1.3))
    assert (dead[-1].hub, dead[-1].phones) == ("usb1", ("A1", "A2", "B3", "B4"))
    assert "the computer's bus 1" in dead[-1].words()


def test_the_two_halves_of_a_usb3_hub_are_one_hub() -> None:
    siblings = Siblings({"fast": "2-1.3", "slow": "1-1.4", "Q": "1-3"}, {"2-1": "1-1", "1-1": "2-1"})
    (incident,) = lose(siblings, ("fast", 1.0), ("slow", 2.0))
    assert incident.hub == "1-1"


def test_back_and_gone_again_is_another_incident() -> None:
    siblings = Siblings(LAB)
    assert len(lose(siblings, ("B3", 1.0), ("B4", 1.0))) == 1
    siblings.back("B3")
    siblings.back("B4")
    assert not siblings.blamed("B3")
    (again,) = lose(siblings, ("B3", 60.0), ("B4", 61.0))
    assert again.first_s == 60.0


def test_an_incident_is_over_once_and_with_all_its_phones() -> None:
    siblings = Siblings({f"P{port}": f"1-1.{port}" for port in range(1, 5)} | {"Q": "1-4"})
    lose(siblings, ("P1", 1.0), ("P2", 2.0), ("P3", 9.0))
    assert siblings.over(9.0 + TOGETHER_S) == []
    (incident,) = siblings.over(9.1 + TOGETHER_S)
    assert incident.phones == ("P1", "P2", "P3")
    assert siblings.over(float("inf")) == []


def test_alone_there_is_nothing_to_watch() -> None:
    assert not Siblings({"B3": "1-1.3", "C1": "2-3"}).worth_watching()
    assert not Siblings({"N1": "", "N2": ""}).worth_watching()


@given(st.lists(st.tuples(st.sampled_from(sorted(LAB)), st.floats(0, 20), st.booleans()), max_size=40))
def test_an_incident_always_has_two_phones_below_its_hub(steps: list[tuple[str, float, bool]]) -> None:
    siblings, now = Siblings(LAB), 0.0
    for phone, later_s, back in steps:
        now += later_s
        if back:
            siblings.back(phone)
            continue
        incident = siblings.lost(phone, now)
        if incident is not None:
            assert len(incident.phones) >= 2
            assert phone in incident.phones
            assert siblings.blamed(phone)
            bus = incident.hub.removeprefix("usb")
            assert all(LAB[one].startswith((f"{incident.hub}.", f"{bus}-")) for one in incident.phones)


def test_another_host_s_hub_is_told_with_its_name() -> None:
    siblings = Siblings({"A": "1-1.1", "B": "1-1.2"}, host="b")
    assert siblings.lost("A", 1.0) is None
    incident = siblings.lost("B", 2.0)
    assert incident is not None
    assert incident.words().startswith("host b: hub 1-1 lost 2 phones")

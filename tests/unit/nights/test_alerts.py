from orchestrator.nights.alerts import Alert, AlertKind, Folded, Lost, Seen, Slower, case_member, fold, sudden
from orchestrator.nights.changes import Change, What
from orchestrator.nights.nouns import SeriesKey

NEW_BINARY = Change(
    what=What.BINARY, before="1", after="2", words="another perf_test", weight=0.9, cause="binary: 1 → 2"
)
NEW_ORCH = Change(what=What.ORCH, before="1", after="2", words="another orch", weight=0.2, cause="orch: 1 → 2")
LAB = {f"p{at}": f"usb:1-{at // 4 + 1}.{at % 4 + 1}" for at in range(12)}


def key(phone: str, model: str = "net") -> SeriesKey:
    return SeriesKey(phone, model, "onnx", "default")


def slower(phone: str, *changes: Change, model: str = "net") -> Slower:
    return Slower(key=key(phone, model), words=f"{phone} {model} 8 % slower", changes=changes)


def lost(*phones: str) -> list[Lost]:
    return [Lost(phone=one, name=one.upper(), where=LAB[one]) for one in phones]


def standing(folded: Folded) -> list[Alert]:
    return [one for one in folded.changed if one.stands]


def kinds(folded: Folded) -> list[AlertKind]:
    return [one.kind for one in folded.opened]


def test_cases_of_one_cause_are_one_alert():
    found = fold("n", "1", [], Seen(slower=[slower("p1", NEW_BINARY), slower("p2", NEW_BINARY), slower("p3")]))
    assert [len(one.members) for one in found.opened] == [2, 1]
    assert found.opened[0].words == "p1 net 8 % slower and 1 more: another perf_test"
    assert "nothing that is known changed" in found.opened[1].words


def test_the_cause_that_most_share_is_theirs_even_where_one_has_a_likelier_one():
    own = Change(what=What.MODEL, before="a", after="b", words="another net", weight=0.95, cause="model net: a → b")
    found = fold("n", "1", [], Seen(slower=[slower("p1", own, NEW_BINARY), slower("p2", NEW_BINARY)]))
    assert [one.cause for one in found.opened] == ["binary: 1 → 2"]


def test_an_unlikely_change_is_named_only_where_there_is_no_other():
    found = fold("n", "1", [], Seen(slower=[slower("p1", NEW_BINARY, NEW_ORCH), slower("p2", NEW_ORCH)]))
    assert [one.cause for one in found.opened] == ["binary: 1 → 2", "orch: 1 → 2"]
    assert "perhaps another orch" in found.opened[1].words


def test_an_alert_is_told_once_and_closed_when_its_last_case_is_well():
    first = fold("n", "1", [], Seen(slower=[slower("p1", NEW_BINARY), slower("p2", NEW_BINARY)]))
    second = fold(
        "n", "2", first.opened, Seen(slower=[slower("p2", NEW_BINARY)], well={case_member(key("p1")): "fast again"})
    )
    assert (second.opened, second.closed) == ((), ())
    (again,) = second.again
    assert (again.members, again.nights, again.last_night) == ((case_member(key("p2")),), 2, "2")
    third = fold("n", "3", second.again, Seen(well={case_member(key("p2")): "fast again"}))
    (closed,) = third.closed
    assert (closed.closed_night, closed.why, closed.ever) == ("3", "fast again", first.opened[0].members)


def test_a_case_that_was_not_measured_keeps_its_alert():
    first = fold("n", "1", [], Seen(slower=[slower("p1", NEW_BINARY)]))
    assert fold("n", "2", first.opened, Seen()) == Folded()


def test_the_same_night_told_again_changes_nothing():
    seen = Seen(slower=[slower("p1", NEW_BINARY)], lost=lost("p0"), lab=LAB)
    first = fold("n", "1", [], seen)
    again = fold("n", "1", first.opened, seen)
    assert (again.opened, again.again, again.closed) == ((), first.opened, ())


def test_a_case_that_follows_by_the_same_cause_joins_silently():
    first = fold("n", "1", [], Seen(slower=[slower("p1", NEW_BINARY)]))
    second = fold("n", "2", first.opened, Seen(slower=[slower("p1", NEW_BINARY), slower("p2", NEW_BINARY)]))
    assert second.opened == ()
    assert len(second.again[0].members) == 2


def test_one_phone_away_is_a_phones_alert():
    found = fold("n", "1", [], Seen(lost=lost("p0"), lab=LAB))
    assert kinds(found) == [AlertKind.PHONE]
    assert sudden(found) == ()


def test_a_whole_hub_away_is_one_alert_at_once():
    found = fold("n", "1", [], Seen(lost=lost("p0", "p1", "p2", "p3"), lab=LAB))
    assert kinds(found) == [AlertKind.HUB]
    assert "hub 1-1 is gone with its 4 phones" in found.opened[0].words
    assert sudden(found) == found.opened


def test_most_of_a_hub_is_no_hub():
    assert kinds(fold("n", "1", [], Seen(lost=lost("p0", "p1"), lab=LAB))) == [AlertKind.PHONE, AlertKind.PHONE]


def test_a_fifth_of_the_lab_is_not_more_than_a_fifth():
    ten = {phone: where for phone, where in LAB.items() if phone not in ("p10", "p11")}
    assert kinds(fold("n", "1", [], Seen(lost=lost("p0", "p4"), lab=ten))) == [AlertKind.PHONE, AlertKind.PHONE]
    assert kinds(fold("n", "1", [], Seen(lost=lost("p0", "p1", "p4"), lab=ten))) == [AlertKind.LAB]


def test_a_hub_and_a_phone_elsewhere_are_two():
    found = fold("n", "1", [], Seen(lost=lost("p0", "p1", "p2", "p3", "p5"), lab=LAB))
    assert kinds(found) == [AlertKind.HUB, AlertKind.PHONE]


def test_two_hubs_at_once_are_the_labs_alert():
    found = fold("n", "1", [], Seen(lost=lost(*(f"p{at}" for at in range(8))), lab=LAB))
    assert [one.words for one in found.opened] == [
        "8 of the lab's 12 phones are gone at once: P0, P1, P2, P3, P4, P5, P6, P7"
    ]


def test_a_hub_that_comes_back_half_opens_nothing_and_ends_with_its_last_phone():
    first = fold("n", "1", [], Seen(lost=lost("p0", "p1", "p2", "p3"), lab=LAB))
    half = fold("n", "2", first.opened, Seen(lost=lost("p0", "p1"), lab=LAB, there=LAB))
    assert (half.opened, half.again[0].members) == ((), ("p0", "p1"))
    end = fold("n", "3", standing(half), Seen(lab=LAB, there=LAB))
    assert [one.why for one in end.closed] == ["there again"]


def test_a_second_fall_of_a_closed_alert_is_told_again():
    first = fold("n", "1", [], Seen(lost=lost("p0"), lab=LAB))
    gone = fold("n", "2", first.opened, Seen(lab=LAB, there=["p0"]))
    assert gone.closed
    assert fold("n", "3", standing(gone), Seen(lost=lost("p0"), lab=LAB)).opened


def test_phones_without_a_place_are_a_labs_alert_at_most():
    nowhere = {f"v{at}": "" for at in range(4)}
    found = fold("n", "1", [], Seen(lost=[Lost(phone=one, name=one) for one in nowhere], lab=nowhere))
    assert kinds(found) == [AlertKind.LAB]


def test_a_phone_that_is_neither_there_nor_lost_keeps_its_alert_and_one_in_hand_ends_it():
    first = fold("n", "1", [], Seen(lost=lost("p0"), lab=LAB))
    assert fold("n", "2", first.opened, Seen(lab=LAB, there=["p1"])) == Folded()
    assert [one.why for one in fold("n", "3", first.opened, Seen(lab=LAB, in_hand=["p0"])).closed] == ["in hand"]

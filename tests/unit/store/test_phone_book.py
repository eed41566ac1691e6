"""The registry of phones: what was said last holds, what was ever said stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.store.ledger import Ledger
from orchestrator.store.phone_book import PhoneBook
from orchestrator.store.registered import Hold, Quarantine, RegisteredPhone, Retired, Sighting

pytestmark = pytest.mark.usefixtures("each_database")

NOW = datetime(2026, 4, 12, 2, 14, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[PhoneBook]:
    ledger = Ledger.open(tmp_path)
    yield ledger.phones
    ledger.close()


def test_a_phone_that_nobody_spoke_of_is_ready_and_not_written(book: PhoneBook) -> None:
    assert book.get("R58N") == RegisteredPhone(phone="R58N")
    assert not book.saw("R58N", Sighting(device_model="Pixel 8", serial="R58N", where="usb:1-1", fingerprint="f"))
    assert book.all() == {}


def test_what_is_said_is_kept_whole(book: PhoneBook) -> None:
    hold = Hold(by="nina", since=NOW, why="demo «A»", until=NOW + HOUR)
    quarantine = Quarantine(reason="reboots", since=NOW, by="0412-quick-7k2f", evidence="ab" * 32, expires=NOW + HOUR)
    sighting = Sighting(device_model="Pixel 8", serial="1.2.3.4:5555", where="usb:1-1.3", fingerprint="google/x")
    book.label("R58N", "B3", "nina", NOW)
    book.expect("R58N", True, "nina", NOW)
    book.hold("R58N", hold)
    book.quarantine("R58N", quarantine)
    assert book.saw("R58N", sighting, NOW)
    assert book.get("R58N") == RegisteredPhone(
        phone="R58N", label="B3", expected=True, seen=sighting, seen_at=NOW, hold=hold, quarantine=quarantine
    )
    kinds = [(event.kind, event.by) for event in book.history("R58N")]
    assert kinds == [("label", "nina"), ("expect", "nina"), ("hold", "nina"), ("quarantine", "0412-quick-7k2f")]
    assert all(event.at == NOW for event in book.history("R58N"))


def test_a_hold_and_a_quarantine_end_by_time_and_by_word(book: PhoneBook) -> None:
    book.hold("A", Hold(by="nina", since=NOW, until=NOW + HOUR))
    book.quarantine("A", Quarantine(reason="hub", since=NOW, expires=NOW + HOUR))
    phone = book.get("A")
    assert phone.held(NOW) is not None
    assert phone.kept_out(NOW) is not None
    assert not phone.on_probation(NOW)
    assert phone.held(NOW + HOUR) is None
    assert phone.kept_out(NOW + HOUR) is None
    assert phone.on_probation(NOW + HOUR)
    assert book.free("A", "nina", NOW)
    assert not book.free("A", "nina", NOW)
    assert book.release("A", "nina", "replugged", NOW)
    assert not book.release("A", "nina", at=NOW)
    assert book.get("A") == RegisteredPhone(phone="A")
    assert [event.kind for event in book.history("A")] == ["hold", "quarantine", "free", "release"]
    book.hold("A", Hold(by="nina", since=NOW))
    book.quarantine("A", Quarantine(reason="hub", since=NOW))
    assert book.get("A").held(NOW + 1000 * HOUR) is not None
    assert book.get("A").kept_out(NOW + 1000 * HOUR) is not None


def test_a_label_is_one_phones_until_that_is_retired(book: PhoneBook) -> None:
    book.label("A", "B3", "nina")
    book.label("A", "B3", "nina")
    for taken in ("B3", "A"):
        with pytest.raises(UsageError, match="is A's"):
            book.label("B", taken, "tom")
    assert "B" not in book.all()
    book.expect("A", True, "nina")
    book.retire("A", Retired(by="nina", since=NOW, why="swollen"))
    assert book.get("A") == RegisteredPhone(phone="A", retired=Retired(by="nina", since=NOW, why="swollen"))
    book.label("B", "B3", "tom")
    assert {name: one.name for name, one in book.all().items()} == {"A": "A", "B": "B3"}
    book.add("A", "tom")
    assert book.get("A").retired is None


def test_a_moment_without_a_zone_is_refused(book: PhoneBook) -> None:
    with pytest.raises(ValueError, match="time zone"):
        book.hold("A", Hold(by="nina", since=NOW, until=datetime(2026, 4, 12)))  # noqa: DTZ001

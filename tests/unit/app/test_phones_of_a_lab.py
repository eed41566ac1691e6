"""Which line of adb's list is which phone, what people said of it, which ones are missing, and when things end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from android_runner.adb.discovery import SeenPhone
from android_runner.adb.server import AdbServer
from android_runner.device import Serial
from android_runner.facts import PhoneFacts, Vitals
from orchestrator.app.choosing import missing_phones
from orchestrator.app.moments import moment_of
from orchestrator.app.phones import Phone, as_known
from orchestrator.app.registry import Registry, bar_of
from orchestrator.app.same_phone import one_each
from orchestrator.errors import UsageError
from orchestrator.store.registered import Hold, Quarantine, RegisteredPhone, Retired, Sighting

NOW = datetime(2026, 4, 12, 11, 0, tzinfo=timezone(timedelta(hours=2)))
FACTS = PhoneFacts(
    identity="R58N", device_model="Pixel 8", manufacturer="Google", fingerprint="google/a", soc="", api_level=34,
    abis=(), exec_abis=(), cores=8, max_freq_khz=(), memory_bytes=1, rooted=False, virtual=False, confinement="",
    shell="", tools=(), launcher="", profile="", free_bytes=0,
)  # fmt: skip


def phone(
    serial: str, where: str, *, boot: str | None = "b1", fingerprint: str = "google/a", name: str = "R58N"
) -> Phone:
    seen = SeenPhone(Serial(serial), "device", 1, where, "")
    facts = replace(FACTS, identity=name, fingerprint=fingerprint)
    return Phone(seen, AdbServer(port=5999), facts, Vitals(boot_id=boot), "")


def test_one_phone_on_usb_and_network_counts_once_over_usb() -> None:
    over_tcp, over_usb = phone("10.0.0.7:5555", "tcp"), phone("R58N", "usb:1-1.3")
    assert one_each([over_tcp, over_usb]) == [over_usb]
    other = phone("X1", "usb:1-1.4", boot="b2", name="X1")
    assert one_each([other, over_tcp, over_usb]) == [over_usb, other]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (phone("R58N", "usb:1-1.3", boot="b1"), phone("10.0.0.7:5555", "tcp", boot="b2")),
        (phone("R58N", "usb:1-1.3", boot=None), phone("R58N-2", "usb:1-1.4", boot=None)),
        (phone("R58N", "usb:1-1.3", boot=None), phone("10.0.0.7:5555", "tcp", boot=None, fingerprint="google/b")),
    ],
    ids=["two lives", "two places", "two builds"],
)
def test_two_phones_of_one_name_are_refused(first: Phone, second: Phone) -> None:
    found = one_each([first, second])
    assert [(one.usable, one.state) for one in found] == [(False, "ambiguous")] * 2
    assert all("2 phones call themselves R58N" in one.mend and "usb:1-1.3" in one.mend for one in found)


def test_without_a_boot_id_one_build_in_one_place_is_one_phone() -> None:
    assert len(one_each([phone("R58N", "usb:1-1.3", boot=None), phone("10.0.0.7:5555", "tcp", boot=None)])) == 1


def test_a_target_without_a_name_of_its_own_counts_once() -> None:
    address, alias = (phone(at, "tcp", name=at) for at in ("127.0.0.1:5555", "localhost:5555"))
    emulator = phone("emulator-5554", "", name="emulator-5554")
    assert one_each([emulator, alias, address]) == [address]
    other = phone("127.0.0.1:5557", "tcp", name="127.0.0.1:5557", boot="b2")
    unknown = [phone(at, "tcp", name=at, boot=None) for at in ("127.0.0.1:5559", "127.0.0.1:5561")]
    assert one_each([*unknown, other, address]) == [address, other, *unknown]
    named = phone("R58N", "usb:1-1.3")
    assert one_each([named, phone("10.0.0.7:5555", "tcp")]) == [named]


def test_what_people_said_makes_a_phone_unusable() -> None:
    registry = Registry(
        {"R58N": RegisteredPhone(phone="R58N", label="B3", hold=Hold(by="nina", since=NOW, why="demo"))}
    )
    (held,) = as_known([phone("R58N", "usb:1-1.3")], registry)
    assert (held.label, held.identity, held.usable, held.state) == ("B3", "R58N", False, "held (nina)")
    assert held.mend == "demo; no more: orch devices free B3"
    assert held.candidate().names() == ("R58N", "B3", "R58N")


def test_why_no_run_may_use_a_phone() -> None:
    known = RegisteredPhone(phone="R58N", label="B3")
    assert bar_of(known, NOW) == ("", "")
    ended = Hold(by="nina", since=NOW, until=NOW)
    assert bar_of(replace(known, hold=ended), NOW) == ("", "")
    bad = Quarantine(reason="reboots", since=NOW, expires=NOW + timedelta(hours=1))
    state, mend = bar_of(replace(known, quarantine=bad), NOW)
    assert state == "quarantine"
    assert mend.startswith("reboots; until ")
    assert mend.endswith("orch devices release B3")
    assert bar_of(replace(known, quarantine=bad), NOW + timedelta(hours=2)) == ("", "")
    assert bar_of(replace(known, retired=Retired(by="tom", since=NOW)), NOW)[0] == "retired (tom)"


def test_missing_are_the_expected_of_all_and_the_named() -> None:
    seen = Sighting(device_model="Galaxy S20", serial="D1SERIAL", where="usb:3-1.1", fingerprint="f")
    known = {
        "D1": RegisteredPhone(phone="D1", label="gone", expected=True, seen=seen, seen_at=NOW),
        "D2": RegisteredPhone(phone="D2", label="spare"),
        "D3": RegisteredPhone(phone="D3", label="away", expected=True, hold=Hold(by="nina", since=NOW)),
        "D4": RegisteredPhone(phone="D4", retired=Retired(by="nina", since=NOW)),
        "R58N": RegisteredPhone(phone="R58N", label="B3", expected=True),
    }
    here = as_known([phone("R58N", "usb:1-1.3")], Registry(known))

    def missing(*options: str) -> list[str]:
        return [words.split(",")[0].split(" ")[0] for words in missing_phones(options, here, Registry(known))]

    assert missing("all") == ["gone"]
    assert missing("all,!gone") == missing("B3") == missing() == missing("virtual") == []
    assert missing("B3", "spare") == missing("D2") == ["spare"]
    assert missing("D1SERIAL") == ["gone"]
    (words,) = missing_phones(["all"], here, Registry(known))
    assert words.startswith("gone Galaxy S20 (hub 3-1.1), not seen since ")


@pytest.mark.parametrize(
    ("text", "hours"),
    [("90m", 1.5), ("2h", 2), ("3d", 72), ("14:00", 3), ("10:30", 23.5), ("2026-04-13", 13), ("2026-04-12T12:30", 1.5)],
)
def test_ends_as_people_say_them(text: str, hours: float) -> None:
    assert moment_of(text, NOW, "--until") == NOW + timedelta(hours=hours)


@pytest.mark.parametrize(
    "text", ["", "soon", "0h", "-1h", "25:00", "12:60", "2026-04-11", "2026-02-30", "99999d", "2h30"]
)
def test_what_is_no_time_to_come_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no time to come"):
        moment_of(text, NOW, "--until")


def test_moments_are_stored_whatever_the_zone() -> None:
    assert moment_of("2h", NOW, "--until").astimezone(UTC).hour == 11

"""`--device` expressions."""

from __future__ import annotations

import dataclasses

import pytest

from android_runner.facts import PhoneFacts
from orchestrator.errors import UsageError
from orchestrator.plan.select import Candidate, VirtualWish, choose, parse_devices

FACTS = PhoneFacts(
    identity="R1", device_model="m", manufacturer="m", fingerprint="f", soc="s", api_level=29, abis=("arm64-v8a",),
    exec_abis=("arm64-v8a",), cores=8, max_freq_khz=(), memory_bytes=0, rooted=False, virtual=False, confinement="",
    shell="mksh", tools=(), launcher="", profile="", free_bytes=0,
)  # fmt: skip


def candidate(identity: str, api_level: int = 29, virtual: bool = False) -> Candidate:
    facts = dataclasses.replace(FACTS, identity=identity, api_level=api_level, virtual=virtual)
    return Candidate(serial=f"usb-{identity}", label=identity, facts=facts)


LAB = [candidate("R1"), candidate("R2", 34), candidate("V1", 34, virtual=True)]


@pytest.mark.parametrize(
    ("options", "wishes"),
    [
        (["virtual"], [VirtualWish("pixel-8", 1)]),
        (["virtualx3"], [VirtualWish("pixel-8", 3)]),
        (["virtual:pixel-6-rooted"], [VirtualWish("pixel-6-rooted", 1)]),
        (["virtual:pixel-8@drift"], [VirtualWish("pixel-8", 1, "drift")]),
        (["virtual@lying-sensorsx2"], [VirtualWish("pixel-8", 2, "lying-sensors")]),
        (["virtual:redmi-go@./warm_1.tomlx3"], [VirtualWish("redmi-go", 3, "./warm_1.toml")]),
        (["virtual:redmi-gox2", "virtual"], [VirtualWish("redmi-go", 2), VirtualWish("pixel-8", 1)]),
    ],
)
def test_virtual_phones_are_wished_for(options: list[str], wishes: list[VirtualWish]) -> None:
    assert parse_devices(options) == ([], wishes)


@pytest.mark.parametrize("option", ["", ",", "virtual,all", "virtualx0", "virtualx999", "virtual:", "virtual:pixel 8"])
def test_what_names_no_phone_is_refused(option: str) -> None:
    with pytest.raises(UsageError, match="--device"):
        parse_devices([option])


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["all"], ["R1", "R2"]),
        (["all,!R2"], ["R1"]),
        (["R2"], ["R2"]),
        (["usb-R1", "R2"], ["R1", "R2"]),
        (["api>=30"], ["R2"]),
        (["!R1"], ["R2"]),
        (["V1,api=34"], ["V1"]),
        (["all,api=34"], ["R2"]),
        (["V1"], ["V1"]),
        (["api<=20"], []),
    ],
)
def test_an_expression_means_each_phone_that_matches(options: list[str], chosen: list[str]) -> None:
    expressions, _ = parse_devices(options)
    assert [one.label for one in choose(expressions, LAB)] == chosen


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    expressions, _ = parse_devices(["all,!R3x"])
    with pytest.raises(UsageError, match="'R3x'"):
        choose(expressions, LAB)

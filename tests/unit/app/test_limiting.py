"""Limits of a phone: defaults, the device profile's over them, the plan's over that; and all of them in the digest."""

from __future__ import annotations

from typing import Any

import pytest

from android_runner.facts import PhoneFacts
from android_runner.limits import LimitsTable
from android_runner.probe import facts_from
from android_runner.profile import ProfileError, parse_profile
from android_runner.validity import Limits
from orchestrator.app.limiting import limit_words, limits_of
from orchestrator.digest import digest_of
from orchestrator.errors import UsageError
from orchestrator.plan.load import parse_plan

PROFILE = b"""
name = "x"
device_model = "X"
manufacturer = "m"
brand = "b"
product = "p"
fingerprint = "f"
soc = "s"
api_level = 30
android_release = "11"
abis = ["arm64-v8a"]
memory_bytes = 1_000_000_000
clusters = [{ name = "c", count = 4, min_khz = 1, max_khz = 2 }]
"""


def phone(*lines: str) -> PhoneFacts:
    return facts_from({"properties": "\n".join(lines)}, "serial")


def test_a_true_phone_that_no_profile_describes_has_the_defaults() -> None:
    assert limits_of(phone("[ro.product.model]: [Nobody's]"), {}) == Limits()


def test_a_plans_table_goes_over_the_rest_and_false_switches_off() -> None:
    limits = limits_of(phone(), {"max_battery_c": 41.5, "min_battery_level": False})
    assert (limits.max_battery_c, limits.min_battery_level) == (41.5, None)
    assert limits.max_rise_c == Limits().max_rise_c


def test_the_load_of_this_computer_is_no_virtual_phones() -> None:
    virtual = phone("[ro.orch.virtual]: [1]", "[ro.orch.profile]: [pixel-8]")
    assert limits_of(virtual, {}).max_load is None
    assert limits_of(virtual, {"max_load": 3.0}).max_load == 3.0


def test_a_profiles_table_goes_over_the_defaults() -> None:
    profile = parse_profile(PROFILE + b"[limits]\nmax_battery_c = 40\nmax_status = false\n", source="x")
    limits = profile.limits.over(Limits())
    assert (limits.max_battery_c, limits.max_status, limits.max_load) == (40.0, None, Limits().max_load)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("max_battery_c = 400", "max_battery_c"),
        ("max_battery_c = true", "max_battery_c"),
        ("max_load = nan", "max_load"),
        ("gate_timeout_s = false", "gate_timeout_s"),
        ("max_batery_c = 40", "max_batery_c"),
    ],
)
def test_what_is_no_limit_is_refused_with_its_place(line: str, key: str) -> None:
    with pytest.raises(ProfileError, match=rf"limits\.{key}"):
        parse_profile(PROFILE + f"[limits]\n{line}\n".encode(), source="x")


@pytest.mark.parametrize(
    ("table", "words"),
    [({"max_batery_c": 40}, "max_battery_c"), ({"max_load": "much"}, r"limits\.max_load"), ({"flat_c": 0}, "flat_c")],
)
def test_a_plan_says_what_is_wrong_with_its_limits(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_plan({"models": ["a.onnx"], "limits": table}, "p.toml")


def test_a_plan_keeps_only_what_it_says() -> None:
    plan = parse_plan({"models": ["a.onnx"], "limits": {"max_battery_c": 40, "max_load": False}}, "p.toml")
    assert plan.limits.changes() == {"max_battery_c": 40.0, "max_load": False}
    assert parse_plan({"models": ["a.onnx"]}, "p.toml").limits == LimitsTable()


def test_every_limit_is_in_the_digest() -> None:
    base = limit_words(Limits())
    assert len(base) == len(Limits.__dataclass_fields__)
    assert digest_of(base) != digest_of(limit_words(Limits(max_rise_c=2.5)))

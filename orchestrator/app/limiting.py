"""What a phone must be like for an attempt to count: defaults, its device profile's limits, then the plan's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from android_runner.facts import PhoneFacts
from android_runner.limits import LimitsTable
from android_runner.profile import load_profile, profile_names
from android_runner.validity import Limits


def limits_of(facts: PhoneFacts, changes: Mapping[str, Any]) -> Limits:
    """A phone's limits; `changes` are what a plan's `[limits]` say.

    The load that a virtual phone tells is this computer's, with all that its other phones compute: it is kept out by
    their slots, and says nothing of the phone, so that rule is off there unless a table asks for it.
    """
    defaults = replace(Limits(), max_load=None) if facts.virtual else Limits()
    return LimitsTable(**changes).over(_profile_limits(facts).over(defaults))


def limit_words(limits: Limits) -> list[str]:
    """The limits as they stand in a plan's digest, which holds no floats."""
    return [f"{name}={getattr(limits, name)!r}" for name in sorted(Limits.__slots__)]


def _profile_limits(facts: PhoneFacts) -> LimitsTable:
    """Of the profile that a virtual phone has, or that describes a true phone's model; none where neither is there."""
    names = profile_names()
    if facts.virtual:
        return load_profile(facts.profile).limits if facts.profile in names else LimitsTable()
    described = (load_profile(name) for name in names)
    return next((one.limits for one in described if one.device_model == facts.device_model), LimitsTable())

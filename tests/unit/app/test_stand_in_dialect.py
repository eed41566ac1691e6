"""Which dialect the stand-in of a run speaks: the option's, the plan's, the device profiles', else mid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from android_runner.capabilities import CommandDialect
from android_runner.facts import PhoneFacts
from android_runner.profile import load_profile
from orchestrator.app.binary import dialect_of
from orchestrator.app.described import described_phones
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import UsageError
from orchestrator.home import Home

OTHER = """
name = "{name}"
device_model = "Tiny"
manufacturer = "M"
brand = "b"
product = "p"
fingerprint = "b/p/p:9/X/1:user/release-keys"
soc = "S"
api_level = 28
android_release = "9"
abis = ["arm64-v8a"]
memory_bytes = 1_000_000_000
clusters = [{{ name = "c", count = 2, min_khz = 100, max_khz = 200 }}]
perf_test_dialect = "{dialect}"
"""


@pytest.fixture
def phone(tmp_path: Path) -> PhoneFacts:
    return described_phones(["virtual:pixel-8"], Home(tmp_path / "home"), 5037, [].append)[0]


def profile(tmp_path: Path, name: str, dialect: str) -> str:
    path = tmp_path / f"{name}.toml"
    path.write_text(OTHER.format(name=name, dialect=dialect))
    return str(path)


def test_shipped_profiles_speak_mid(phone: PhoneFacts) -> None:
    assert load_profile("pixel-8").perf_test_dialect == "mid"
    assert dialect_of([phone], ["pixel-8"]) is CommandDialect.MID


def test_the_profiles_decide_where_they_agree(phone: PhoneFacts, tmp_path: Path) -> None:
    paths = [profile(tmp_path, "one", "old"), profile(tmp_path, "two", "old"), profile(tmp_path, "three", "new")]
    one, two, three = (replace(phone, profile=name) for name in ("one", "two", "three"))
    assert dialect_of([one, two], paths) is CommandDialect.OLD
    assert dialect_of([three], paths) is CommandDialect.NEW
    assert dialect_of([one, three], paths) is CommandDialect.MID
    assert dialect_of([one, phone], [*paths, "pixel-8"]) is CommandDialect.MID


def test_a_living_phone_whose_profile_is_not_at_hand_speaks_mid(phone: PhoneFacts) -> None:
    assert dialect_of([replace(phone, profile="elsewhere")], []) is CommandDialect.MID


def test_the_option_goes_over_the_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('models = ["m.onnx"]\ndialect = "old"\n')
    assert wish_of(RunOptions(things=(str(plan),))).plan.dialect == "old"
    assert wish_of(RunOptions(things=(str(plan),), dialect="new")).plan.dialect == "new"


def test_what_makes_no_sense_is_said() -> None:
    with pytest.raises(UsageError, match="older"):
        wish_of(RunOptions(things=("m.onnx",), dialect="older"))
    with pytest.raises(UsageError, match="one of the two"):
        wish_of(RunOptions(things=("m.onnx",), dialect="old", perf_test="p"))

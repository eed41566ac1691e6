"""Device profiles: strict, all problems at once, and the ones that come along differ enough to matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.profile import ProfileError, load_profile, parse_profile, profile_names
from android_runner.virtual.identity import Standing, properties, state_files

_GOOD = b"""
name = "tiny"
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
clusters = [{ name = "c", count = 2, min_khz = 100, max_khz = 200 }]
"""


def test_all_shipped_profiles_load_and_differ_enough() -> None:
    profiles = [load_profile(name) for name in profile_names()]
    assert len(profiles) >= 5
    assert {27, 28, 29, 34} <= {profile.api_level for profile in profiles}
    assert any(profile.rooted for profile in profiles)
    assert any("taskset" in profile.missing_tools for profile in profiles)
    assert any(profile.userland_bits == 32 for profile in profiles)
    assert any(len(profile.clusters) > 1 for profile in profiles)
    assert any(len(profile.clusters) == 1 for profile in profiles)


def test_every_problem_is_told_with_its_path() -> None:
    text = _GOOD.replace(b"api_level = 28", b'api_level = "28"') + b'colour = "red"\n[battery]\nlevel = 200\n'
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, source="tiny.toml")
    paths = {problem.split(":")[0] for problem in caught.value.problems}
    assert paths == {"api_level", "colour", "battery.level"}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (b"min_khz = 100", b"min_khz = 300", "clusters[0]"),
        (b"soc = ", b"userland_bits = 32\nsoc = ", "abis"),
        (b"soc = ", b"userland_bits = 40\nsoc = ", "userland_bits"),
        (b"count = 2", b"count = 0", "clusters[0].count"),
        (b'"tiny"', b'"../tiny"', "name"),
        (b'soc = "S"', b'soc = "S\\u0000"', "soc"),
        (b"soc = ", b"missing_tools = ['a/b']\nsoc = ", "missing_tools"),
        (b"soc = ", b"perf_test_dialect = 'ancient'\nsoc = ", "perf_test_dialect"),
        (b"soc = ", b"zones_c = { 'a/b' = 1.0 }\nsoc = ", "zones_c.a/b"),
        (b"soc = ", b"properties = { 'a/b' = 'x' }\nsoc = ", "properties.a/b"),
        (b"soc = ", b"properties = { a = 2020-01-01 }\nsoc = ", "properties.a"),
        (b"name", b"name name", "not TOML"),
    ],
)
def test_contradictions_are_refused(old: bytes, new: bytes, path: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(_GOOD.replace(old, new, 1), source="x")
    assert caught.value.problems[0].startswith(path)


def test_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="pixel-8"):
        load_profile("pixel-9000")
    with pytest.raises(ProfileError, match="no such device profile"):
        load_profile("../device_profiles/pixel-8")
    with pytest.raises(ProfileError, match="cannot be read"):
        load_profile(tmp_path / "none.toml")
    path = tmp_path / "mine.toml"
    path.write_bytes(_GOOD)
    assert load_profile(path).name == "tiny"


def test_what_a_profile_becomes() -> None:
    profile = load_profile("pixel-8")
    standing = Standing(
        serialno="virtual-pixel-8-1", exec_abi="linux-x86_64", confinement="namespace", shell="mksh", launcher=""
    )
    props = properties(profile, standing)
    assert props["ro.serialno"] == "virtual-pixel-8-1"
    assert props["ro.orch.virtual"] == "1"
    assert props["ro.build.version.sdk"] == "34"
    files = state_files(profile, "some-boot-id")
    assert files["proc/sys/kernel/random/boot_id"] == "some-boot-id\n"
    assert files["proc/cpuinfo"].count("processor") == 9
    assert files["sys/devices/system/cpu/cpufreq/policy8/cpuinfo_max_freq"] == "2914000\n"
    assert files["sys/class/power_supply/battery/temp"] == "284\n"
    assert files["sys/class/thermal/thermal_zone4/type"] == "skin\n"
    assert files["sys/class/thermal/thermal_zone4/temp"] == "30500\n"

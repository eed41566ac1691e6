"""What is read out of a phone's own text; pure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.facts import (
    Vitals,
    cleaned,
    core_list,
    parse_core_count,
    parse_free_bytes,
    parse_max_frequencies,
    parse_memory_bytes,
    parse_properties,
    temperature_c,
    whole_number,
)
from android_runner.probe import facts_from, split_sections
from android_runner.vitals_text import parse_vitals

CORPUS = Path(__file__).parents[1] / "corpus" / "phone_text"


def text(name: str) -> str:
    return (CORPUS / name).read_text()


def framed(service: str) -> str:
    return "".join(f"dumpsys-{service}:{line}\n" for line in text(f"dumpsys-{service}.txt").splitlines())


def test_properties() -> None:
    props = parse_properties(text("getprop-api34.txt"))
    assert props["ro.product.model"] == "Pixel 8"
    assert props["gsm.operator.alpha"] == ""
    assert props["ro.vendor.note"] == "two lines"
    assert len(props) == 16


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("[a]: [\x1b[31mred\x07]\n", {"a": "[31mred"}),
        ("[a]: [b]: [c]]\n", {"a": "b]: [c]"}),
        ("[a]: [" + "x" * 5000 + "]\n", {"a": "x" * 200}),
        ("[a]: [1]\n[a]: [2]\n", {"a": "1"}),
        ("junk\n[a\n[]: [x]\n[b]: [never ends\n", {}),
        ("", {}),
    ],
)
def test_properties_that_are_odd(raw: str, wanted: dict[str, str]) -> None:
    assert parse_properties(raw) == wanted


def test_facts_of_a_phone_of_today() -> None:
    sections = {
        "properties": text("getprop-api34.txt"),
        "possible": "0-8\n",
        "cpuinfo": text("cpuinfo-arm64.txt"),
        "clocks": "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq:1704000\n"
        "/sys/devices/system/cpu/cpufreq/policy0/related_cpus:0 1 2 3\n"
        "/sys/devices/system/cpu/cpufreq/policy4/cpuinfo_max_freq:2367000\n"
        "/sys/devices/system/cpu/cpufreq/policy4/related_cpus:4-7\n"
        "/sys/devices/system/cpu/cpu8/cpufreq/cpuinfo_max_freq:2914000\n",
        "meminfo": "MemTotal:        7812345 kB\nMemFree: 1 kB\n",
        "df": text("df-toybox.txt"),
        "id": "uid=2000(shell) gid=2000(shell) groups=2000(shell)",
        "shell": "@(#)MIRBSD KSH R59 2020/10/31 Android\ntoybox 0.8.9-android\n/system/bin/sh\n",
        "tools": "taskset\nsha256sum\n$(reboot)\n",
    }
    facts = facts_from(sections, "R58N")
    assert (facts.identity, facts.device_model, facts.manufacturer) == ("37251FDJH00000", "Pixel 8", "Google")
    assert (facts.soc, facts.api_level, facts.abis, facts.exec_abis) == (
        "Google Tensor G3",
        34,
        ("arm64-v8a",),
        ("arm64-v8a",),
    )
    assert facts.max_freq_khz == (1704000,) * 4 + (2367000,) * 4 + (2914000,)
    assert (facts.cores, facts.memory_bytes, facts.free_bytes) == (9, 7812345 * 1024, 15522744 * 1024)
    assert (facts.rooted, facts.virtual, facts.launcher, facts.profile, facts.confinement) == (False, False, "", "", "")
    assert (facts.shell, facts.tools) == ("mksh R59, toybox 0.8.9-android", ("taskset", "sha256sum"))


def test_facts_of_an_old_phone_that_says_little() -> None:
    facts = facts_from({"properties": text("getprop-api27.txt"), "cpuinfo": text("cpuinfo-arm64.txt")}, "6d1f")
    assert (facts.api_level, facts.abis, facts.soc) == (27, ("armeabi-v7a", "armeabi"), "msm8937")
    assert (facts.cores, facts.max_freq_khz, facts.memory_bytes, facts.free_bytes) == (2, (), 0, 0)
    assert facts_from({"properties": ""}, "6d1f").identity == "6d1f"
    assert facts_from({"properties": "", "id": "uid=0(root)"}, "x").rooted
    assert facts_from(
        {"properties": "", "id": "uid=0(root)", "cpuinfo": text("cpuinfo-arm64.txt")}, "x"
    ).soc.startswith("Qualcomm")


@pytest.mark.parametrize(
    ("machine", "wanted"),
    [("x86_64\n", ("linux-x86_64",)), ("aarch64\n", ("linux-aarch64",)), ("mips\n", ()), ("", ())],
)
def test_facts_of_a_target_that_is_no_android(machine: str, wanted: tuple[str, ...]) -> None:
    """Debian's adbd over mksh and toybox has no getprop: its kernel tells what it executes."""
    assert facts_from({"properties": "", "machine": machine}, "127.0.0.1:6520").exec_abis == wanted
    assert (
        facts_from({"properties": text("getprop-api27.txt"), "machine": machine}, "6d1f").exec_abis[0] == "armeabi-v7a"
    )


@pytest.mark.parametrize(
    ("program", "rooted"),
    [("/usr/bin/toybox\n", False), ("/system/bin/toybox-fdroid\n", False), ("/system/xbin/su\n", True), ("\n", True)],
)
def test_toyboxs_own_su_makes_no_root(program: str, rooted: bool) -> None:
    assert facts_from({"properties": "", "tools": "su\n", "su": program}, "x").rooted is rooted


@pytest.mark.parametrize("confinement", ["namespace", "unconfined"])
def test_facts_of_a_virtual_phone(confinement: str) -> None:
    props = (
        text("getprop-api34.txt") + f"[ro.orch.virtual]: [1]\n[ro.orch.confinement]: [{confinement}]\n"
        "[ro.orch.exec_abis]: [linux-x86_64]\n[ro.orch.launcher]: [/opt/slot]\n[ro.orch.profile]: [pixel-8]\n"
    )
    facts = facts_from({"properties": props, "id": "uid=0(root) gid=0(root)"}, "x")
    assert (facts.virtual, facts.exec_abis, facts.abis) == (True, ("linux-x86_64",), ("arm64-v8a",))
    assert (facts.launcher, facts.profile, facts.confinement) == ("/opt/slot", "pixel-8", confinement)
    assert facts.rooted is (confinement == "namespace"), "unconfined, `id` tells of the host's user"


def test_sections_need_the_marker_of_this_call() -> None:
    answer = "\nM-properties\n[a]: [b]\nN-cpuinfo\nfake\n\nM-cpuinfo\ntrue\n\nM-unknown\nx\n"
    assert split_sections(answer, "M-") == {"properties": "[a]: [b]\nN-cpuinfo\nfake\n", "cpuinfo": "true\n"}


def test_snapshot() -> None:
    vitals = parse_vitals(text("snapshot.txt"))
    assert (vitals.uptime_s, vitals.load_1m) == (12345.67, 0.52)
    assert vitals.boot_id == "3f6a9c1e-0d52-4e8b-9a37-5d2f1c0b7e44"
    assert (vitals.battery_level, vitals.battery_c, vitals.thermal_status) == (78, 28.4, None)
    assert vitals.zones_c == {"cpu-0-0-usr": 41.2, "skin": 30.5, "skin#2": 29.0, "thermal_zone4": 31.2}
    assert vitals.current_freq_khz == (1704000, 2367000, 300000)


def test_snapshot_behind_a_root_prefix() -> None:
    behind = "".join(f"/home/x y/phones/1/root{line}\n" for line in text("snapshot.txt").splitlines())
    assert parse_vitals(behind) == parse_vitals(text("snapshot.txt"))


def test_snapshot_by_dumpsys_where_sysfs_is_closed() -> None:
    vitals = parse_vitals(framed("battery") + framed("thermalservice"))
    assert (vitals.battery_level, vitals.battery_c, vitals.thermal_status) == (67, 33.7, 2)
    both = parse_vitals(text("snapshot.txt") + framed("battery"))
    assert (both.battery_level, both.battery_c) == (78, 28.4)


def test_cores_stand_in_for_policies() -> None:
    lines = "".join(
        f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq:{core + 1}000\n" for core in (10, 2, 0)
    )
    assert parse_vitals(lines).current_freq_khz == (1000, 3000, 11000)


@pytest.mark.parametrize(
    "line",
    [
        "/proc/uptime:soon",
        "/proc/uptime:nan 1",
        "/proc/loadavg:",
        "/sys/class/power_supply/battery/capacity:101",
        "/sys/class/power_supply/battery/capacity:-5",
        "/sys/class/power_supply/battery/temp:99999",
        "/sys/class/power_supply/battery/temp:0x1f",
        "/proc/sys/kernel/random/boot_id:../../etc",
        "/sys/class/thermal/thermal_zone0/temp:999999",
        "/sys/class/thermal/thermal_zone99999/temp:30000",
        "dumpsys-thermalservice:Thermal Status: 7",
        "dumpsys-battery:no colon",
        "no colon at all",
        "x" * 100_000,
    ],
)
def test_what_is_not_offered_is_none(line: str) -> None:
    assert parse_vitals(line + "\n") == Vitals()


@given(st.text(max_size=500))
def test_any_text_is_vitals(noise: str) -> None:
    vitals = parse_vitals(noise)
    assert vitals.battery_level is None or 0 <= vitals.battery_level <= 100


@given(st.text(max_size=500))
def test_any_text_is_cleaned_and_bounded(noise: str) -> None:
    assert len(cleaned(noise)) <= 200
    assert cleaned(noise).isprintable()
    assert cleaned(cleaned(noise)) == cleaned(noise)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("0", (0,)),
        ("0-1,4", (0, 1, 4)),
        ("0 1 2", (0, 1, 2)),
        ("", ()),
        ("0-x", ()),
        ("3-1", ()),
    ],
)
def test_core_lists(raw: str, wanted: tuple[int, ...]) -> None:
    assert core_list(raw) == wanted


def test_core_lists_are_bounded() -> None:
    assert len(core_list("0-9999")) == 1025
    assert parse_core_count("", "") == 1
    assert parse_core_count("0-7", "processor : 0") == 8


def test_frequencies_without_any_are_empty() -> None:
    assert parse_max_frequencies("", 8) == ()
    assert parse_max_frequencies("/x/cpu0/cpufreq/cpuinfo_max_freq:junk\n", 8) == ()
    assert parse_max_frequencies("/x/cpufreq/policy4/cpuinfo_max_freq:5\n", 6) == (0, 0, 0, 0, 5, 0)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("41200", 41.2),
        ("412", 41.2),
        ("41", 41.0),
        ("-5", -5.0),
        ("-273000", None),
        ("", None),
        ("4e1", None),
        ("0", 0.0),
    ],
)
def test_temperatures(raw: str, wanted: float | None) -> None:
    assert temperature_c(raw) == wanted


def test_df_and_meminfo() -> None:
    assert parse_free_bytes(text("df-toybox.txt")) == 15522744 * 1024
    assert parse_free_bytes(text("df-android-6.txt")) == 4538489 * 1024
    assert parse_free_bytes("df: no such file") == 0
    assert parse_memory_bytes("nothing") == 0


@pytest.mark.parametrize("raw", ["", "-1", "1.5", "1e3", "٣", "1" * 20, "0x10"])
def test_numbers_that_are_none(raw: str) -> None:
    assert whole_number(raw) is None


@pytest.mark.parametrize(
    ("answer", "size"), [("4096\n", 4096), ("16384\n", 16384), ("", 0), ("12345\n", 0), ("999999999999", 0), ("-1", 0)]
)
def test_a_page_of_memory(answer: str, size: int) -> None:
    assert facts_from({"page": answer}, "s").page_bytes == size

"""A hot phone's files: in the kernel's forms, of what its sensors say, true to the processes that heat it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from android_runner.profile import DeviceProfile, load_profile
from android_runner.virtual.heat.computing import computing_threads, threads_of
from android_runner.virtual.heat.life import CoolLife, Files, HotLife, life_of
from android_runner.virtual.heat.scenario import Scenario, parse_scenario
from android_runner.virtual.heat.sensors import Readings
from android_runner.virtual.heat.sysfs import PACE, clock_table, hot_files, time_in_state
from android_runner.virtual.identity import THERMAL_STATUS, state_files
from android_runner.virtual.perf_test.standin.pace import Pace, Slowed
from android_runner.virtual.spec import Wanted, spec_as_json, spec_from_json
from android_runner.vitals_text import parse_vitals

POLICY = "sys/devices/system/cpu/cpufreq/policy8"
BATTERY = "sys/class/power_supply/battery"


def scenario(**extra: str) -> Scenario:
    rest = "\n".join(f"[{name}]\n{text}" for name, text in extra.items())
    text = "name = 'x'\nabout = 'y'\ntime_scale = 10\n[heat]\nlost = [0.3, 0.3]\ntime_constant_s = [100, 100]\n"
    return parse_scenario(f"{text}{rest}".encode(), source="x")


def booted(folder: Path, profile: DeviceProfile) -> Path:
    for name, text in state_files(profile, "0-1-2").items():
        (folder / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "root" / name).write_text(text)
    (folder / "boot").mkdir()
    return folder


def processes(folder: Path, *command: str) -> Path:
    """A `/proc` in which one process has this command line."""
    (folder / "7").mkdir(parents=True)
    (folder / "self").mkdir()
    (folder / "7" / "comm").write_text("onnxruntime_per\n")
    (folder / "7" / "environ").write_bytes(b"A=1\0ORCH_ROOT=/x\0")
    (folder / "7" / "cmdline").write_bytes("\0".join([*command, ""]).encode())
    return folder


def shown(folder: Path) -> str:
    """The phone's files as a snapshot has them."""
    root = folder / "root"
    files = {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}
    status = files.pop(THERMAL_STATUS, "")
    lines = [f"/{name}:{text.splitlines()[0]}" for name, text in files.items() if text]
    return "\n".join([*lines, f"dumpsys-thermalservice:Thermal Status: {status}".strip()])


def test_a_hot_phone_shows_its_heat(tmp_path: Path) -> None:
    profile = load_profile("pixel-8")
    phone = booted(tmp_path / "phone", profile)
    busy = processes(tmp_path / "proc", "python", "/x/onnxruntime_perf_test", "-x", "4", "m.onnx")
    life = HotLife(phone, profile, scenario(), "1")
    life.boot(100.0)
    cold = parse_vitals(shown(phone))
    assert (phone / "root" / PACE).read_text() == "10000\n"
    for tick in range(1, 151):
        life.tick(100.0 + 0.2 * tick, busy, "")
    hot = parse_vitals(shown(phone))
    assert int((phone / "root" / PACE).read_text()) == pytest.approx(7_000, abs=200)
    assert hot.battery_c is not None
    assert cold.battery_c is not None
    assert hot.battery_c > cold.battery_c + 5.0
    assert hot.zones_c["BIG"] > cold.zones_c["BIG"] + 10.0
    assert hot.zones_c["skin"] < hot.zones_c["BIG"]
    assert (cold.thermal_status, cold.current_freq_khz[-1]) == (0, 2_914_000)
    assert hot.current_freq_khz[-1] < 0.76 * 2_914_000
    assert hot.load_1m == pytest.approx(4.0, abs=0.1)
    assert (phone / "boot" / "loadavg").read_text() == (phone / "root" / "proc/loadavg").read_text()
    counted = [line.split() for line in (phone / "root" / POLICY / "stats/time_in_state").read_text().splitlines()]
    assert sum(int(ticks) for _, ticks in counted) == pytest.approx(3000, abs=15)  # 30 s of the clock, not of heat
    clocks = (phone / "root" / POLICY / "scaling_available_frequencies").read_text().split()
    assert [khz for khz, _ in counted] == clocks
    assert sum(int(ticks) > 0 for _, ticks in counted) > 4
    life.tick(1e9, tmp_path / "proc", "ORCH_ROOT=/other")  # a host that slept, and a process of another phone
    life.close()


def test_heat_stays_over_a_reboot_and_what_the_kernel_counts_does_not(tmp_path: Path) -> None:
    profile = load_profile("pixel-8")
    phone = booted(tmp_path / "phone", profile)
    busy = processes(tmp_path / "proc", "onnxruntime_perf_test", "m.onnx")
    life = HotLife(phone, profile, scenario(), "1")
    life.boot(0.0)
    for tick in range(60):
        life.tick(0.5 * tick, busy, "")
    before = (phone / "root" / PACE).read_text()
    (phone / "root" / POLICY / "scaling_cur_freq").write_text("2914000\n")
    life.boot(29.5)
    life.close()
    assert (phone / "root" / PACE).read_text() == before != "10000\n"
    assert (phone / "root" / POLICY / "scaling_cur_freq").read_text() != "2914000\n"
    counted = (phone / "root" / POLICY / "stats/time_in_state").read_text()
    assert {line.split()[1] for line in counted.splitlines()} == {"0"}


def test_a_missing_sensor_has_no_file_and_a_lying_one_stays_cold(tmp_path: Path) -> None:
    profile = load_profile("pixel-8")
    busy = processes(tmp_path / "proc", "onnxruntime_perf_test", "m.onnx")
    for kind in ("missing", "lying"):
        phone = booted(tmp_path / kind, profile)
        life = HotLife(phone, profile, scenario(sensors=f"{kind} = 1.0"), "1")
        life.boot(0.0)
        cold = parse_vitals(shown(phone))
        for tick in range(60):
            life.tick(0.5 * tick, busy, "")
        life.close()
        hot = parse_vitals(shown(phone))
        told = (hot.battery_c, hot.zones_c, hot.thermal_status, hot.current_freq_khz)
        if kind == "missing":
            assert told == (None, {}, None, ())
            assert not (phone / "root" / POLICY / "stats/time_in_state").exists()
        else:
            assert told == (cold.battery_c, cold.zones_c, 0, cold.current_freq_khz)
            assert int((phone / "root" / PACE).read_text()) < 9_000
        assert hot.battery_level is not None


def test_roots_limit_slows_a_rooted_phone(tmp_path: Path) -> None:
    profile = load_profile("pixel-6-rooted")
    phone = booted(tmp_path / "phone", profile)
    life = HotLife(phone, profile, scenario(), "1")
    fastest = max((phone / "root").glob("sys/devices/system/cpu/cpufreq/policy*"), key=lambda one: int(one.name[6:]))
    (fastest / "scaling_max_freq").write_text(f"{profile.clusters[-1].max_khz // 2}\n")
    life.boot(0.0)
    life.close()
    assert int((phone / "root" / PACE).read_text()) == pytest.approx(5_000, abs=1)


def test_a_phone_without_a_scenario_only_counts_its_clocks(tmp_path: Path) -> None:
    profile = load_profile("pixel-8")
    phone = booted(tmp_path / "phone", profile)
    before = shown(phone)
    life = life_of(phone, profile, None, "1")
    assert isinstance(life, CoolLife)
    life.boot(50.0)
    life.tick(52.5, Path("/nonexistent"), "")
    life.close()
    counted = (phone / "root" / POLICY / "stats/time_in_state").read_text().splitlines()
    assert counted[-1] == "2914000 250"
    assert {line.split()[1] for line in counted[:-1]} == {"0"}
    assert [line for line in shown(phone).splitlines() if "time_in_state" not in line] == before.splitlines()
    assert not (phone / "root" / PACE).exists()


@pytest.mark.parametrize(
    ("words", "threads"),
    [
        (("perf_test", "m.onnx"), 8),
        (("perf_test", "-x", "0", "m.onnx"), 8),
        (("python", "-I", "perf_test", "-r", "5", "-x", "2", "m.onnx"), 2),
        (("perf_test", "-x3", "m.onnx"), 3),
        (("perf_test", "-x=6", "m.onnx"), 6),
        (("perf_test", "--x=6", "m.onnx"), 6),
        (("perf_test", "-x", "m.onnx"), 8),
    ],
)
def test_threads_are_read_from_the_command_line(words: tuple[str, ...], threads: int) -> None:
    assert threads_of("\0".join([*words, ""]).encode(), 8) == threads


def test_only_the_phones_own_perf_tests_heat_it(tmp_path: Path) -> None:
    proc = processes(tmp_path / "proc", "onnxruntime_perf_test", "-x", "2", "m.onnx")
    (proc / "8").mkdir()
    (proc / "8" / "comm").write_text("mksh\n")
    (proc / "9").mkdir()  # it has ended
    assert computing_threads(proc, "", 4) == computing_threads(proc, "ORCH_ROOT=/x", 4) == 2
    assert computing_threads(proc, "ORCH_ROOT=/y", 4) == 0
    assert threads_of(b"", 4) == 0


def test_kept_files_are_never_empty_for_a_reader(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("longer than what comes\n")
    files = Files(tmp_path)
    with open(tmp_path / "a", encoding="utf-8") as reader:
        for text in ("12345\n", "7\n", "123\n"):
            files.put("a", text)
            reader.seek(0)
            assert reader.read() == text
    files.put("a", None)
    files.put("a", None)
    assert not (tmp_path / "a").exists()
    files.put("a", "again\n")
    assert (tmp_path / "a").read_text() == "again\n"
    files.close()


def test_time_in_state_counts_at_the_nearest_clock() -> None:
    assert clock_table(300, 1000, 0.1) == (300, 400, 500, 600, 700, 800, 900, 1000)
    assert time_in_state((300, 400, 1000), {1000.0: 1.5, 380.0: 0.25, 100.0: 0.1}) == "300 10\n400 25\n1000 150\n"


def test_every_policy_and_zone_of_every_profile_has_its_files() -> None:
    said = Readings(battery_level=50, battery_c=30.0, thermal_status=1, clock=0.7, zones_c={"soc": 40.0, "skin": 35.0})
    files = dict(hot_files(load_profile("redmi-go"), said, 0.05, 1.0))
    assert files["sys/class/thermal/thermal_zone0/temp"] == "40000\n"
    assert files["sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq"] == "981120\n"
    assert files[f"{BATTERY}/temp"] == "300\n"


def test_a_spec_survives_its_file() -> None:
    wanted = Wanted(profile="pixel-8", scenario="drift").resolved()
    spec = spec_from_json(spec_as_json("virtual-a-1", wanted, slots_matter=True, confine=False, seed=7))
    assert (spec.serialno, spec.profile.name, spec.slots_matter, spec.confine) == (
        "virtual-a-1",
        "pixel-8",
        True,
        False,
    )
    assert spec.scenario is not None
    assert (spec.scenario.name, spec.scenario_words, spec.own_seed) == ("drift", "drift", "7/virtual-a-1")
    assert wanted.base_name() == "virtual-pixel-8-drift"
    assert Wanted(profile="pixel-8").base_name() == "virtual-pixel-8"


def test_what_runs_at_a_pace_takes_no_less_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "pace"
    path.write_text("2500 \n")
    pace = Pace(str(path))
    start_ns = time.perf_counter_ns()
    time.sleep(0.02)
    ran_ns = time.perf_counter_ns() - start_ns
    pace.stretch(start_ns)
    assert time.perf_counter_ns() - start_ns >= 4 * ran_ns
    path.write_text("")  # what can't be read changes nothing
    time.sleep(0.01)
    start_ns = time.perf_counter_ns()
    assert Slowed(lambda value: time.sleep(0.005) or value, pace)(3) == 3  # type: ignore[arg-type]
    assert time.perf_counter_ns() - start_ns >= 4 * 5_000_000
    with pytest.raises(OSError, match="none"):
        Pace(str(tmp_path / "none"))

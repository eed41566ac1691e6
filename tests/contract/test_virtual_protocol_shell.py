"""shell v1, v2 and exec of a virtual phone, through the true adb command and server, in both modes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from android_runner.virtual.lifecycle import VirtualPhone
from android_runner.virtual.packets import Command
from android_runner.virtual.processes import identify
from android_runner.virtual.state import Places
from tests.contract.adb_host import RawHost, RsaKey
from tests.virtual_lab import VirtualLab


def _eventually(check: object, seconds_s: float = 5.0) -> bool:
    assert callable(check)
    until = time.monotonic() + seconds_s
    while time.monotonic() < until:
        if check():
            return True
        time.sleep(0.01)
    return False


def test_streams_and_exit_code_are_apart(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.shell(phone, "echo out; echo err >&2; exit 42")
    assert (done.returncode, done.stdout, done.stderr) == (42, b"out\n", b"err\n")


@pytest.mark.parametrize(("number", "code"), [(9, 137), (11, 139), (15, 143)])
def test_a_signal_is_128_and_its_number(shared_lab: VirtualLab, phone: VirtualPhone, number: int, code: int) -> None:
    assert shared_lab.shell(phone, f"kill -{number} $$; sleep 5").returncode == code


def test_stdin_arrives_whole_and_ends(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    data = os.urandom(3_000_000)
    done = shared_lab.shell(phone, "cat", stdin=data)
    assert done.stdout == data
    assert shared_lab.shell(phone, "wc -c", stdin=data).stdout.strip() == b"3000000"


def test_input_nobody_reads_does_not_spoil_the_answer(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.shell(phone, "exec <&-; echo fine; exit 5", stdin=b"x" * 1_000_000)
    assert (done.returncode, done.stdout) == (5, b"fine\n")


def test_exec_out_is_binary_and_merged(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.adb("-s", phone.serial, "exec-out", "echo out; echo err >&2")
    assert sorted(done.stdout.split()) == [b"err", b"out"]
    done = shared_lab.adb("-s", phone.serial, "exec-out", "head -c 5000000 /dev/zero")
    assert done.stdout == bytes(5_000_000)


def test_v1_has_no_exit_code(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.adb("-s", phone.serial, "shell", "-x", "echo out; echo err >&2; exit 3")
    assert sorted(done.stdout.split()) == [b"err", b"out"]
    assert done.returncode == 0


def test_a_terminal_is_one(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.adb("-s", phone.serial, "shell", "-tt", "test -t 0 && test -t 1 && echo terminal")
    assert done.stdout.strip() == b"terminal"


def test_an_interactive_shell_runs_what_is_typed(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.adb("-s", phone.serial, "shell", stdin=b"echo typed-$((40 + 2))\nexit 7\n")
    assert b"typed-42" in done.stdout
    assert done.returncode == 7


def test_a_background_process_holds_the_stream_until_it_lets_go(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    begun = time.monotonic()
    shared_lab.shell(phone, "sleep 0.5 & exit 0")
    assert time.monotonic() - begun >= 0.5
    begun = time.monotonic()
    assert shared_lab.shell(phone, "setsid sleep 30 </dev/null >/dev/null 2>&1 &").returncode == 0
    assert time.monotonic() - begun < 25


def test_a_hang_up_is_one_sighup_to_the_shell(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    root = shared_lab.folder(phone) / "root"
    key = RsaKey(Places(shared_lab.home.resolve()).adb_home / ".android" / "adbkey")
    marks = [root / "data/local/tmp" / name for name in ("started", "hup", "child")]
    here = '"${ORCH_ROOT-}"/data/local/tmp'
    command = (
        f"cd {here}; trap 'echo >hup; exit' HUP; sh -c 'trap \"echo >child\" HUP; sleep 3' >/dev/null 2>&1 & "
        "echo >started; while :; do sleep 0.05; done"
    )
    with RawHost(int(phone.serial.rpartition(":")[2])) as host:
        host.connect(key)
        stream = host.open(f"shell,v2,raw:{command}")
        assert _eventually(marks[0].exists)
        host.send(Command.CLSE, 1, stream)
        assert _eventually(marks[1].exists)
    time.sleep(0.2)
    assert not marks[2].exists()


def test_what_the_phone_says_of_itself(shared_lab: VirtualLab, phone: VirtualPhone, mode: str) -> None:
    get = "for p in ro.serialno ro.product.model ro.build.version.sdk ro.orch.confinement none; do getprop $p; done"
    lines = shared_lab.shell(phone, get).stdout.decode().split("\n")
    confinement = "namespace" if mode == "auto" else "unconfined"
    assert lines[:5] == ["virtual-pixel-8-1", "Pixel 8", "34", confinement, ""]
    assert b"[ro.orch.virtual]: [1]\n" in shared_lab.shell(phone, "getprop").stdout


def test_state_is_where_a_phone_has_it(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    r = '"${ORCH_ROOT-}"'
    done = shared_lab.shell(
        phone,
        f"cd {r}/sys/devices/system/cpu; cat cpu8/cpufreq/cpuinfo_max_freq cpufreq/policy0/scaling_cur_freq;"
        f"cat {r}/sys/class/thermal/thermal_zone0/type {r}/sys/class/power_supply/battery/capacity;"
        f"grep -c processor {r}/proc/cpuinfo; cat {r}/proc/uptime",
    )
    lines = done.stdout.decode().splitlines()
    assert lines[:5] == ["2914000", "1704000", "BIG", "78", "9"]
    assert float(lines[5].split()[0]) > 0


def test_services_of_dumpsys(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    from android_runner.virtual.vitals import set_vitals

    set_vitals(
        shared_lab.home,
        phone.serialno,
        battery_level=33,
        battery_c=41.7,
        thermal_status=3,
        zones_c={"skin": 44.25, "BIG": -1.5},
    )
    battery = shared_lab.shell(phone, "dumpsys battery").stdout
    assert b"  level: 33\n" in battery
    assert b"  temperature: 417\n" in battery
    heat = shared_lab.shell(phone, "dumpsys thermalservice").stdout
    assert b"Thermal Status: 3\n" in heat
    assert b"mValue=44.2, mType=3, mName=skin" in heat
    assert b"mValue=-1.5" in heat
    with pytest.raises(KeyError):
        set_vitals(shared_lab.home, phone.serialno, zones_c={"nowhere": 1.0})


def test_settings_properties_and_log(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.shell(
        phone,
        "settings get global nothing; settings put global a 7; settings get global a; settings delete global a;"
        "setprop debug.orch hello; getprop debug.orch; setprop ro.serialno x; echo $?; getprop ro.serialno;"
        "logcat -c; log -t mine one; log -p e -t yours two; logcat -d -s mine",
    )
    lines = done.stdout.decode().splitlines()
    assert lines[:6] == ["null", "7", "Deleted 1 rows", "hello", "1", "virtual-pixel-8-1"]
    assert lines[6].startswith("--------- beginning")
    assert lines[7].endswith("I mine: one")
    assert len(lines) == 8
    assert b"two" in shared_lab.adb("-s", phone.serial, "logcat", "-d").stdout


def test_a_tool_that_the_profile_lacks_is_not_found(shared_lab: VirtualLab) -> None:
    (phone,) = shared_lab.up("redmi-go")
    for tool in ("taskset 1 true", "timeout 1 true", "awk 1"):
        assert shared_lab.shell(phone, tool).returncode == 127
    assert shared_lab.shell(phone, "sha256sum /dev/null").returncode == 0
    if "toybox" in phone.shell:
        done = shared_lab.shell(phone, "toybox taskset 1 true")
        assert (done.returncode, done.stderr) == (127, b"toybox: Unknown command taskset\n")
    assert b"Can't find service" in shared_lab.shell(phone, "dumpsys thermalservice").stderr


def test_a_confined_shell_sees_the_phone_only(shared_lab: VirtualLab, phone: VirtualPhone, mode: str) -> None:
    if mode != "auto":
        assert shared_lab.shell(phone, 'echo "$ORCH_ROOT"').stdout.decode().strip().endswith("virtual-pixel-8-1/root")
        return
    done = shared_lab.shell(
        phone,
        'echo "[${ORCH_ROOT-}]"; id -u; ls -d /home /work 2>/dev/null; '
        "echo x >/data/x; echo x >/system/x; echo x >/usr/x; echo 1 >/proc/sys/kernel/panic; "
        "echo x >/sys/class/thermal/thermal_zone0/temp; "
        "echo '#!/system/bin/sh\necho script' >/data/local/tmp/s; chmod 755 /data/local/tmp/s; /data/local/tmp/s; "
        "for p in /proc/[0-9]*; do echo $p; done | wc -l; grep -c : /proc/net/dev",
    )
    lines = done.stdout.decode().splitlines()
    assert lines[:3] == ["[]", "2000", "script"]
    assert int(lines[3]) < 10
    assert lines[4] == "1"  # the loopback, which is down, and no way out
    # /proc shows the kernel's own files, but nothing can be written there.
    assert len(done.stderr.decode().splitlines()) == 5


def test_an_interpreter_of_the_host_runs_inside(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    import sys

    python = Path(os.path.realpath(sys.executable))
    shared_lab.shell(phone, f"echo '#!{python} -IS\nprint(6 * 7)' >\"${{ORCH_ROOT-}}\"/data/local/tmp/p")
    done = shared_lab.shell(phone, 'cd "${ORCH_ROOT-}"/data/local/tmp; chmod 755 p; ./p')
    assert done.stdout == b"42\n", done.stderr


def test_reboot_is_a_new_boot_without_processes(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    r = '"${ORCH_ROOT-}"'
    detach = f"cd {r}/data/local/tmp; setsid sh -c 'echo $$ >pid; sleep 60' </dev/null >/dev/null 2>&1 & sleep 0.2"
    read = f"cat {r}/proc/sys/kernel/random/boot_id"
    shared_lab.shell(phone, detach)
    before = shared_lab.shell(phone, read).stdout
    assert len(before.strip()) == 36
    sleepers = _sleepers(phone)
    assert sleepers
    shared_lab.shell(phone, "settings put global kept 1")
    assert shared_lab.adb("-s", phone.serial, "reboot").returncode == 0
    assert _eventually(lambda: shared_lab.shell(phone, read).stdout not in (before, b""), 30)
    assert not [pid for pid in sleepers if identify(pid) is not None]
    assert shared_lab.shell(phone, "settings get global kept").stdout == b"1\n"


def test_reboot_from_inside(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    read = 'cat "${ORCH_ROOT-}"/proc/sys/kernel/random/boot_id'
    before = shared_lab.shell(phone, read).stdout
    shared_lab.shell(phone, "reboot; sleep 60")
    assert _eventually(lambda: shared_lab.shell(phone, read).stdout not in (before, b""), 30)


def test_root_is_refused_unless_the_profile_has_it(shared_lab: VirtualLab, phone: VirtualPhone, mode: str) -> None:
    assert b"cannot run as root" in shared_lab.adb("-s", phone.serial, "root").stdout
    (rooted,) = shared_lab.up("pixel-6-rooted")
    assert b"restarting adbd as root" in shared_lab.adb("-s", rooted.serial, "root").stdout
    assert shared_lab.adb("-s", rooted.serial, "wait-for-device").returncode == 0
    if mode == "auto":
        assert shared_lab.shell(rooted, "id -u").stdout == b"0\n"


def test_an_unknown_service_is_refused(shared_lab: VirtualLab, phone: VirtualPhone) -> None:
    done = shared_lab.adb("-s", phone.serial, "jdwp")
    assert done.returncode != 0
    assert shared_lab.shell(phone, "echo alive").stdout == b"alive\n"


def _sleepers(phone: VirtualPhone) -> list[int]:
    """The host's pids of `sleep 60` processes below the phone's daemon or marked as its own."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            own = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if words[:2] == [b"sleep", b"60"] and b"ANDROID_ROOT=/system" in own:
            found.append(int(name))
    return found

"""The doctor's rules: each thing that bites is found with its grade and a mend, and a sound lab is called sound."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.adb.status import ServerStatus, parse_status
from android_runner.errors import HostileAnswer
from android_runner.facts import PhoneFacts, Vitals
from android_runner.host.adb_checks import AdbFacts, AdbProgram, KeyFile, adb_findings
from android_runner.host.finding import HostFinding, Level, may_start
from android_runner.host.host_checks import HostFacts, Room, host_findings
from android_runner.host.kernel_log import TroubleKind, UsbTrouble, usb_troubles
from android_runner.host.listeners import Listener
from android_runner.host.phone_checks import PhoneAsked, phone_findings, said_in
from android_runner.host.processes import HostProcess
from android_runner.host.usb_checks import UsbFacts, usb_findings
from android_runner.host.usb_tree import UsbDevice, UsbTree

DOCTORING = Path(__file__).parents[3] / "orchestrator/app/doctoring.py"
SERVER = HostProcess(
    pid=70, name="adb", command=("/usr/bin/adb", "fork-server", "server"), uid=0, sockets=frozenset({11}),
    environ={"ADB_REJECT_KILL_SERVER": "1"}, usb_nodes=("/dev/bus/usb/001/005",),
)  # fmt: skip
LOCAL = Listener(address="127.0.0.1", port=5037, inode=11)
SOUND = AdbFacts(
    port=5037,
    user=1000,
    machine="x86_64",
    program=AdbProgram(path="/opt/adb", version=(36, 0, 2), protocol=41),
    answers=True,
    status=ServerStatus(version=(36, 0, 2), program="/opt/adb", libusb=False, mdns=False),
    listening=[(LOCAL, SERVER)],
    everywhere=[(LOCAL, SERVER)],
    servers=[SERVER],
    holders=[SERVER],
    keys=[KeyFile(path="/home/n/.android/adbkey", uid=1000, mode=0o600)],
    phone_nodes={"1-1.3": "dev/bus/usb/001/005"},
)


def bad(findings: list[HostFinding]) -> list[tuple[str, Level]]:
    """What is not well; each has a mend."""
    found = [finding for finding in findings if finding.level is not Level.OK]
    assert all(finding.mend for finding in found)
    return [(finding.check, finding.level) for finding in found]


def test_a_sound_adb() -> None:
    found = adb_findings(SOUND)
    assert bad(found) == []
    assert may_start(found)
    assert {finding.check for finding in found} == {"adb-program", "adb-server", "adb-key"}


FOREIGN = replace(SERVER, pid=80, sockets=frozenset({12}))
OPEN = Listener(address="0.0.0.0", port=5037, inode=11)
MTP = HostProcess(pid=90, name="gvfsd-mtp", command=("gvfsd-mtp",), uid=1000, usb_nodes=("/dev/bus/usb/001/005",))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"program": None, "program_problem": "no adb program"}, ("adb-program", Level.STOP)),
        ({"others": [AdbProgram(path="/a/adb", version=(28, 0, 0), protocol=40)]}, ("adb-others", Level.WARN)),
        ({"others": [AdbProgram(path="/a/adb", version=(29, 0, 6), protocol=41)]}, ("adb-others", Level.NOTE)),
        ({"answers": False, "refusal": "speaks version 0028"}, ("adb-server", Level.STOP)),
        ({"answers": False, "status": None}, ("adb-server", Level.STOP)),
        ({"listening": [(LOCAL, replace(SERVER, environ={}))]}, ("adb-server", Level.NOTE)),
        ({"status": ServerStatus(version=(36, 0, 0), program="", libusb=True, mdns=False)}, ("adb-usb", Level.WARN)),
        ({"status": ServerStatus(version=(36, 0, 2), program="", libusb=True, mdns=True)}, ("adb-mdns", Level.NOTE)),
        ({"listening": [(OPEN, SERVER)], "everywhere": []}, ("adb-exposed", Level.STOP)),
        ({"listening": [(OPEN, None)], "everywhere": [], "servers": [], "holders": []}, ("adb-exposed", Level.STOP)),
        ({"everywhere": [(replace(OPEN, port=9000), FOREIGN)]}, ("adb-exposed", Level.STOP)),
        ({"servers": [SERVER, FOREIGN]}, ("adb-second", Level.WARN)),
        ({"holders": [SERVER, MTP]}, ("usb-held", Level.WARN)),
        ({"keys": [KeyFile(path="/k", uid=1000, mode=0o640)]}, ("adb-key", Level.STOP)),
        ({"keys": [KeyFile(path="/k", uid=1001, mode=0o600)]}, ("adb-key", Level.WARN)),
    ],
)
def test_what_bites_of_adb(change: dict[str, object], expected: tuple[str, Level]) -> None:
    assert bad(adb_findings(replace(SOUND, **change))) == [expected]  # type: ignore[arg-type]


def test_a_second_server_is_named_with_its_phones_and_one_without_usb_is_none() -> None:
    (found,) = [one for one in adb_findings(replace(SOUND, servers=[SERVER, FOREIGN])) if one.check == "adb-second"]
    assert "pid 80 (root), /usr/bin/adb" in found.about
    assert "1-1.3" in found.seen
    apart = replace(FOREIGN, environ={"ADB_USB": "0"})
    assert bad(adb_findings(replace(SOUND, servers=[SERVER, apart]))) == []


def test_aarch64_without_a_bundled_adb_is_told_where_one_is() -> None:
    facts = replace(SOUND, program=None, program_problem="no adb program", bundled=False, machine="aarch64")
    (found,) = [one for one in adb_findings(facts) if one.check == "adb-program"]
    assert "aarch64" in found.mend
    assert "ORCH_ADB" in found.mend


def test_nothing_runs_yet_and_no_key() -> None:
    facts = replace(SOUND, answers=False, status=None, listening=[], everywhere=[], servers=[], holders=[], keys=[])
    assert bad(adb_findings(facts)) == []


ANSWER = b"\x08\x02\x10\x01\x18\x02*\x0636.0.02\x0813206524:\x0c/opt/bin/adbB\x0e/tmp/adb.0.logR\x00X\x01`\x01"


def test_a_servers_status() -> None:
    assert parse_status(ANSWER) == ServerStatus(version=(36, 0, 0), program="/opt/bin/adb", libusb=True, mdns=True)
    assert parse_status(b"") == ServerStatus(version=(), program="", libusb=False, mdns=False)


@pytest.mark.parametrize(
    "answer", [b"\x0a", b"\x0a\xff\xff", b"\x0a\x05abc", b"\xff" * 20, b"\x08\x01" * 300, b"\x0b\x01"]
)
def test_a_status_of_another_form_is_refused(answer: bytes) -> None:
    with pytest.raises(HostileAnswer):
        parse_status(answer)


@given(st.binary(max_size=200))
def test_whatever_a_server_answers_is_a_status_or_refused(answer: bytes) -> None:
    with suppress(HostileAnswer):
        assert len(parse_status(answer).program) <= 200


@given(st.text(max_size=300), st.sampled_from(["over-current condition", "USB disconnect, device number 1", "HC died"]))
def test_whatever_the_kernel_logs_is_found_or_not(noise: str, message: str) -> None:
    for trouble in usb_troubles(f"{noise}{message}{noise}\n" * 5):
        assert trouble.count <= 10
        assert usb_findings(UsbFacts(tree=UsbTree(), troubles=[trouble]))[0].mend


ROOMY = Room(use="home", path="/lab", free_bytes=50_000_000_000, free_files=10**6)
HOST = HostFacts(rooms=[ROOMY], max_files=4096, hard_files=4096, max_file_bytes=None, phones=8)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"rooms": [replace(ROOMY, free_bytes=5_000_000_000)]}, [("disk", Level.WARN)]),
        ({"rooms": [replace(ROOMY, free_bytes=500_000_000)]}, [("disk", Level.STOP)]),
        ({"rooms": [replace(ROOMY, free_files=3)]}, [("disk", Level.STOP)]),
        ({"rooms": [replace(ROOMY, free_files=None)]}, []),
        ({"max_files": 64, "hard_files": 4096}, [("ulimit", Level.STOP)]),
        ({"max_files": 200, "hard_files": 200}, [("ulimit", Level.WARN)]),
        ({"max_files": None}, []),
        ({"server_files": 150}, [("ulimit", Level.WARN)]),
        ({"max_file_bytes": 1_000_000}, [("ulimit", Level.STOP)]),
    ],
)
def test_room_and_limits(change: dict[str, object], expected: list[tuple[str, Level]]) -> None:
    assert bad(host_findings(replace(HOST, **change))) == expected  # type: ignore[arg-type]


def device(path: str, **changes: object) -> UsbDevice:
    """A phone, unless changed."""
    base = UsbDevice(
        path=path, product="", serial="", is_hub=False, self_powered=True, max_power_ma=500, speed_mbps=480.0,
        endpoints=3, adb=True, suspends=False, ports=0, node="",
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def hub(path: str, **changes: object) -> UsbDevice:
    """A hub."""
    return device(path, is_hub=True, adb=False, ports=4, **changes)


def tree(*devices: UsbDevice) -> UsbTree:
    """A tree with one controller."""
    return UsbTree(devices={one.path: one for one in devices}, controllers={"usb1": "0000:00:14.0"})


DEEP = ["1-1", "1-1.1", "1-1.1.1", "1-1.1.1.1", "1-1.1.1.1.1", "1-1.1.1.1.1.1"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (UsbFacts(tree=tree(hub("1-1"), device("1-1.3")), troubles=[]), []),
        (UsbFacts(tree=UsbTree(), troubles=[]), []),
        (UsbFacts(tree=tree(hub("1-1", self_powered=False)), troubles=[]), []),
        (
            UsbFacts(tree=tree(hub("1-1", self_powered=False), device("1-1.3")), troubles=[]),
            [("hub-power", Level.WARN)],
        ),
        (UsbFacts(tree=tree(device("1-3", speed_mbps=12.0)), troubles=[]), [("usb-speed", Level.WARN)]),
        (UsbFacts(tree=tree(device("1-3", suspends=True)), troubles=[]), [("usb-suspend", Level.NOTE)]),
        (UsbFacts(tree=tree(device("1-3")), troubles=[], denied=["1-3"]), [("udev", Level.WARN)]),
        (UsbFacts(tree=tree(device("1-3")), troubles=[], rules=False), [("udev", Level.NOTE)]),
        (UsbFacts(tree=tree(device("1-3")), troubles=[], rules=False, root=True), []),
        (UsbFacts(tree=tree(device("1-3")), troubles=None), [("kernel-log", Level.NOTE)]),
        (
            UsbFacts(tree=tree(*(device(f"1-1.{port}") for port in range(1, 29))), troubles=[]),
            [("usb-controller", Level.WARN)],
        ),
        (UsbFacts(tree=tree(*map(hub, DEEP[:-1]), device(DEEP[-1])), troubles=[]), []),
        (UsbFacts(tree=tree(*map(hub, DEEP), device(f"{DEEP[-1]}.1")), troubles=[]), []),
    ],
)
def test_hubs_and_controllers(facts: UsbFacts, expected: list[tuple[str, Level]]) -> None:
    assert bad(usb_findings(facts)) == expected


@pytest.mark.parametrize("kind", list(TroubleKind))
def test_each_trouble_of_the_kernel_has_its_mend_and_names_the_phone(kind: TroubleKind) -> None:
    trouble = UsbTrouble(kind=kind, where="1-1-port3", count=3, last="the line")
    found = usb_findings(UsbFacts(tree=tree(device("1-1.3")), troubles=[trouble], names={"1-1.3": "B3"}))
    assert [(one.level, one.about) for one in found] == [(Level.WARN, "1-1.3 (B3)")]
    assert "3 times" in found[0].seen
    assert found[0].mend


FACTS = PhoneFacts(
    identity="R58", device_model="Pixel 8", manufacturer="Google", fingerprint="", soc="", api_level=34, abis=(),
    exec_abis=(), cores=8, max_freq_khz=(), memory_bytes=0, rooted=False, virtual=False, confinement="", shell="",
    tools=(), launcher="", profile="", free_bytes=10**10,
)  # fmt: skip
VITALS = Vitals(battery_level=78, battery_health="Good", battery_status="Charging")
PHONE = PhoneAsked(
    name="B3", serial="R58", where="usb:1-1.3", facts=FACTS, vitals=VITALS, said={"adb_allowed_connection_time": "0"}
)
ON = {"adb_allowed_connection_time": "0", "adb_wifi_enabled": "1"}


@pytest.mark.parametrize(
    ("phone", "expected"),
    [
        (PHONE, []),
        (replace(PHONE, said={"adb_allowed_connection_time": ""}), ["phone-key-expiry"]),
        (replace(PHONE, said={"adb_allowed_connection_time": "604800000"}), ["phone-key-expiry"]),
        (replace(PHONE, said={"adb_allowed_connection_time": "9007199254740991"}), []),
        (replace(PHONE, said={"adb_allowed_connection_time": ""}, facts=replace(FACTS, api_level=29)), []),
        (replace(PHONE, said={}), []),
        (replace(PHONE, said=ON), ["phone-wireless"]),
        (replace(PHONE, said={**PHONE.said, "service.adb.tcp.port": "5555"}), ["phone-network"]),
        (replace(PHONE, said={**PHONE.said, "service.adb.tcp.port": "-1"}), []),
        (replace(PHONE, where="tcp"), ["phone-network"]),
        (replace(PHONE, said={**PHONE.said, "persist.adb.watchdog": "600"}), ["phone-watchdog"]),
        (replace(PHONE, facts=replace(FACTS, free_bytes=10**8)), ["phone-storage"]),
        (replace(PHONE, vitals=replace(VITALS, battery_health="Overheat")), ["phone-battery"]),
        (replace(PHONE, vitals=replace(VITALS, battery_level=9)), ["phone-battery"]),
        (replace(PHONE, vitals=replace(VITALS, battery_status="Discharging")), ["phone-battery"]),
        (replace(PHONE, vitals=Vitals()), []),
    ],
)
def test_what_bites_of_a_phone(phone: PhoneAsked, expected: list[str]) -> None:
    assert bad(phone_findings(phone)) == [(check, Level.WARN) for check in expected]


@pytest.mark.parametrize(("patch", "named"), [("2026-04-05", True), ("2026-05-01", False), ("", True), ("soon", True)])
def test_the_hole_in_wireless_debugging_is_named_where_it_is(patch: str, named: bool) -> None:
    said = {**ON, "ro.build.version.security_patch": patch}
    (found,) = phone_findings(replace(PHONE, said=said))
    assert ("CVE-2026-0073" in found.seen) is named
    (old,) = phone_findings(replace(PHONE, said=said, facts=replace(FACTS, api_level=33)))
    assert "CVE" not in old.seen


def test_every_check_is_in_the_docs() -> None:
    root = Path(__file__).parents[3]
    source = "".join(path.read_text() for path in [*(root / "android_runner/host").glob("*_checks.py"), DOCTORING])
    checks = set(re.findall(r'check="([a-z-]+)"', source)) | set(re.findall(r'check = "([a-z-]+)"', source))
    checks |= {f"usb-{kind.value.replace(' ', '-')}" for kind in TroubleKind}
    told = set(re.findall(r"`([a-z-]+)`", (root / "docs/doctor.md").read_text()))
    assert checks - told - {"usb", "phone", "kernel-log"} == set()


def test_what_a_phone_says_is_taken_by_name_only() -> None:
    answer = (
        "m:adb_wifi_enabled=1\nm:other=2\nnoise\nm:adb_allowed_connection_time=null\nm:persist.adb.watchdog=\x1b[2J\n"
    )
    assert said_in(answer, "m:") == {
        "adb_wifi_enabled": "1",
        "adb_allowed_connection_time": "",
        "persist.adb.watchdog": "[2J",
    }

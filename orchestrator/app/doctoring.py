"""`orch doctor`: looks at this computer, its adb server and the phones there. Starts, ends and sets nothing."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from android_runner.adb.server import AdbServer
from android_runner.deadline import Deadline
from android_runner.errors import RunnerError
from android_runner.host.adb_checks import AdbFacts, adb_findings
from android_runner.host.finding import HostFinding, Level
from android_runner.host.host_checks import HostFacts, host_findings
from android_runner.host.looking import (
    denied_phones,
    has_udev_rules,
    kernel_troubles,
    limit_of,
    look_at_adb,
    rooms,
)
from android_runner.host.phone_checks import PhoneAsked, ask_settings, phone_findings
from android_runner.host.usb_checks import UsbFacts, usb_findings
from android_runner.host.usb_path import path_of
from android_runner.host.usb_tree import THIS, read_usb_tree
from orchestrator.app.hosts import HostSeen, look_at, servers_of
from orchestrator.app.phones import PROBE_DEADLINE_S, Phone, look
from orchestrator.errors import UsageError
from orchestrator.home import Home, home_at
from orchestrator.lab import tunnel_words
from orchestrator.report.numbers import plural
from orchestrator.store.lab_file import read_lab


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """What to look at. `root` is `/`, or a folder with a copy of another computer's /sys, /proc, /etc and `dmesg`."""

    home: str
    adb_port: int
    root: Path = THIS
    dmesg: Path | None = None


def examined(doctor: Doctor) -> list[HostFinding]:
    """Everything that was looked at, in the order in which it was."""
    tree = read_usb_tree(doctor.root)
    adb = look_at_adb(doctor.adb_port, tree, root=doctor.root, environ=os.environ)
    phones = _phones(adb)
    names = {path: phone.label for phone in phones if (path := path_of(phone.seen.where))}
    usb = UsbFacts(
        tree=tree,
        troubles=kernel_troubles(doctor.root, doctor.dmesg),
        denied=denied_phones(tree, doctor.root),
        rules=has_udev_rules(doctor.root),
        root=os.getuid() == 0,
        names=names,
    )
    return [*adb_findings(adb), *_of_home(doctor, adb, len(phones)), *usb_findings(usb), *_of_phones(phones)]


def _of_home(doctor: Doctor, adb: AdbFacts, phones: int) -> list[HostFinding]:
    try:
        home = home_at(doctor.home)
    except UsageError as error:
        (problem,) = error.problems
        return [HostFinding(check="home", level=Level.STOP, about=problem.where, seen=problem.what, mend=problem.mend)]
    soft, hard = limit_of(resource.RLIMIT_NOFILE)
    server = next((process for _, process in adb.listening if process is not None), None)
    facts = HostFacts(
        rooms=rooms(home.root),
        max_files=soft,
        hard_files=hard,
        max_file_bytes=limit_of(resource.RLIMIT_FSIZE)[0],
        phones=phones,
        server_files=server.max_files if server is not None else None,
    )
    return [*host_findings(facts), *_of_lab(home)]


def _of_lab(home: Home) -> list[HostFinding]:
    """The lab's file: whether it can be read, and whether this host can do what it allows."""
    check = "lab-file"
    try:
        lab = read_lab(home)
    except UsageError as error:
        return [
            HostFinding(
                check=check, level=Level.STOP, about=one.where, seen=one.what, mend=one.mend or "see docs/lab.md"
            )
            for one in error.problems
        ]
    found = [_of_host(look_at(server)) for server in servers_of(lab)]
    switched = any(lab.recovery_of(phone).hub_power for phone in ["", *lab.phones])
    if switched and shutil.which("uhubctl") is None:
        seen = "hub_power is on, and there is no uhubctl on the path: power at a hub's port can't be switched"
        mend = "install uhubctl, with its udev rules for this user"
        found.append(HostFinding(check=check, level=Level.WARN, about=str(home.lab_file), seen=seen, mend=mend))
    return found


def _of_host(host: HostSeen) -> HostFinding:
    """Another host of the lab: whether its adb server answers through its tunnel."""
    name, server = host.server.of, host.server
    if host.problem:
        mend = tunnel_words(server.port, name)
        return HostFinding(check="lab-host", level=Level.WARN, about=name, seen=host.problem, mend=mend)
    usable = sum(phone.usable for phone in host.phones)
    seen = f"{plural(len(host.phones), 'phone')} behind port {server.port}, {usable} answer"
    return HostFinding(check="lab-host", level=Level.OK, about=name, seen=seen)


def _phones(adb: AdbFacts) -> list[Phone]:
    """The phones of the server that runs there; none runs, none seen."""
    if not adb.answers:
        return []
    try:
        return look(AdbServer(port=adb.port))
    except RunnerError:  # it ended since it was asked
        return []


def _of_phones(phones: Sequence[Phone]) -> list[HostFinding]:
    if not phones:
        seen = "none seen"
        return [
            HostFinding(check="phone", level=Level.NOTE, seen=seen, mend="plug one in, USB debugging on: orch devices")
        ]
    with ThreadPoolExecutor(max_workers=16) as pool:
        return [finding for found in pool.map(_of_phone, phones) for finding in found]


def _of_phone(phone: Phone) -> list[HostFinding]:
    if phone.facts is None or phone.vitals is None:
        state = "can't be used" if phone.seen.state == "device" else phone.seen.state
        return [HostFinding(check="phone", level=Level.WARN, about=phone.label, seen=state, mend=phone.mend)]
    try:
        said = ask_settings(phone.source(), deadline=Deadline.after(PROBE_DEADLINE_S))
    except RunnerError as error:
        return [HostFinding(check="phone", level=Level.WARN, about=phone.label, seen=str(error), mend="orch devices")]
    asked = PhoneAsked(
        name=phone.label,
        serial=str(phone.seen.serial),
        where=phone.seen.where,
        facts=phone.facts,
        vitals=phone.vitals,
        said=said,
    )
    return phone_findings(asked)

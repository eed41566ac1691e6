"""Where the state of virtual phones lies below a home, and the records in it.

`virtual/server.json`, `virtual/adb-home/`, `virtual/slots/`, `virtual/lock`, `virtual/daemons/<n>.{json,log}` and
`virtual/phones/<serialno>/{state.json,faults.json,down,root/,boot/}`.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from android_runner.virtual.processes import ProcessId


@dataclass(frozen=True, slots=True)
class Places:
    """The folders and files of one home."""

    home: Path

    @property
    def base(self) -> Path:
        """`<home>/virtual`."""
        return self.home / "virtual"

    @property
    def server(self) -> Path:
        """The record of the adb server."""
        return self.base / "server.json"

    @property
    def adb_home(self) -> Path:
        """HOME of the adb server."""
        return self.base / "adb-home"

    @property
    def key_file(self) -> Path:
        """The one public key that the phones let in."""
        return self.adb_home / ".android" / "adbkey.pub"

    @property
    def slots(self) -> Path:
        """The folder of the computing slots' lock files."""
        return self.base / "slots"

    @property
    def phones(self) -> Path:
        """The folder of the phones' folders."""
        return self.base / "phones"

    @property
    def daemons(self) -> Path:
        """Specs and logs of the daemons."""
        return self.base / "daemons"

    def phone(self, serialno: str) -> Path:
        """One phone's folder."""
        return self.phones / serialno


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneRecord:
    """`state.json` of a phone, written by its daemon. `confinement_reason` says why there are no namespaces.

    `scenario` is the heat that it lives (a name or a path), empty for none.
    """

    serialno: str
    profile: str
    port: int
    pid: int
    start_ticks: int
    confinement: str
    confinement_reason: str
    shell: str
    boot_id: str
    scenario: str = ""

    @property
    def daemon(self) -> ProcessId:
        """The process that is this phone."""
        return ProcessId(self.pid, self.start_ticks)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """`server.json`: the private adb server."""

    port: int
    pid: int
    start_ticks: int

    @property
    def process(self) -> ProcessId:
        """The server's process."""
        return ProcessId(self.pid, self.start_ticks)


def root_mark(phone_dir: Path) -> str:
    """The entry in the environment of every process of an unconfined phone."""
    return f"ORCH_ROOT={phone_dir / 'root'}"


def write_record(path: Path, record: PhoneRecord | ServerRecord) -> None:
    """Replace the file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(dataclasses.asdict(record)), encoding="utf-8")
    fresh.replace(path)


def read_phone(phone_dir: Path) -> PhoneRecord | None:
    """The record of a phone; None where it never lived."""
    content = _read(phone_dir / "state.json")
    return None if content is None else TypeAdapter(PhoneRecord).validate_python(content)


def read_server(places: Places) -> ServerRecord | None:
    """The record of the adb server; None where there never was one."""
    content = _read(places.server)
    return None if content is None else TypeAdapter(ServerRecord).validate_python(content)


def _read(path: Path) -> dict[str, object] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found if isinstance(found, dict) else None

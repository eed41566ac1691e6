"""Virtual phones for tests: a home of one's own, ended with the test.

    from tests.virtual_lab import VirtualLab, adb_path

    def test_something(tmp_path: Path) -> None:
        with VirtualLab(tmp_path) as lab:
            (phone,) = lab.up("pixel-8")
            lab.adb("-s", phone.serial, "shell", "id")

or ask for the fixture `lab` (in a conftest: `from tests import virtual_lab` and `lab = virtual_lab.lab`).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.virtual import lifecycle
from android_runner.virtual.faults import NO_FAULTS, FaultPlan, write_faults
from android_runner.virtual.lifecycle import VirtualPhone
from android_runner.virtual.server import AdbServer
from android_runner.virtual.state import Places

_IDLE_EXIT_S = 120.0
"""Bounds how long phones outlive a test run that was killed."""


def adb_path() -> Path:
    """The adb program that adbutils brings, or the one that ADBUTILS_ADB_PATH names."""
    given = os.environ.get("ADBUTILS_ADB_PATH")
    if given:
        return Path(given)
    import adbutils

    return Path(adbutils.__file__).parent / "binaries" / "adb"


class VirtualLab:
    """Phones in `home`; `down()` (or leaving the `with`) ends every process."""

    def __init__(self, home: Path, *, slots: int = 1, confinement: str = "auto") -> None:
        self.home = home
        self._slots = slots
        self._confinement = confinement

    def __enter__(self) -> VirtualLab:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.down()

    def up(self, *wanted: str | tuple[str, int], slots: int | None = None) -> list[VirtualPhone]:
        """Start phones: `up("pixel-8", ("redmi-go", 3))`."""
        pairs = [(item, 1) if isinstance(item, str) else item for item in wanted]
        return lifecycle.up(
            self.home,
            pairs,
            adb_path(),
            idle_exit_s=_IDLE_EXIT_S,
            slots=self._slots if slots is None else slots,
            confinement=self._confinement,
        )

    @property
    def server(self) -> AdbServer:
        """The lab's adb server (started if need be)."""
        return lifecycle.ensure_server(self.home, adb_path())

    @property
    def server_port(self) -> int:
        """Its port on the loopback."""
        return self.server.port

    def down(self) -> list[str]:
        """Switch all phones off, and the server."""
        return lifecycle.down(self.home)

    def folder(self, phone: VirtualPhone) -> Path:
        """The phone's folder on the host; `root/` in it is the phone's `/`."""
        return Places(self.home.resolve()).phone(phone.serialno)

    def faults(self, phone: VirtualPhone, plan: FaultPlan = NO_FAULTS) -> None:
        """Put a fault plan in place; none: take it away."""
        write_faults(self.folder(phone), plan)
        lifecycle.poke(self.home, phone.serialno)

    def adb(self, *words: str, stdin: bytes = b"", timeout_s: float = 30.0) -> subprocess.CompletedProcess[bytes]:
        """Run the adb command against the lab's server."""
        return subprocess.run(
            [adb_path(), *words],
            env=dict(self.server.env),
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )

    def shell(self, phone: VirtualPhone, command: str, *, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run one command in a phone's shell by the adb command."""
        return self.adb("-s", phone.serial, "shell", command, stdin=stdin)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[VirtualLab]:
    """An empty lab."""
    with VirtualLab(tmp_path / "home") as made:
        yield made

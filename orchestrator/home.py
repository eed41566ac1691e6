"""The home: the folder that holds ledger, shelf, inputs, evidence, binaries, virtual phones and reports."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import Problem, UsageError
from orchestrator.mounts import remote_file_system

LEDGER_FILE = "ledger.sqlite"


@dataclass(frozen=True, slots=True)
class Home:
    """Paths in a home folder; nothing is made by naming them."""

    root: Path

    @property
    def shelf(self) -> Path:
        """Built variants."""
        return self.root / "shelf"

    @property
    def inputs(self) -> Path:
        """Input sets."""
        return self.root / "inputs"

    @property
    def binaries(self) -> Path:
        """Binaries that runs used, each under its digest."""
        return self.root / "binaries"

    @property
    def converters(self) -> Path:
        """The file that other onnxruntimes are registered in."""
        return self.root / "converters.json"

    @property
    def undo(self) -> Path:
        """What runs changed on phones and did not put back yet."""
        return self.root / "undo"

    @property
    def claims(self) -> Path:
        """Who drives which run."""
        return self.root / "locks"

    @property
    def nights(self) -> Path:
        """What nightlies left: their suites and digests."""
        return self.root / "nightly"

    @property
    def virtual(self) -> Path:
        """Virtual phones and their adb server."""
        return self.root / "virtual"

    @property
    def lab_file(self) -> Path:
        """What the lab allows, and how its people share phones (`orchestrator.lab`)."""
        return self.root / "lab.toml"

    def run_folder(self, run_id: str) -> Path:
        """A run's reports."""
        return self.root / run_id


def home_at(option: str | None) -> Home:
    """The home asked for: the option, else `ORCH_HOME`, else `./orch-runs`; made when missing.

    In one that its group may write, what this process makes from now on may be written by the group, too.
    Raises UsageError when the folder can't be made or written, or can't be a home.
    """
    root = Path(option or os.environ.get("ORCH_HOME") or "orch-runs").absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(Problem(str(root), f"can't be the home: {error.strerror}", "give --home DIR")) from error
    if not os.access(root, os.W_OK | os.X_OK):
        raise UsageError(Problem(str(root), "is not writable", "give --home DIR"))
    if remote := remote_file_system(root):
        mend = "a ledger needs a local disk: give --home DIR on one"
        raise UsageError(Problem(str(root), f"lies on a network file system ({remote})", mend))
    _open_to_group(root)
    return Home(root)


def _open_to_group(root: Path) -> None:
    """Keep a home that belongs to a group open to it: new files are of its group, and it may write them."""
    status = root.stat()
    if not status.st_mode & stat.S_IWGRP:
        return
    if not status.st_mode & stat.S_ISGID:
        if status.st_uid != os.geteuid():
            mend = f"its owner: chmod g+s {shlex.quote(str(root))}"
            raise UsageError(Problem(str(root), "may be written by its group, and new files would not be of it", mend))
        root.chmod(stat.S_IMODE(status.st_mode) | stat.S_ISGID)
    os.umask(0o002)

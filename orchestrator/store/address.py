"""Where a home's ledger is: the file `ledger.sqlite` in it, or the PostgreSQL database that its `lab.toml` names."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.errors import Problem, UsageError
from orchestrator.home import LEDGER_FILE, Home, home_at

Address = Path | str
"""A file of SQLite, or a URL `postgresql://USER@HOST:PORT/DATABASE`."""


def ledger_address(root: Path) -> Address:
    """The ledger of the home at `root`, whether it is there or not. Raises UsageError: a wrong `lab.toml`."""
    home = Home(root)
    if not home.lab_file.exists():
        return root / LEDGER_FILE
    from orchestrator.store.lab_file import read_lab  # noqa: PLC0415 - most homes have none, and it takes a while

    return read_lab(home).lab.ledger or root / LEDGER_FILE


def ledger_is_there(root: Path) -> bool:
    """Whether the home at `root` has a ledger to be read: opening it makes nothing new. Raises UsageError, OSError."""
    address = ledger_address(root)
    return isinstance(address, str) or address.is_file()


def home_with_runs(option: str | None) -> Home:
    """The home asked for, as `home_at`, for who only reads what runs left: nothing is made.

    Raises UsageError also when no ledger is there.
    """
    root = Path(option or os.environ.get("ORCH_HOME") or "orch-runs").absolute()
    try:
        found = ledger_is_there(root)
    except OSError as error:
        raise UsageError(Problem(str(root), f"can't be read: {error.strerror}", "give --home DIR")) from error
    if not found:
        mend = "--home DIR or ORCH_HOME names the folder of runs; orch run makes one"
        raise UsageError(Problem(str(root), "no ledger is there", mend))
    return home_at(option)

"""A home's ledger goes to PostgreSQL: copied, counted, named in `lab.toml`; the file is set aside and kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from orchestrator.app.standing import standings
from orchestrator.errors import Problem, UsageError
from orchestrator.home import LEDGER_FILE, Home
from orchestrator.lab import parse_lab
from orchestrator.store.address import ledger_address
from orchestrator.store.moving import copy_ledger
from orchestrator.variants.whole_files import write_whole

ASIDE = LEDGER_FILE + ".moved"
_LAB = re.compile(r"^\[lab\][ \t]*(#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The rows of each table, and where the file is kept."""

    rows: dict[str, int]
    kept: Path


def move_ledger(home: Home, url: str) -> Moved:
    """Move the ledger of a home into the PostgreSQL database at `url`. Raises UsageError: the URL, a run that lives,
    a home whose ledger is elsewhere already; StoreError: a database, and then everything is as it was."""
    file = ledger_address(home.root)
    if isinstance(file, str):
        mend = "move it from there with pg_dump and pg_restore, then change lab.toml"
        raise UsageError(Problem(str(home.lab_file), f"the ledger is at {file} already", mend))
    text = home.lab_file.read_text(encoding="utf-8") if home.lab_file.exists() else ""
    named = with_ledger(text, url)
    parse_lab(named, f"{home.lab_file} with ledger = {url!r}")
    living = [one.run_id for one in standings(home) if one.living]
    if living:
        raise UsageError(Problem(", ".join(living), "runs now", f"orch cancel {living[0]}, or wait"))
    rows = copy_ledger(file, url)
    write_whole(home.lab_file, named)
    kept = file.with_name(ASIDE)
    file.rename(kept)
    return Moved(rows=rows, kept=kept)


def with_ledger(text: str, url: str) -> str:
    """A lab's file that names the ledger, all else as it was."""
    line = f'ledger = "{url}"'
    if _LAB.search(text):
        return _LAB.sub(lambda found: f"{found[0]}\n{line}", text, count=1)
    return f"[lab]\n{line}\n\n{text}" if text else f"[lab]\n{line}\n"

"""`orch import`, and the other half of `orch export --bundle`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home, home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What orch export RUN --bundle FILE wrote.")],
    home: HomeOption = "",
) -> int:
    """Take a run of another home in, with its raw files. Every name, size and digest is looked at before anything is
    kept; the same run again changes nothing, and brings back raw files that were cleaned."""
    from orchestrator.app.bundling import import_bundle  # noqa: PLC0415 - the ledger is opened when called
    from orchestrator.report.numbers import plural, size  # noqa: PLC0415

    path = Path(file).absolute()
    if not path.is_file():
        raise UsageError(Problem(file, "is no file", "orch export RUN --bundle FILE makes one"))
    done = import_bundle(home_at(home), path)
    files = plural(done.files, "raw file")
    head = f"{done.run_id}: {plural(done.attempts, 'attempt')}, {files} of {size(done.size_bytes)}"
    if done.known:
        head = f"{done.run_id}: is here already; {files} came back"
    sys.stdout.write(f"{head}\n")
    sys.stderr.write(f"next    orch report {done.run_id}\n")
    return int(ExitCode.DONE)


def write_bundle(home: Home, run: str, path: Path, *, lenient: bool) -> int:
    """A run as one file; the exit code."""
    from orchestrator.app.bundling import export_bundle  # noqa: PLC0415
    from orchestrator.cli.answer import short  # noqa: PLC0415
    from orchestrator.report.numbers import plural, size  # noqa: PLC0415

    done = export_bundle(home, run, path, lenient=lenient)
    sys.stdout.write(f"{short(path)}\n")
    for words in done.left_out:
        sys.stderr.write(f"left out: {words}\n")
    files = plural(done.files, "raw file")
    sys.stderr.write(f"{files}, {size(done.size_bytes)}; next: orch import {short(path)} --home DIR\n")
    return int(ExitCode.INCOMPLETE if done.left_out else ExitCode.DONE)

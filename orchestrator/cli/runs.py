"""`orch runs`, `orch status`, `orch cancel`, and what `orch` alone says."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home, home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("runs")
def runs(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """The runs of this home, newest first."""
    from orchestrator.app.standing import standings  # noqa: PLC0415 - the ledger is opened when called

    found = standings(home_at(home))
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found], indent=2))
    elif not found:
        typer.echo("no runs yet: orch run MODEL.onnx --device virtual")
    for one in [] if as_json else found:
        typer.echo(one.line())
    return int(ExitCode.DONE)


@app.command("status")
def status(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """What runs now, how far it is, and which runs were cut off."""
    from orchestrator.app.standing import standings  # noqa: PLC0415

    found = [one for one in standings(home_at(home)) if one.living or one.cut_off]
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found], indent=2))
        return int(ExitCode.DONE)
    for one in found:
        typer.echo(one.line())
        if one.cut_off:
            typer.echo(f"  cut off: orch resume {one.run_id}")
    if not found:
        typer.echo("nothing runs")
    return int(ExitCode.DONE)


@app.command("cancel")
def cancel(
    run: Annotated[str, typer.Argument(help="A run's name, a unique part of it, @last.")] = "@last",
    home: HomeOption = "",
) -> int:
    """Stop a run that goes on elsewhere: trials on phones are ended, what was measured stays."""
    from orchestrator.app.standing import standing_of  # noqa: PLC0415

    one = standing_of(home_at(home), run)
    if one.living is None:
        mend = f"orch resume {one.run_id} goes on with it" if one.cut_off else "nothing to do"
        raise UsageError(Problem(one.run_id, "does not run", mend))
    os.kill(one.living, signal.SIGTERM)
    typer.echo(f"{one.run_id}: asked process {one.living} to stop", err=True)
    return int(ExitCode.DONE)


def overview() -> None:
    """What `orch` alone says of the present home: what runs, what needs hands."""
    root = Path(os.environ.get("ORCH_HOME") or "orch-runs").absolute()
    if not (root / "ledger.sqlite").is_file():
        typer.echo("no runs here yet\n")
        return
    from orchestrator.app.standing import standings  # noqa: PLC0415

    found = standings(Home(root))
    for one in found[:3]:
        typer.echo(one.line())
    typer.echo("")

"""`orch runs`, `orch status`, `orch cancel`, and what `orch` alone says."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home, home_at

if TYPE_CHECKING:
    from orchestrator.app.standing import Standing

NO_RUNS = "no runs yet: orch run MODEL.onnx --device virtual"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("runs")
def runs(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """The runs of this home, newest first."""
    from orchestrator.app.standing import standings  # noqa: PLC0415 - the ledger is opened when called

    return _shown(standings(home_at(home)), as_json=as_json, empty=NO_RUNS)


@app.command("status")
def status(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """What runs now, how far it is, and which runs were cut off."""
    from orchestrator.app.standing import standings  # noqa: PLC0415

    found = [one for one in standings(home_at(home)) if one.needs_eyes]
    return _shown(found, as_json=as_json, empty="nothing runs")


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
        typer.echo(f"{NO_RUNS}\n")
        return
    from orchestrator.app.standing import standings  # noqa: PLC0415

    found = standings(Home(root))
    _shown([one for one in found if one.needs_eyes], as_json=False, empty=f"nothing runs; {len(found)} kept: orch runs")
    typer.echo("")


def _shown(found: Sequence[Standing], *, as_json: bool, empty: str) -> int:
    from orchestrator.report.runs_text import render_runs  # noqa: PLC0415

    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in found], indent=2))
    else:
        typer.echo(render_runs([one.row() for one in found], empty=empty, colour=wants_colour()), nl=False)
    return int(ExitCode.DONE)

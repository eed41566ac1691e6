"""`orch runs`, `orch status`, `orch cancel`, and what `orch` alone says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
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
def status(
    once: Annotated[bool, typer.Option("--once", help="Once, also on a terminal.")] = False,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """What runs now, phone by phone, and which runs were cut off; on a terminal until Ctrl-C, or until nothing runs."""
    from orchestrator.app.boarding import boards  # noqa: PLC0415 - the ledger is opened when called
    from orchestrator.report.board import render_board  # noqa: PLC0415
    from orchestrator.store.codec import plain  # noqa: PLC0415

    place = home_at(home)
    found = boards(place, _now())
    if as_json:
        typer.echo(json.dumps(plain(found), indent=2))
    elif once or not _is_live() or all(run.cut_off for run in found):
        typer.echo(render_board(found, _now(), colour=wants_colour()), nl=False)
    else:
        _follow(place)
    return int(ExitCode.DONE)


LOOK_EVERY_S = 1.0


def _now() -> datetime:
    return datetime.now(UTC)


def _is_live() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _follow(home: Home) -> None:
    """Draw the board anew each second, until nothing runs any more or somebody presses Ctrl-C."""
    from orchestrator.app.boarding import boards  # noqa: PLC0415 - as above
    from orchestrator.cli.screen import Screen  # noqa: PLC0415
    from orchestrator.report.board import board_lines  # noqa: PLC0415

    screen = Screen(sys.stdout.fileno())
    with suppress(KeyboardInterrupt):
        while True:
            found = boards(home, _now())
            screen.draw(board_lines(found, _now(), *screen.size()))
            if all(run.cut_off for run in found):
                return
            time.sleep(LOOK_EVERY_S)


@app.command("cancel")
def cancel(
    run: Annotated[str, typer.Argument(help="A run's name, a unique part of it, @last.")] = "@last",
    home: HomeOption = "",
) -> int:
    """Stop a run that goes on elsewhere: trials on phones are ended, what was measured stays."""
    from orchestrator.app.standing import standing_of  # noqa: PLC0415

    one = standing_of(home_at(home), run)
    if one.elsewhere:
        raise UsageError(Problem(one.run_id, f"{one.elsewhere} drives it", f"orch cancel {one.run_id} there"))
    if one.living is None:
        mend = f"orch resume {one.run_id} goes on with it" if one.cut_off else "nothing to do"
        raise UsageError(Problem(one.run_id, "does not run", mend))
    os.kill(one.living, signal.SIGTERM)
    typer.echo(f"{one.run_id}: asked process {one.living} to stop", err=True)
    return int(ExitCode.DONE)


def overview() -> None:
    """What `orch` alone says of the present home: what runs, what needs hands."""
    root = Path(os.environ.get("ORCH_HOME") or "orch-runs").absolute()
    from orchestrator.store.address import ledger_is_there  # noqa: PLC0415

    if not ledger_is_there(root):
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

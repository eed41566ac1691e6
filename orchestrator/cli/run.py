"""`orch run`, `orch plan`, `orch resume`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from orchestrator.app.wish import Wish, wish_of
from orchestrator.cli.options import AllTables, Asked, Going, Place, Strict, flat
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("run")
@flat
def run(
    asked: Asked,
    place: Place,
    going: Going,
    verify_staged: Annotated[bool, typer.Option("--verify-staged", help="Hash what lies on the phones again.")] = False,
    hot_plug: Annotated[bool, typer.Option("--hot-plug", help="Phones that come while the run lasts join it.")] = False,
) -> int:
    """Measure models on phones: plan, stage, run, report."""
    return measure(wish_of(asked.options()), place, going, verify_staged=verify_staged, hot_plug=hot_plug)


@app.command("plan")
@flat
def plan(
    asked: Asked,
    place: Place,
    all_rows: Annotated[bool, typer.Option("--all", help="List every setting that is dropped.")] = False,
) -> int:
    """Say what `orch run` would do: cases, what is merged and dropped and why, time and bytes. Nothing is run."""
    return show_plan(wish_of(asked.options()), place, all_rows=all_rows)


@app.command("resume")
@flat
def resume(
    place: Place,
    run: Annotated[
        str, typer.Argument(help="A run's name or a unique part of it (default: the newest unfinished).")
    ] = "",
    all_tables: AllTables = False,
    strict: Strict = False,
) -> int:
    """Go on with a run that was cut off: what phones finished alone is taken over, nothing is measured twice."""
    from orchestrator.cli.live import go_on  # noqa: PLC0415 - only a run needs the farm

    home = home_at(place.home)
    return go_on(
        run, home, adb_port=place.adb_port, slots=place.slots, asked_slots=place.virtual_slots, strict=strict,
        all_tables=all_tables,
    )  # fmt: skip


def measure(wish: Wish, place: Place, going: Going, *, verify_staged: bool = False, hot_plug: bool = False) -> int:
    """Carry a wish out as a run, or say what that would be; the exit code."""
    if going.dry_run:
        return show_plan(wish, place, all_rows=going.all_tables)
    from orchestrator.cli.live import go  # noqa: PLC0415 - only a run needs the farm

    return go(
        wish, home_at(place.home), adb_port=place.adb_port, slots=place.slots, yes=going.yes,
        verify_staged=verify_staged, strict=going.strict, all_tables=going.all_tables,
        command="orch " + shlex.join(sys.argv[1:]), anew=going.new, hot_plug=hot_plug,
    )  # fmt: skip


def show_plan(wish: Wish, place: Place, *, all_rows: bool) -> int:
    """Print what a wish would do; the exit code."""
    from orchestrator.app.planning import plan_only  # noqa: PLC0415
    from orchestrator.report.plan_text import render_plan  # noqa: PLC0415

    def say(line: str) -> None:
        typer.echo(line, err=True)

    view = plan_only(wish, home_at(place.home), place.adb_port, place.slots, say)
    typer.echo(render_plan(view, all_rows=all_rows, colour=wants_colour()), nl=False)
    return int(ExitCode.DONE)

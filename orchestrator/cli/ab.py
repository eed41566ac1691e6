"""`orch ab`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from typing import Annotated

import typer

from orchestrator.cli.options import AllTables, Measuring, Place, flat
from orchestrator.cli.run import Strict, show_plan
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Measuring):
    """The two that are held against each other, on what models, how exactly."""

    things: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL]...", help="Models that A and B have in common, unless they name their own."),
    ] = field(default_factory=list)
    a: Annotated[
        list[str],
        typer.Option(
            "--a", metavar="WORDS",
            help="A: a model's file, binary=PATH lib=PATH, ep=nnapi flags=fp16, level=basic, threads=4, format=ort, …",
        ),
    ]  # fmt: skip
    b: Annotated[list[str], typer.Option("--b", metavar="WORDS", help="B, in the same words.")]
    delta: Annotated[str, typer.Option("--delta", metavar="P", help="The difference that matters.")] = "2%"
    fail_if: Annotated[
        list[str],
        typer.Option("--fail-if", metavar="GATE", help="p50:5%: exit 1 where B is surely slower, by more than that."),
    ] = field(default_factory=list)
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="At most so many pairs of rounds (default 30).")
    ] = None


@app.command("ab")
@flat
def ab(
    compared: Compared,
    place: Place,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before a run of over an hour.")] = False,
    all_tables: AllTables = False,
    strict: Strict = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run; touch no phone.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Begin anew, though this plan's last run is unfinished.")] = False,
) -> int:
    """Measure A beside B on the same phones: in pairs of rounds, A B B A, until the interval of their ratio lies beyond
    what matters or within it. Looking early makes no error likelier. (orch compare reads what was measured.)"""
    from orchestrator.app.ab import ab_wish  # noqa: PLC0415 - only when called, as below
    from orchestrator.app.wish import RunOptions  # noqa: PLC0415

    typed = compared.typed()
    a, b, delta, fail_if = (typed.pop(name) for name in ("a", "b", "delta", "fail_if"))
    wish = ab_wish(RunOptions(**typed), a, b, delta, fail_if)
    if dry_run:
        return show_plan(wish, place, all_rows=all_tables)
    from orchestrator.cli.live import go  # noqa: PLC0415 - only a run needs the farm

    return go(
        wish, home_at(place.home), adb_port=place.adb_port, slots=place.slots, yes=yes, verify_staged=False,
        strict=strict, all_tables=all_tables, command="orch " + shlex.join(sys.argv[1:]), anew=new, hot_plug=False,
    )  # fmt: skip

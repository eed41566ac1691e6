"""`orch replay`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from orchestrator.cli.options import AllTables, Place, flat
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.load import CONTROL_ROUNDS, LEDGER_ROUNDS
from orchestrator.store.address import home_with_runs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("replay")
@flat
def replay(
    place: Place,
    what: Annotated[str, typer.Argument(metavar="RUN/PHONE/ROW", help="A row, by its number or name.")],
    device: Annotated[
        list[str], typer.Option("--device", metavar="EXPR", help="Other phones (default: its own); repeatable.")
    ] = [],  # noqa: B006 - Typer's way of a repeatable option
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="Rounds (default: as many as were valid).")
    ] = None,
    all_tables: AllTables = False,
) -> int:
    """Asks a row of an earlier run again, with the very variant, inputs and binary that it had, and says whether both
    agree within what they can resolve."""
    if rounds is not None and not CONTROL_ROUNDS <= rounds <= LEDGER_ROUNDS:
        raise UsageError(Problem("--rounds", f"{rounds} is out of range", f"give {CONTROL_ROUNDS} to {LEDGER_ROUNDS}"))
    from orchestrator.app.replaying import Again  # noqa: PLC0415 - only a run needs all this
    from orchestrator.cli.live import go_again  # noqa: PLC0415

    command = "orch " + shlex.join(sys.argv[1:])
    again = Again(words=what, device=tuple(device), rounds=rounds, command=command)
    return go_again(
        again, home_with_runs(place.home), adb_port=place.adb_port, slots=place.slots, all_tables=all_tables
    )

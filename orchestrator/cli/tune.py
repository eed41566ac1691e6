"""`orch tune`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.cli.options import ConfigOption, Going, Measuring, Place, flat
from orchestrator.cli.run import measure

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched(Measuring):
    """What is searched, and how well the best is to be known."""

    things: Annotated[
        list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx, MODEL.ort, a folder with models, or PLAN.toml.")
    ]
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="The axes: quick (default), guided, nnapi, cpu or full.")
    ] = ""
    build_config: ConfigOption = ""
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Each phone's time, for all models (default 10m).")
    ] = ""
    within: Annotated[
        str, typer.Option("--within", metavar="P", help="Done when nothing is better by more than this, surely.")
    ] = "2%"
    objective: Annotated[
        str, typer.Option("--objective", metavar="WHAT", help="p50, p90, cold, memory, or pareto: all trade-offs.")
    ] = "p50"


@app.command("tune")
@flat
def tune(
    searched: Searched,
    place: Place,
    going: Going,
) -> int:
    """Search a plan's settings for the best on each phone with a fraction of the processes that measuring all would
    take: a few of each level first, then rounds of what may still win. Ends when the best is known, or the budget is
    gone. (orch run measures every setting.)"""
    from orchestrator.app.tune import tune_wish  # noqa: PLC0415 - only when called, as below
    from orchestrator.app.wish import RunOptions  # noqa: PLC0415

    typed = searched.typed()
    within, objective = (typed.pop(name) for name in ("within", "objective"))
    return measure(tune_wish(RunOptions(**typed), within, objective), place, going)

"""`orch recommend`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode
from orchestrator.store.address import home_with_runs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("recommend")
def recommend(
    run: Annotated[str, typer.Argument(help="A run's name, a unique part of it, @last.")] = "@last",
    within: Annotated[
        str, typer.Option("--within", metavar="P", help="How far off its best any phone may be with one for all.")
    ] = "5%",
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """The best setting for each phone and model, why and how surely, and the one that suits all phones, with its price.

    Reads what was measured; touches no phone. Exit 3 where nothing can be recommended.
    """
    from orchestrator.cli.answer import frames_of  # noqa: PLC0415 - pandas is loaded when called
    from orchestrator.report.comparison.gates import parse_share  # noqa: PLC0415
    from orchestrator.report.recommendation.recommend import recommend as recommended  # noqa: PLC0415
    from orchestrator.report.recommendation.text import recommendations_json, render_recommendations  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415 - opened when called

    share = parse_share(within, "--within")
    where = home_with_runs(home)
    ledger = Ledger.open(where.root)
    try:
        models = recommended(frames_of(ledger.find_run(run), where, ledger), within=share)
    finally:
        ledger.close()
    sys.stdout.write(recommendations_json(models) if as_json else render_recommendations(models, colour=wants_colour()))
    told = any(phone.winner is not None for model in models for phone in model.phones)
    return int(ExitCode.DONE if told else ExitCode.INCOMPLETE)

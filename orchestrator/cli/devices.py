"""`orch devices`."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_ADB_PORT, HomeOption, JsonOption, PortOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("devices")
def devices(
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="Only virtual phones; adb's own server is left alone.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """The phones that adb sees, real ones first, with what each can do and what to do about those that can't."""
    from orchestrator.app.listing import device_rows  # noqa: PLC0415 - adb is reached when called
    from orchestrator.report.devices import render_devices  # noqa: PLC0415

    rows = device_rows(home_at(home), None if virtual else adb_port)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
    else:
        typer.echo(render_devices(rows, colour=wants_colour()), nl=False)
    return int(ExitCode.DONE if any(row.usable for row in rows) else ExitCode.NO_DEVICE)

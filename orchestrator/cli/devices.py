"""`orch devices`: the list, `restore`, and (in `lab_phones`) what people say of phones."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from orchestrator.cli import lab_phones
from orchestrator.cli.options import DEFAULT_ADB_PORT, HomeOption, JsonOption, OnlyVirtual, PortOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, worst
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def devices(
    ctx: typer.Context,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
    as_json: JsonOption = False,
) -> int:
    """The phones that adb sees, real ones first, with what each can do and what to do about those that can't."""
    if ctx.invoked_subcommand is not None:
        return int(ExitCode.DONE)
    return _list(home, None if virtual else adb_port, as_json=as_json)


@app.command("list")
def list_(
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
    as_json: JsonOption = False,
) -> int:
    """The same as `orch devices` alone."""
    return _list(home, None if virtual else adb_port, as_json=as_json)


def _list(home: str, adb_port: int | None, *, as_json: bool) -> int:
    from orchestrator.app.listing import device_list  # noqa: PLC0415 - adb is reached when called
    from orchestrator.app.preparing import still_prepared  # noqa: PLC0415
    from orchestrator.report.devices import render_devices  # noqa: PLC0415

    place = home_at(home)
    found = device_list(place, adb_port)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(row) for row in (*found.rows, *found.missing_rows)], indent=2))
        for words in found.missing:
            typer.echo(f"missing: {words}", err=True)
    else:
        text = render_devices(found.rows, missing=found.missing, expected=found.expected, colour=wants_colour())
        typer.echo(text, nl=False)
    for words in found.silent:
        typer.echo(words, err=True)
    left = still_prepared(place) - {row.phone for row in found.rows if row.state.startswith("busy")}
    if left:
        typer.echo(f"still prepared by a run that is gone: {', '.join(sorted(left))}: orch devices restore", err=True)
    codes = [] if any(row.usable for row in found.rows) else [ExitCode.NO_DEVICE]
    return int(worst([*codes, ExitCode.INCOMPLETE if found.missing or found.silent else ExitCode.DONE]))


app.registered_commands += lab_phones.app.registered_commands


@app.command("restore")
def restore(
    phones: Annotated[list[str], typer.Argument(metavar="PHONE", help="Phones by serial number (default: all).")] = [],  # noqa: B006
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
    as_json: JsonOption = False,
) -> int:
    """Put back what a run with --prepare changed on phones and could not put back: killed, or the power went.

    Once more changes nothing. What somebody else has changed since is said and left as it is.
    """
    from android_runner.deadline import SystemClock  # noqa: PLC0415
    from orchestrator.app.preparing import put_back  # noqa: PLC0415

    def say(words: str) -> None:
        typer.echo(words, err=True)

    done = put_back(phones, home_at(home), None if virtual else adb_port, SystemClock(), say)
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in done], indent=2))
    for words in [words for one in done for words in one.lines()] or ["nothing to put back"]:
        typer.echo(words, err=True)
    return int(worst([one.code for one in done]))

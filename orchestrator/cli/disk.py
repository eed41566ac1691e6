"""`orch disk`, `orch disk clean`, `orch disk ledger`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import (
    DEFAULT_ADB_PORT,
    HomeOption,
    JsonOption,
    PortOption,
    SlotsOption,
    slots_or_default,
)
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home
from orchestrator.store.address import home_with_runs

if TYPE_CHECKING:
    from orchestrator.report.disk import PhoneDisk

app = typer.Typer(add_completion=False, rich_markup_mode=None)
disk_app = typer.Typer(add_completion=False, rich_markup_mode=None, invoke_without_command=True)
app.add_typer(disk_app, name="disk")


@disk_app.callback()
def disk(
    ctx: typer.Context,
    device: Annotated[
        list[str], typer.Option("--device", metavar="EXPR", help="Also our folder on these phones; repeatable.")
    ] = [],  # noqa: B006 - Typer's way of a repeatable option
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual_slots: SlotsOption = 0,
    as_json: JsonOption = False,
) -> int:
    """What of the home takes how much of the disk; `orch disk clean` makes room, `orch devices clean` on a phone."""
    if ctx.invoked_subcommand is not None:
        if home or as_json or device:
            words = "options of a command stand behind it"
            raise UsageError(Problem("orch disk", words, f"orch disk {ctx.invoked_subcommand} --home DIR …"))
        return int(ExitCode.DONE)
    from orchestrator.app.disk_use import disk_use  # noqa: PLC0415 - the ledger is opened when called
    from orchestrator.report.disk_text import render_disk  # noqa: PLC0415
    from orchestrator.store.codec import plain  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    place = home_with_runs(home)
    phones = _phones(device, place, adb_port, slots_or_default(virtual_slots)) if device else ()
    ledger = Ledger.open(place.root)
    try:
        use = replace(disk_use(place, ledger), phones=phones)
    finally:
        ledger.close()
    typer.echo(
        json.dumps(plain(use), indent=2) + "\n" if as_json else render_disk(use, colour=wants_colour()), nl=False
    )
    return int(ExitCode.INCOMPLETE if any(one.problem for one in phones) else ExitCode.DONE)


def _phones(device: list[str], home: Home, adb_port: int, slots: int) -> tuple[PhoneDisk, ...]:
    from orchestrator.app.choosing import chosen_phones  # noqa: PLC0415
    from orchestrator.app.phone_disk import phones_disk  # noqa: PLC0415 - adb is reached when asked for

    return phones_disk(chosen_phones(device, home, adb_port, slots, lambda words: typer.echo(words, err=True)))


@disk_app.command("clean")
def clean(
    older: Annotated[str, typer.Option("--older", metavar="AGE", help="Of runs older than this: 90d, 12w, 36h.")] = "",
    bound: Annotated[
        str, typer.Option("--bound", metavar="SIZE", help="The oldest, until the home takes no more: 20GB.")
    ] = "",
    keep_compared: Annotated[
        bool, typer.Option("--keep-compared", help="Leave a run wholly alone of which anything was compared.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Also what was compared, gated, exported, alerted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Remove raw files, reports, built variants and binaries of old runs. The ledger's rows stay, and so does the
    evidence of every number that was compared, gated, exported or alerted, unless --force. Exit 3 when a bound does
    not hold."""
    older_than, bound_bytes = _asked(older, bound, keep_compared=keep_compared, force=force)
    from orchestrator.app.clean_plan import AskedCleaning  # noqa: PLC0415 - the ledger is opened when called
    from orchestrator.app.cleaning import clean as remove  # noqa: PLC0415
    from orchestrator.report.disk_text import render_cleaning  # noqa: PLC0415
    from orchestrator.store.codec import plain  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    place = home_with_runs(home)
    ledger = Ledger.open(place.root)
    try:
        what = AskedCleaning(
            older=older_than, bound_bytes=bound_bytes, keep_compared=keep_compared, force=force, dry_run=dry_run
        )
        done = remove(place, ledger, what)
    finally:
        ledger.close()
    text = json.dumps(plain(done), indent=2) + "\n" if as_json else render_cleaning(done, colour=wants_colour())
    typer.echo(text, nl=False)
    return int(ExitCode.DONE if done.holds and not done.problems else ExitCode.INCOMPLETE)


@disk_app.command("ledger")
def ledger(
    url: Annotated[str, typer.Argument(metavar="URL", help="postgresql://USER@HOST:PORT/DATABASE, an empty one.")],
    home: HomeOption = "",
) -> int:
    """Move the ledger into a PostgreSQL database, which several hosts may share. The file is kept beside, set aside."""
    from orchestrator.app.moving_ledger import move_ledger  # noqa: PLC0415 - the ledger is opened when called

    moved = move_ledger(home_with_runs(home), url)
    typer.echo(f"{moved.rows['run']} runs, {sum(moved.rows.values())} rows in all: now at {url}")
    typer.echo(f"lab.toml says so; the file is kept as {moved.kept}", err=True)
    return int(ExitCode.DONE)


def _asked(older: str, bound: str, *, keep_compared: bool, force: bool) -> tuple[timedelta | None, int | None]:
    """The age and the bound. Raises UsageError with everything that is wrong."""
    from orchestrator.app.amounts import age_s_of, bytes_of  # noqa: PLC0415

    age_s, bound_bytes = age_s_of(older), bytes_of(bound)
    problems = []
    if older and age_s is None:
        problems.append(Problem("--older", f"{older!r} is no age", "for example 90d, 12w or 36h"))
    if bound and bound_bytes is None:
        problems.append(Problem("--bound", f"{bound!r} is no size", "for example 20GB, 500MB or 1.5TB"))
    if not older and not bound:
        problems.append(
            Problem("arguments", "says neither what is old nor how much may stay", "--older 90d, --bound 20GB")
        )
    if force and keep_compared:
        problems.append(Problem("--force", "contradicts --keep-compared", "give one of them"))
    if problems:
        raise UsageError(*problems)
    return None if age_s is None else timedelta(seconds=age_s), bound_bytes

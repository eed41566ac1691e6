"""`orch nightly install | run | status | uninstall`."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

import typer

from orchestrator.cli.digest import alerts, digest
from orchestrator.cli.options import HomeOption, JsonOption, Place, flat
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="What runs each night, and says so at dawn.")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Of HOME/nightly/NAME.toml, or a path (default: the only one).")
]


class Starter(StrEnum):
    """What may start a nightly."""

    SYSTEMD = "systemd"
    CRON = "cron"


@app.command("install")
@flat
def install(
    place: Place,
    name: NameArgument = "",
    by: Annotated[
        Starter | None, typer.Option("--by", help="systemd or cron (default: systemd where a user's answers).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be written; change nothing.")] = False,
) -> int:
    """Have a nightly run by itself: a timer of the user's systemd, or a line of cron. Done again, it is renewed."""
    from orchestrator.app.nightly import installing, suites  # noqa: PLC0415 - only when called, as below
    from orchestrator.app.wish import wish_of  # noqa: PLC0415

    nightly = suites.find_nightly(name, home_at(place.home))
    wish_of(suites.run_options(nightly, ""))  # what is wrong with it is said now, not tonight
    plan = installing.to_install(
        nightly, place.adb_port, place.virtual_slots, None if by is None else installing.By(by)
    )
    if dry_run:
        for path, text in plan.files:
            typer.echo(f"# {path}\n{text}")
        if plan.line:
            typer.echo(plan.line)
        return int(ExitCode.DONE)
    installing.install(plan)
    for path, _ in plan.files:
        typer.echo(str(path))
    if plan.line:
        typer.echo(plan.line)
    for note in plan.notes:
        typer.echo(f"note    {note}", err=True)
    typer.echo(f"secrets {plan.what.environment} (NAME=value lines, if it is there)", err=True)
    typer.echo(f"next    orch nightly status {nightly.name}", err=True)
    return int(ExitCode.DONE)


@app.command("uninstall")
def uninstall(name: NameArgument = "", home: HomeOption = "") -> int:
    """Take away what install left, and only that; the nightly's file and its nights stay."""
    from orchestrator.app.nightly import installing, suites  # noqa: PLC0415
    from orchestrator.nights.suite import checked_name  # noqa: PLC0415

    where = home_at(home)
    plain = name.rpartition("/")[2].removesuffix(".toml") if name else suites.find_nightly("", where).name
    taken = installing.uninstall(checked_name(plain), where)
    for words in taken or ["nothing of it was installed"]:
        typer.echo(f"{'removed ' if taken else ''}{words}")
    return int(ExitCode.DONE)


@app.command("run")
@flat
def run(
    place: Place,
    name: NameArgument = "",
    day: Annotated[
        str,
        typer.Option(
            "--date", metavar="YYYY-MM-DD", help="Measure this night now, as long as a night; without it: what is due."
        ),
    ] = "",
) -> int:
    """Do what is due: begin the night, go on with one that was cut off, else nothing. Exit 1 where a case regressed."""
    from orchestrator.app.nightly.record import alone, read_record  # noqa: PLC0415
    from orchestrator.app.nightly.standing import Due, due  # noqa: PLC0415
    from orchestrator.app.nightly.suites import find_nightly  # noqa: PLC0415
    from orchestrator.cli.night import Where, carry_out, missed  # noqa: PLC0415 - only a run needs the farm
    from orchestrator.nights.calendar import asked_night  # noqa: PLC0415

    now = datetime.now(UTC)
    nightly = find_nightly(name, home_at(place.home))
    where = Where(adb_port=place.adb_port, slots=place.slots, asked_slots=place.virtual_slots)
    asked = _day(day)
    lock = alone(nightly.home, nightly.name)
    try:
        if asked is not None:
            known = read_record(nightly, asked.isoformat())
            fresh = asked_night(asked, now, nightly.suite.starts, nightly.suite.ends)
            going_on = known is not None and not known.ended_at and not known.as_night().over(now)
            of = known.as_night() if known is not None and going_on else fresh
            return carry_out(nightly, of, where, patient=False)
        what, night = due(nightly, now)
        if what is Due.NOTHING:
            typer.echo(f"nothing is due: the next night begins at {nightly.suite.start}; now: --date DAY", err=True)
            return int(ExitCode.DONE)
        return missed(nightly, night) if what is Due.MISSED else carry_out(nightly, night, where, patient=True)
    finally:
        lock.release()


@app.command("status")
def status(
    name: NameArgument = "",
    home: HomeOption = "",
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, max=1000, help="So many nights.")] = 7,
    as_json: JsonOption = False,
) -> int:
    """How nightlies stand: what starts them, the next night, the last nights and what they came to."""
    from orchestrator.app.nightly.standing import nightly_standing  # noqa: PLC0415
    from orchestrator.app.nightly.suites import find_nightly, names_in  # noqa: PLC0415
    from orchestrator.report.nightly_text import render_nightlies  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    where = home_at(home)
    asked = [name] if name else names_in(where) or [""]  # "" says that there is none
    nightlies = [find_nightly(one, where) for one in asked]
    ledger = Ledger.open(where.root)
    try:
        found = [nightly_standing(one, ledger, datetime.now(UTC), last) for one in nightlies]
    finally:
        ledger.close()
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in found], indent=2))
    else:
        typer.echo(render_nightlies(found, colour=wants_colour()), nl=False)
    return int(ExitCode.DONE)


app.command("digest")(digest)
app.command("alerts")(alerts)


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(Problem("--date", f"{text!r} is no day", "give YYYY-MM-DD")) from None

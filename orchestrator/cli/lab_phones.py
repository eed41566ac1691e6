"""`orch devices add | label | expect | hold | free | quarantine | release | retire | clean`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import DEFAULT_ADB_PORT, HomeOption, OnlyVirtual, PortOption
from orchestrator.errors import ExitCode, Problem, UsageError, worst
from orchestrator.home import home_at

if TYPE_CHECKING:
    from datetime import datetime

    from orchestrator.app.lab_phones import LabDesk

Phones = Annotated[list[str], typer.Argument(metavar="PHONE…", help="Labels or serial numbers.")]
OnePhone = Annotated[str, typer.Argument(metavar="PHONE", help="A label or a serial number.")]
Why = Annotated[str, typer.Option("--why", help="What for; shown to whoever wants the phone.")]
Until = Annotated[str, typer.Option("--until", metavar="WHEN", help="Its end: 90m, 2h, 3d, 14:00, 2026-04-12.")]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@contextmanager
def _desk(home: str, adb_port: int, virtual: bool) -> Iterator[LabDesk]:
    from orchestrator.app.lab_phones import desk_of  # noqa: PLC0415 - adb and the ledger are reached when called
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    place = home_at(home)
    ledger = Ledger.open(place.root)
    try:
        yield desk_of(place, ledger, None if virtual else adb_port, partial(typer.echo, err=True))
    finally:
        ledger.close()


def _end(desk: LabDesk, until: str) -> datetime | None:
    from orchestrator.app.moments import moment_of  # noqa: PLC0415

    return moment_of(until, desk.now, "--until") if until else None


def _say(words: str) -> None:
    from orchestrator.report.lines import shown  # noqa: PLC0415

    typer.echo(shown(words), err=True)


@app.command("add")
def add(
    phone: OnePhone,
    label: Annotated[str, typer.Option("--label", help="What to call it.")] = "",
    unexpected: Annotated[bool, typer.Option("--not-expected", help="Nobody is told when it is missing.")] = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Know an attached phone: it is expected from now on, and told when it is missing."""
    with _desk(home, adb_port, virtual) as desk:
        added = desk.add(phone, label=label, expected=not unexpected)
        model = f" {added.seen.device_model}" if added.seen else ""
        _say(f"{added.name}{model}: added{', expected' if added.expected else ''}")
        if not added.label:
            _say(f"next: orch devices label {added.phone} LABEL")
    return int(ExitCode.DONE)


@app.command("label")
def label(
    phone: OnePhone,
    label: Annotated[str, typer.Argument(metavar="[LABEL]", help="B3, say; 20 characters at most.")] = "",
    none: Annotated[bool, typer.Option("--none", help="Call it by its serial number again.")] = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Call a phone by a label, in tables, in reports and in --device."""
    if bool(label) == none:
        raise UsageError(Problem("LABEL", "is missing" if not label else "contradicts --none", "say one of them"))
    with _desk(home, adb_port, virtual) as desk:
        (known,) = desk.named([phone])
        desk.label(known.phone, label)
        _say(f"{known.phone} is called {label or known.phone}")
    return int(ExitCode.DONE)


@app.command("expect")
def expect(
    phones: Phones,
    no_more: Annotated[bool, typer.Option("--not", help="No more.")] = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Tell when these phones are missing: in `orch devices`, and by exit code 3 of runs that ask for them."""
    with _desk(home, adb_port, virtual) as desk:
        for known in desk.named(phones):
            desk.expect(known.phone, not no_more)
            _say(f"{known.name} is {'not ' if no_more else ''}expected")
    return int(ExitCode.DONE)


@app.command("hold")
def hold(
    phones: Phones,
    why: Why = "",
    until: Until = "",
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Take phones in hand: a run finishes its trial there and goes on without them."""
    with _desk(home, adb_port, virtual) as desk:
        end = _end(desk, until)
        for known in desk.named(phones):
            desk.hold(known.phone, why, end)
            _say(f"{known.name} is held; no more: orch devices free {known.name}")
    return int(ExitCode.DONE)


@app.command("free")
def free(
    phones: Phones, home: HomeOption = "", adb_port: PortOption = DEFAULT_ADB_PORT, virtual: OnlyVirtual = False
) -> int:
    """Give phones back that somebody held."""
    with _desk(home, adb_port, virtual) as desk:
        for known in desk.named(phones):
            _say(f"{known.name} {'is free' if desk.free(known.phone) else 'was not held'}")
    return int(ExitCode.DONE)


@app.command("quarantine")
def quarantine(
    phones: Phones,
    why: Annotated[str, typer.Option("--why", help="What is wrong with them.")],
    until: Until = "",
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Keep every run off phones that are not well."""
    with _desk(home, adb_port, virtual) as desk:
        end = _end(desk, until)
        for known in desk.named(phones):
            desk.quarantine(known.phone, why, end)
            _say(f"{known.name} is in quarantine; mended: orch devices release {known.name}")
    return int(ExitCode.DONE)


@app.command("release")
def release(
    phones: Phones,
    why: Annotated[str, typer.Option("--why", help="What mended them.")] = "",
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Let runs use phones again that were in quarantine."""
    with _desk(home, adb_port, virtual) as desk:
        for known in desk.named(phones):
            _say(f"{known.name} {'is released' if desk.release(known.phone, why) else 'was not in quarantine'}")
    return int(ExitCode.DONE)


@app.command("retire")
def retire(
    phones: Phones,
    why: Annotated[str, typer.Option("--why", help="Why it left.")] = "",
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual: OnlyVirtual = False,
) -> int:
    """Phones have left the lab: nobody expects them, their labels are free, what they measured stays."""
    with _desk(home, adb_port, virtual) as desk:
        for known in desk.named(phones):
            desk.retire(known.phone, why)
            _say(f"{known.name} is retired")
    return int(ExitCode.DONE)


@app.command("clean")
def clean(
    phones: Phones, home: HomeOption = "", adb_port: PortOption = DEFAULT_ADB_PORT, virtual: OnlyVirtual = False
) -> int:
    """End what runs left on phones, and remove our folder there; what has not been fetched is not touched."""
    with _desk(home, adb_port, virtual) as desk:
        done = desk.clean(phones)
        for name, words, _ in done:
            _say(f"{name}: {words}")
    return int(worst([code for _, _, code in done]))

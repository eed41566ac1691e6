"""`orch virtual up | list | down`."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption, SlotsOption, slots_or_default
from orchestrator.errors import ExitCode, UsageError
from orchestrator.home import home_at
from orchestrator.plan.presets import unknown
from orchestrator.plan.select import DEFAULT_PROFILE, parse_devices

NEVER_S = 1e9

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Virtual phones: up, list, faults, down.")


@app.command("up")
def up(  # noqa: PLR0913, PLR0917 - the options of one command
    profiles: Annotated[list[str], typer.Argument(help="PROFILE[@SCENARIO][xN] each.")] = [DEFAULT_PROFILE],  # noqa: B006
    home: HomeOption = "",
    virtual_slots: SlotsOption = 0,
    keep: Annotated[float, typer.Option("--idle-exit", help="Idle minutes after which they end (0: never).")] = 0,
    scenario: Annotated[
        str, typer.Option("--scenario", help="They get hot, are busy or lie by this scenario: a name, or a TOML file.")
    ] = "",
    faults: Annotated[
        str, typer.Option("--faults", help="They go wrong by this schedule (TOML or JSON), from now on; none: no more.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws what scenario and faults leave open.")] = 0,
    unconfined: Annotated[
        bool, typer.Option("--unconfined", help="Without namespaces, as where none can be had.")
    ] = False,
) -> int:
    """Start virtual phones; what runs already is left as it is."""
    from orchestrator.app.faulting import put_in_place, schedule_of  # noqa: PLC0415
    from orchestrator.app.phones import start_virtual  # noqa: PLC0415

    schedule = schedule_of(faults)
    _, wishes = parse_devices([f"virtual:{profile}" for profile in profiles])
    wishes = [dataclasses.replace(wish, scenario=wish.scenario or scenario) for wish in wishes]
    where = home_at(home)
    phones = start_virtual(
        where,
        wishes,
        slots_or_default(virtual_slots),
        idle_exit_s=keep * 60 or NEVER_S,
        unconfined=unconfined,
        seed=seed,
    )
    if faults:
        put_in_place(where, schedule, [phone.label for phone in phones], seed)
    for phone in phones:
        typer.echo(f"{phone.label:28} {phone.seen.serial}")
    return int(ExitCode.DONE)


@app.command("list")
def list_(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """The virtual phones of this home."""
    from android_runner.virtual.lifecycle import listing  # noqa: PLC0415

    phones = listing(home_at(home).root)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in phones], indent=2))
        return int(ExitCode.DONE)
    for one in phones:
        typer.echo(
            f"{one.serialno:28} {one.serial:22} {one.profile:16} {one.state} {one.confinement} {one.scenario}".rstrip()
        )
    if not phones:
        typer.echo("no virtual phones: orch virtual up pixel-8")
    return int(ExitCode.DONE)


@app.command("faults")
def faults_(
    serials: Annotated[list[str], typer.Argument(help="Of which phones (default: all).")] = [],  # noqa: B006
    home: HomeOption = "",
    kinds: Annotated[bool, typer.Option("--kinds", help="The catalogue: every kind, and at which steps.")] = False,
    as_json: JsonOption = False,
) -> int:
    """What has gone wrong on purpose since a schedule was put in place, or the catalogue of kinds."""
    from orchestrator.app.faulting import happened_on, kinds_known  # noqa: PLC0415

    rows = kinds_known() if kinds else happened_on(home_at(home), serials)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return int(ExitCode.DONE)
    for row in rows:
        typer.echo("  ".join(",".join(cell) if isinstance(cell, list) else str(cell) for cell in row.values()))
    if not rows:
        typer.echo("nothing yet: orch virtual up pixel-8 --faults FILE")
    return int(ExitCode.DONE)


@app.command("down")
def down(
    serials: Annotated[list[str], typer.Argument(help="Which (default: all).")] = [],  # noqa: B006
    home: HomeOption = "",
    wipe: Annotated[bool, typer.Option("--wipe", help="Forget their files too.")] = False,
) -> int:
    """End virtual phones with everything that runs on them; their files stay."""
    from android_runner.virtual.lifecycle import down as end  # noqa: PLC0415
    from android_runner.virtual.lifecycle import listing  # noqa: PLC0415

    root = home_at(home).root
    known = [one.serialno for one in listing(root)]
    wrong = [
        unknown("virtual phone", name, known or ["none"], where="arguments") for name in serials if name not in known
    ]
    if wrong:
        raise UsageError(*wrong)
    for serialno in end(root, serials or None, wipe=wipe):
        typer.echo(f"{serialno} is down")
    return int(ExitCode.DONE)

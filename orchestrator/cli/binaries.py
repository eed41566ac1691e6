"""`orch binaries add | list | check | remove | howto`: prebuilt perf_tests and their libraries."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

if TYPE_CHECKING:
    from orchestrator.app.binaries.registry import Build

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Prebuilt perf_tests and libraries for phones.")


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context, home: HomeOption = "", as_json: JsonOption = False) -> None:
    """Prebuilt perf_tests and libraries for phones: registered by name, each for one ABI."""
    if ctx.invoked_subcommand is None:
        show(home=home, as_json=as_json)


@app.command("add")
def add(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A program, a folder, a tar, a zip or an AAR.")],
    name: Annotated[str, typer.Option("--name", metavar="N", help="Its name (default: ort-VERSION).")] = "",
    companion: Annotated[
        list[str],
        typer.Option("--with", metavar="LIB", help="A library that goes with it: libQnnHtp.so, …; repeatable."),
    ] = [],  # noqa: B006 - typer makes a new one
    home: HomeOption = "",
) -> int:
    """Take builds in, one for each ABI: read, checked, copied. All of what is found, or nothing."""
    from orchestrator.app.binaries import registry  # noqa: PLC0415 - loaded when called

    for build in registry.add(home_at(home), Path(path), name, [Path(one) for one in companion]):
        _say(build)
    return int(ExitCode.DONE)


@app.command("list")
def show(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """The registered builds, with what their files say of them."""
    from orchestrator.app.binaries import registry  # noqa: PLC0415

    builds = registry.registered(home_at(home))
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in builds], indent=2))
        return int(ExitCode.DONE)
    for build in builds:
        _say(build)
    if not builds:
        typer.echo("none; orch binaries add PATH, and orch binaries howto builds one", err=True)
    return int(ExitCode.DONE)


@app.command("check")
def check(
    which: Annotated[str, typer.Argument(metavar="[NAME|PATH]", help="A registered name, or a path.")] = "",
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Read builds again and say what is wrong with each; exit 1 when one can't be used."""
    from orchestrator.app.binaries import registry  # noqa: PLC0415

    where, path = home_at(home), Path(which)
    if which and path.exists():
        checked = registry.check_path(path)
    else:
        checked = [
            registry.check(one) for one in (registry.named(where, which) if which else registry.registered(where))
        ]
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(one) for one in checked], indent=2))
    else:
        from orchestrator.app.binaries.words import check_lines  # noqa: PLC0415

        for one in checked:
            typer.echo("\n".join(check_lines(one)))
    return int(ExitCode.GATE_FAILED if any(one.problems for one in checked) else ExitCode.DONE)


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its registered name; every ABI of it goes.")],
    home: HomeOption = "",
) -> int:
    """Forget a name's builds; what runs used stays with them."""
    from orchestrator.app.binaries import registry  # noqa: PLC0415

    for build in registry.remove(home_at(home), name):
        typer.echo(f"removed {build.name}  {build.facts.abi}")
    return int(ExitCode.DONE)


@app.command("howto")
def howto() -> int:
    """The script that builds perf_test for every ABI out of a release (untested: no NDK was at hand).

    orch binaries howto > build_perf_test.sh; sh build_perf_test.sh v1.23.2
    """
    from orchestrator.app.binaries.howto import build_script  # noqa: PLC0415

    typer.echo(build_script(), nl=False)
    return int(ExitCode.DONE)


def _say(build: Build) -> None:
    from orchestrator.app.binaries.words import build_lines  # noqa: PLC0415

    typer.echo("\n".join(build_lines(build)))

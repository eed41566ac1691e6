"""`orch model converters`: other Pythons with other releases of onnxruntime, to convert with."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="The onnxruntimes that make ORT format.")


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context, home: HomeOption = "", as_json: JsonOption = False) -> None:
    """The onnxruntimes that make ORT format; the one nearest to the binary's version is used."""
    if ctx.invoked_subcommand is None:
        show(home=home, as_json=as_json)


@app.command("list")
def show(home: HomeOption = "", as_json: JsonOption = False) -> int:
    """Versions and Pythons; the first is this program's own."""
    from orchestrator.app.converting import converter_rows  # noqa: PLC0415 - loaded when called

    rows = converter_rows(home_at(home))
    if as_json:
        typer.echo(json.dumps([row.as_dict() for row in rows], indent=2))
    else:
        for row in rows:
            serves = f"for binaries of {row.serves}"
            typer.echo(f"onnxruntime {row.version:9} ORT format {row.ort_format}  {serves:30} {row.python or '(this)'}")
    return int(ExitCode.DONE)


@app.command("add")
def add(
    python: Annotated[str, typer.Argument(metavar="PYTHON", help="A Python that has an onnxruntime: env/bin/python.")],
    home: HomeOption = "",
) -> int:
    """Register a Python, after its onnxruntime has converted a model here."""
    from orchestrator.variants.converters import add as register  # noqa: PLC0415

    found = register(home_at(home).converters, python)
    typer.echo(f"onnxruntime {found.version}  {found.python}")
    return int(ExitCode.DONE)


@app.command("remove")
def remove(
    which: Annotated[str, typer.Argument(metavar="PYTHON", help="Its path, or its onnxruntime's version.")],
    home: HomeOption = "",
) -> int:
    """Forget a registered Python; what it built stays on the shelf."""
    from orchestrator.variants.converters import remove as forget  # noqa: PLC0415

    gone = forget(home_at(home).converters, which)
    typer.echo(f"removed onnxruntime {gone.version}  {gone.python}")
    return int(ExitCode.DONE)

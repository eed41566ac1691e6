"""`orch model build`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Build a model's variants and say what each changed."
)


@app.callback()
def _group() -> None:
    """A model on the host; no phone is touched."""


@app.command("build")
def build(
    things: Annotated[list[str], typer.Argument(help="MODEL.onnx or a folder with models.")],
    recipe: Annotated[list[str], typer.Option("--recipe", help="onnx, basic, all, 'all runtime' …; repeatable.")] = [],  # noqa: B006
    dim: Annotated[list[str], typer.Option("--dim", help="Fix a dynamic dimension: batch=1; repeatable.")] = [],  # noqa: B006
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Build variants onto the shelf: each level and style, checked, with operators before and after."""
    from orchestrator.app.modelling import build_all  # noqa: PLC0415 - the builder is loaded when called
    from orchestrator.report.variants_text import render_variants  # noqa: PLC0415

    built = build_all(things, recipe, dim, home_at(home))
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in built], indent=2))
    else:
        typer.echo(render_variants(built), nl=False)
    return int(ExitCode.DONE)

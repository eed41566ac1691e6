"""`orch model build`, `check`, `diff`, `ship` and `table`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import converters
from orchestrator.cli.options import ConfigOption, DimOption, HomeOption, JsonOption, Making, OperatorsOption, flat
from orchestrator.errors import ExitCode
from orchestrator.home import home_at

if TYPE_CHECKING:
    from orchestrator.app.modelling import Made

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Build a model's variants, or check what stands in its way."
)


app.add_typer(converters.app, name="converters")


@app.callback()
def _group() -> None:
    """A model on the host; no phone is touched."""


@app.command("build")
@flat
def build(
    things: Annotated[list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx or a folder with models.")],
    making: Making,
    recipe: Annotated[
        list[str],
        typer.Option("--recipe", help="onnx, basic, 'all runtime', nnapi-aware, onnx+opset=15 …; repeatable."),
    ] = [],  # noqa: B006
    compare: Annotated[
        bool, typer.Option("--check", help="Run each beside its source; exit 1 if one is out of tolerance.")
    ] = False,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Build variants onto the shelf: each level and style, checked, with operators before and after."""
    from orchestrator.app.modelling import build_all  # noqa: PLC0415 - the builder is loaded when called
    from orchestrator.variants.tolerance import within  # noqa: PLC0415

    built = build_all(making.options(things), recipe, home_at(home), check=compare)
    if as_json:
        typer.echo(json.dumps([one.as_dict() for one in built], indent=2))
    else:
        typer.echo(_table(built), nl=False)
    wrong = compare and any(one.numerics is not None and not within(one.numerics) for one in built)
    return int(ExitCode.GATE_FAILED if wrong else ExitCode.DONE)


@app.command("diff")
@flat
def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="MODEL.onnx, MODEL.ort, or MODEL.onnx:RECIPE.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The same, to compare with: mnist.onnx:extended.")],
    making: Making,
    api: Annotated[int, typer.Option("--api", metavar="N", help="Android's API level for NNAPI's rules.")] = 30,
    all_names: Annotated[bool, typer.Option("--all", help="Name every node.")] = False,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """What became of A in B: operators, domains, NNAPI's partitions, and node by node what was fused or renamed."""
    from dataclasses import asdict  # noqa: PLC0415

    from orchestrator.app.differing import diff as differ  # noqa: PLC0415 - loaded when called
    from orchestrator.cli.screen import wants_colour  # noqa: PLC0415
    from orchestrator.report.diff_text import diff_lines  # noqa: PLC0415
    from orchestrator.report.lines import rendered  # noqa: PLC0415

    found = differ(before, after, making.options(), home_at(home), api)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        typer.echo(rendered(diff_lines(found, 80, all_names=all_names), colour=wants_colour()), nl=False)
    return int(ExitCode.DONE)


@app.command("ship")
@flat
def ship(
    things: Annotated[list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx or a folder with models.")],
    making: Making,
    out: Annotated[str, typer.Option("-o", "--out", metavar="DIR", help="Where to; made when missing.")],
    recipe: Annotated[list[str], typer.Option("--recipe", help="As for build; repeatable (default: all).")] = [],  # noqa: B006
    build_config: ConfigOption = "",
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Write what an app needs: the variants, a manifest, and the required operators for a minimal build."""
    from orchestrator.app.shipping import ShipOrder  # noqa: PLC0415
    from orchestrator.app.shipping import ship as put  # noqa: PLC0415

    asked = replace(making.options(things), build_config=build_config)
    order = ShipOrder(asked=asked, recipes=recipe or ["all"], folder=Path(out))
    shipped = put(order, home_at(home))
    if as_json:
        typer.echo(json.dumps(shipped.manifest, indent=2))
        return int(ExitCode.DONE)
    for name in shipped.files:
        typer.echo(f"{(shipped.folder / name).stat().st_size:>12}  {shipped.folder / name}")
    for note in shipped.manifest["notes"]:
        typer.echo(f"note: {note}")
    return int(ExitCode.DONE)


@app.command("check")
def check(
    things: Annotated[
        list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx, MODEL.ort or a folder with models.")
    ],
    dim: DimOption = [],  # noqa: B006
    custom_ops: OperatorsOption = [],  # noqa: B006
    ort_version: Annotated[
        str, typer.Option("--ort-version", metavar="V", help="Version of the binaries in use: 1.16.3.")
    ] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure on this host what subnormal numbers cost, in pairs.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """What stands in a model's way: findings with reason, mend and command; what NNAPI takes; a verdict."""
    from orchestrator.app.checking import check_all  # noqa: PLC0415 - loaded when called
    from orchestrator.cli.screen import wants_colour  # noqa: PLC0415

    checks = check_all(things, dim, ort_version, measured=measure, libraries=custom_ops)
    if as_json:
        typer.echo(json.dumps(checks.as_plain(), indent=2))
    else:
        from orchestrator.report.check_text import check_lines  # noqa: PLC0415
        from orchestrator.report.lines import rendered  # noqa: PLC0415

        typer.echo(rendered(check_lines(checks.reports, 80), colour=wants_colour()), nl=False)
    for problem in checks.problems:
        typer.echo(f"orch: {problem.line()}", err=True)
    return int(ExitCode.USAGE if checks.problems else ExitCode.DONE)


@app.command("table")
@flat
def table(
    things: Annotated[list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx or a folder with models.")],
    making: Making,
    recipe: Annotated[
        list[str], typer.Option("--recipe", help="As for build; repeatable (default: every level, style and step).")
    ] = [],  # noqa: B006
    api: Annotated[int, typer.Option("--api", metavar="N", help="Android's API level for NNAPI's rules.")] = 30,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Every recipe on every model as a page in Markdown: nodes, fusions, NNAPI's part, size, build time, error."""
    from dataclasses import asdict  # noqa: PLC0415

    from orchestrator.app.tabling import table as tabled  # noqa: PLC0415 - loaded when called
    from orchestrator.report.model_table import lab_markdown  # noqa: PLC0415

    lab = tabled(making.options(things), recipe, home_at(home), api)
    typer.echo(json.dumps(asdict(lab), indent=2) if as_json else lab_markdown(lab), nl=as_json)
    return int(ExitCode.DONE)


def _table(built: Sequence[Made]) -> str:
    from orchestrator.report.lines import line, rendered  # noqa: PLC0415
    from orchestrator.report.variants_text import variant_lines  # noqa: PLC0415

    lines = []
    for model in dict.fromkeys(one.model for one in built):
        mine = [one for one in built if one.model == model]
        lines.append(line(model))
        lines += variant_lines([one.as_row(mine) for one in mine if one.variant is not None], 80)
        reasons = {one.recipe: one.reason for one in mine if one.variant is None}
        lines += [line(f"  {name}: {reason.removeprefix(f'{name}: ')}") for name, reason in reasons.items()]
    return rendered(lines, colour=False)

"""`orch run`, `orch plan`, `orch resume`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from orchestrator.app.wish import RunOptions, Wish, wish_of
from orchestrator.cli.options import DEFAULT_ADB_PORT, HomeOption, PortOption, SlotsOption, slots_or_default
from orchestrator.errors import ExitCode
from orchestrator.home import Home, home_at

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Things = Annotated[list[str], typer.Argument(help="MODEL.onnx, MODEL.ort, a folder with models, or PLAN.toml.")]
Device = Annotated[
    list[str], typer.Option("--device", help="all, a serial, api>=29, virtual[:PROFILE][xN]; repeatable.")
]
Preset = Annotated[str, typer.Option("--preset", help="quick (default) or cpu.")]
PerfTest = Annotated[str, typer.Option("--perf-test", help="An onnxruntime_perf_test that the phones execute.")]
Lib = Annotated[list[str], typer.Option("--lib", help="A shared library that it needs; repeatable.")]
Rounds = Annotated[int | None, typer.Option("--rounds", help="Rounds: processes per case (default 5).")]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Least seconds of inference per trial (default 2).")]
Iterations = Annotated[int | None, typer.Option("--iterations", help="Iterations per trial, instead of calibrating.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the order (default: drawn, and recorded).")]
Dim = Annotated[list[str], typer.Option("--dim", help="Fix a dynamic dimension: batch=1; repeatable.")]
Inputs = Annotated[str, typer.Option("--inputs", help="Folder with input_<k>.pb (default: generated, seeded).")]
Trace = Annotated[bool, typer.Option("--trace", help="Add one tracing trial per case, never timed.")]
Note = Annotated[str, typer.Option("--note", help="A note kept with the run.")]
Tag = Annotated[list[str], typer.Option("--tag", help="A tag kept with the run; repeatable.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask before a run of over an hour.")]
AllTables = Annotated[bool, typer.Option("--all", help="Print every phone's table.")]
Verify = Annotated[bool, typer.Option("--verify-staged", help="Hash what lies on the phones again.")]
Strict = Annotated[bool, typer.Option("--strict", help="What a model or setting refuses makes the run incomplete.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run; touch no phone (orch plan).")]


@app.command("run")
def run(  # noqa: PLR0913, PLR0917 - Typer reads options from parameters
    things: Things,
    device: Device = [],  # noqa: B006 - Typer copies defaults
    preset: Preset = "",
    perf_test: PerfTest = "",
    lib: Lib = [],  # noqa: B006
    rounds: Rounds = None,
    seconds: Seconds = None,
    iterations: Iterations = None,
    seed: Seed = None,
    dim: Dim = [],  # noqa: B006
    inputs: Inputs = "",
    trace: Trace = False,
    note: Note = "",
    tag: Tag = [],  # noqa: B006
    yes: Yes = False,
    all_tables: AllTables = False,
    verify_staged: Verify = False,
    strict: Strict = False,
    dry_run: DryRun = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual_slots: SlotsOption = 0,
) -> int:
    """Measure models on phones: plan, stage, run, report."""
    options = RunOptions(
        things=tuple(things), device=tuple(device), preset=preset, perf_test=perf_test, lib=tuple(lib),
        rounds=rounds, seconds=seconds, iterations=iterations, seed=seed, dim=tuple(dim), inputs=inputs,
        trace=trace, note=note, tag=tuple(tag),
    )  # fmt: skip
    wish = wish_of(options)
    where = home_at(home)
    slots = slots_or_default(virtual_slots)
    if dry_run:
        return _plan(wish, where, adb_port, slots)
    from orchestrator.cli.live import go  # noqa: PLC0415 - only a run needs the farm

    command = "orch " + shlex.join(sys.argv[1:])
    return go(
        wish, where, adb_port=adb_port, slots=slots, yes=yes, verify=verify_staged, strict=strict,
        all_tables=all_tables, command=command,
    )  # fmt: skip


@app.command("plan")
def plan(  # noqa: PLR0913, PLR0917 - Typer reads options from parameters
    things: Things,
    device: Device = [],  # noqa: B006
    preset: Preset = "",
    perf_test: PerfTest = "",
    lib: Lib = [],  # noqa: B006
    rounds: Rounds = None,
    seconds: Seconds = None,
    iterations: Iterations = None,
    dim: Dim = [],  # noqa: B006
    inputs: Inputs = "",
    trace: Trace = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual_slots: SlotsOption = 0,
) -> int:
    """Say what `orch run` would do: cases, what is merged and dropped and why, time and bytes. Nothing is run."""
    options = RunOptions(
        things=tuple(things), device=tuple(device), preset=preset, perf_test=perf_test, lib=tuple(lib),
        rounds=rounds, seconds=seconds, iterations=iterations, dim=tuple(dim), inputs=inputs, trace=trace,
    )  # fmt: skip
    return _plan(wish_of(options), home_at(home), adb_port, slots_or_default(virtual_slots))


@app.command("resume")
def resume(
    run: Annotated[
        str, typer.Argument(help="A run's name or a unique part of it (default: the newest unfinished).")
    ] = "",
    all_tables: AllTables = False,
    strict: Strict = False,
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    virtual_slots: SlotsOption = 0,
) -> int:
    """Go on with a run that was cut off: what phones finished alone is taken over, nothing is measured twice."""
    from orchestrator.cli.live import go_on  # noqa: PLC0415 - only a run needs the farm

    slots = slots_or_default(virtual_slots)
    return go_on(run, home_at(home), adb_port=adb_port, slots=slots, strict=strict, all_tables=all_tables)


def _plan(wish: Wish, home: Home, adb_port: int, slots: int) -> int:
    from orchestrator.app.planning import plan_only  # noqa: PLC0415
    from orchestrator.report.plan_text import render_plan  # noqa: PLC0415

    view = plan_only(wish, home, adb_port, slots)
    typer.echo(render_plan(view), nl=False)
    return int(ExitCode.DONE)

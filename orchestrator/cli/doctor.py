"""`orch doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import DEFAULT_ADB_PORT, HomeOption, JsonOption, PortOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("doctor")
def doctor(
    home: HomeOption = "",
    adb_port: PortOption = DEFAULT_ADB_PORT,
    dmesg: Annotated[
        str, typer.Option("--dmesg", metavar="FILE", help="The kernel's log, where this user may not read it.")
    ] = "",
    root: Annotated[
        str,
        typer.Option("--root", metavar="DIR", help="A copy of another computer's /sys, /proc, /etc and dmesg."),
    ] = "/",
    as_json: JsonOption = False,
) -> int:
    """What will stop or bite a lab on this computer, each with its mend; exit 1 when no run should start.

    Looks at adb, its server and keys, disk and limits, hubs and controllers, and the phones that are attached. Starts
    no server, ends none, sets nothing.
    """
    from android_runner.host.finding import may_start  # noqa: PLC0415 - loaded when called
    from orchestrator.app.doctoring import Doctor, examined  # noqa: PLC0415
    from orchestrator.report.doctor_text import render_doctor, verdict  # noqa: PLC0415

    log, tree = Path(dmesg) if dmesg else None, Path(root)
    if log is not None and not log.is_file():
        raise UsageError(Problem("--dmesg", f"{dmesg!r} is no file", "sudo dmesg > FILE"))
    if not tree.is_dir():
        raise UsageError(Problem("--root", f"{root!r} is no folder"))
    findings = examined(Doctor(home=home, adb_port=adb_port, root=tree, dmesg=log))
    starts = may_start(findings)
    if as_json:
        found = [finding.as_dict() for finding in findings]
        typer.echo(json.dumps({"may_start": starts, "verdict": verdict(findings), "findings": found}, indent=2))
    else:
        typer.echo(render_doctor(findings, colour=wants_colour()), nl=False)
    return int(ExitCode.DONE if starts else ExitCode.GATE_FAILED)

"""`orch nightly digest`, `orch nightly alerts`."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Literal

import typer

from orchestrator.cli.options import HomeOption, JsonOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.store.address import home_with_runs

NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Which nightly (default: the only one).")]


def digest(
    night: Annotated[str, typer.Argument(metavar="[NIGHT]", help="2026-04-12 (default: the newest).")] = "",
    name: NameOption = "",
    format_: Annotated[Literal["text", "html"], typer.Option("--format", help="text or html.")] = "text",
    as_json: JsonOption = False,
    home: HomeOption = "",
) -> int:
    """A night on one page: what regressed, recovered or was not measured, and which phones need hands."""
    if as_json and format_ == "html":
        raise UsageError(Problem("--json", "contradicts --format html", "say one of them"))
    from orchestrator.app.morning import morning, which_night  # noqa: PLC0415 - the ledger is opened when called
    from orchestrator.report.lines import shown  # noqa: PLC0415
    from orchestrator.report.morning.page import digest_html  # noqa: PLC0415
    from orchestrator.report.morning.text import digest_text  # noqa: PLC0415
    from orchestrator.report.morning.written import digest_json  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    where = home_with_runs(home)
    ledger = Ledger.open(where.root)
    try:
        found = morning(where, ledger, *which_night(where, ledger, name, night))
    finally:
        ledger.close()
    if as_json:
        sys.stdout.write(digest_json(found))
    elif format_ == "html":
        sys.stdout.write(digest_html(found))
    else:
        sys.stdout.write(digest_text(found, colour=wants_colour()))
        if found.regressed:
            one = found.regressed[0]
            what = shlex.quote(f"{one.first_bad}/{one.phone}/{one.model} {one.row}")
            sys.stderr.write(f"next    orch show {shown(what)} --history\n")
    return int(ExitCode.DONE)


def alerts(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Which nightly (default: all).")] = "",
    every: Annotated[bool, typer.Option("--all", help="Those that were closed, too.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = "",
) -> int:
    """What stands: one alert a cause, opened once, closed when it is gone."""
    import json  # noqa: PLC0415

    from orchestrator.report.morning.alerts_text import alerts_text  # noqa: PLC0415
    from orchestrator.store.codec import plain  # noqa: PLC0415
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415

    ledger = Ledger.open(home_with_runs(home).root)
    try:
        found = [one for one in ledger.alerts.all() if name in ("", one.nightly) and (every or one.stands)]
    finally:
        ledger.close()
    if as_json:
        sys.stdout.write(json.dumps([plain(one) for one in found], indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(alerts_text(found, colour=wants_colour()))
    return int(ExitCode.DONE)

"""`orch compare`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import HomeOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError, worst
from orchestrator.store.address import home_with_runs

if TYPE_CHECKING:
    from orchestrator.report.comparison.nouns import Comparison

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Side = "RUN, RUN/PHONE or RUN/PHONE/ROW"
Format = Literal["text", "md", "json"]
ACROSS = ("binary", "converter", "model", "format", "recipe", "settings", "fingerprint")


@app.command("compare")
def compare(  # noqa: PLR0913, PLR0917 - the options of one command
    base: Annotated[str, typer.Argument(metavar="BASE", help=f"What was: {Side}.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What is, the same way; may be the same run.")],
    across: Annotated[
        str, typer.Option("--across", metavar="WHAT", help=f"What is meant to differ: {', '.join(ACROSS)}.")
    ] = "",
    map_: Annotated[
        list[str], typer.Option("--map", metavar="OLD=NEW", help="A model, recipe or row that NEW calls otherwise.")
    ] = [],  # noqa: B006 - Typer's way of a repeatable option
    fail_if: Annotated[
        list[str],
        typer.Option("--fail-if", metavar="GATE", help="p50:5% (or p90, p99, session, first, peak, size), or missing."),
    ] = [],  # noqa: B006 - as above
    delta: Annotated[str, typer.Option("--delta", metavar="P", help="As close as this is the same.")] = "2%",
    strict: Annotated[bool, typer.Option("--strict", help="A gate that can't be told is no success (exit 3).")] = False,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Take runs that are not finished as they are.")
    ] = False,
    format_: Annotated[Format, typer.Option("--format", help="text, md or json.")] = "text",
    junit: Annotated[str, typer.Option("--junit", metavar="FILE", help="Also write the gates as JUnit XML.")] = "",
    all_rows: Annotated[bool, typer.Option("--all", help="List everything.")] = False,
    home: HomeOption = "",
) -> int:
    """Compares what was measured (orch ab measures): is NEW faster than BASE, case by case, and how sure is that?

    One thing may differ, all else must be equal. Exit 1 when a gate fails.
    """
    from orchestrator.app.contrasting import compare_runs  # noqa: PLC0415 - pandas is loaded when called
    from orchestrator.report.comparison.compare import AskedComparison  # noqa: PLC0415
    from orchestrator.report.comparison.gates import parse_gate, parse_share  # noqa: PLC0415

    if across and across not in ACROSS:
        from orchestrator.plan.presets import unknown  # noqa: PLC0415 - only when it is

        raise UsageError(unknown("--across", across, list(ACROSS), where="--across"))
    asked = AskedComparison(
        across=across,
        maps=tuple(map_),
        gates=tuple(parse_gate(one) for one in fail_if),
        delta=parse_share(delta, "--delta"),
    )
    target = _writable(junit) if junit else None
    found = compare_runs(home_with_runs(home), base, new, asked, unfinished=unfinished)
    _show(found, format_, all_rows=all_rows)
    if target is not None:
        _write_junit(target, found)
    return _ended(found, strict=strict)


def _show(found: Comparison, format_: Format, *, all_rows: bool) -> None:
    from orchestrator.report.comparison.markdown import comparison_json, comparison_markdown  # noqa: PLC0415
    from orchestrator.report.comparison.text import render_comparison  # noqa: PLC0415

    if format_ == "json":
        sys.stdout.write(comparison_json(found))
    elif format_ == "md":
        sys.stdout.write(comparison_markdown(found))
    else:
        sys.stdout.write(render_comparison(found, all_rows=all_rows, colour=wants_colour()))
    sys.stdout.flush()


def _writable(name: str) -> Path:
    """The file, if it can be written; asked before anything is read. Raises UsageError."""
    path = Path(name)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        why = "is a folder" if path.is_dir() else f"{path.parent} is no folder that can be written"
        raise UsageError(Problem(f"--junit {name}", why, "name a file"))
    return path


def _write_junit(path: Path, found: Comparison) -> None:
    """The file, whole or not at all. Raises UsageError."""
    from orchestrator.report.comparison.junit import comparison_junit  # noqa: PLC0415

    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(comparison_junit(found), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(Problem(f"--junit {path}", f"can't be written: {error.strerror or error}")) from error
    finally:
        with suppress(OSError):
            part.unlink()
    sys.stderr.write(f"junit   {path}\n")


def _ended(found: Comparison, *, strict: bool) -> int:
    from orchestrator.report.comparison.nouns import GateWord  # noqa: PLC0415
    from orchestrator.report.lines import shown  # noqa: PLC0415

    words = [one.word for one in found.gates]
    codes = [ExitCode.GATE_FAILED] if GateWord.FAILED in words else []
    codes += [ExitCode.INCOMPLETE] if strict and GateWord.NOT_TOLD in words else []
    case = next((one for one in found.cases if one.ratio is not None), found.cases[0])
    row = f"{found.new.run}/{case.label}/{case.new_row}"
    sys.stderr.write(f"next    orch show {shlex.quote(shown(row))}\n")
    code = worst(codes)
    if codes:
        names = ", ".join(f"{each.value} {each.name.lower().replace('_', ' ')}" for each in sorted(set(codes)))
        sys.stderr.write(f"exit {code.value}: {names}\n")
    return int(code)

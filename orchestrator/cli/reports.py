"""`orch report`, `orch show`, `orch trace`, `orch export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli.options import AllTables, HomeOption, JsonOption
from orchestrator.cli.screen import wants_colour
from orchestrator.errors import ExitCode, Problem, UsageError
from orchestrator.home import Home
from orchestrator.store.address import home_with_runs

if TYPE_CHECKING:
    from orchestrator.store.ledger import Ledger

app = typer.Typer(add_completion=False, rich_markup_mode=None)

RunName = Annotated[str, typer.Argument(help="A run's name, a unique part of it, @last.")]
Format = Literal["text", "md", "html", "json", "junit", "csv", "parquet"]


@app.command("report")
def report(
    run: RunName = "@last",
    format_: Annotated[Format, typer.Option("--format", help="text, md, html, json, junit, csv or parquet.")] = "text",
    out: Annotated[str, typer.Option("--out", help="Folder for csv and parquet (default: the run's folder).")] = "",
    all_tables: AllTables = False,
    open_: Annotated[bool, typer.Option("--open", help="Open report.html in the browser.")] = False,
    home: HomeOption = "",
) -> int:
    """A run's answer, made anew from ledger and evidence: here, and as report.html and report.md beside the run."""
    if out and format_ not in ("csv", "parquet"):
        raise UsageError(
            Problem("--out", f"{format_} goes to stdout", "add --format csv or parquet, or redirect stdout")
        )
    if open_ and format_ in ("csv", "parquet"):
        raise UsageError(Problem("--open", f"{format_} is no page", "leave out --format, or --open"))
    from orchestrator.store.ledger import Ledger  # noqa: PLC0415 - opened when called

    where = home_with_runs(home)
    ledger = Ledger.open(where.root)
    try:
        run_id = ledger.find_run(run)
        if format_ in ("csv", "parquet"):
            return _files(run_id, format_, where, ledger, Path(out) if out else None)
        page = _text(run_id, format_, where, ledger, all_tables=all_tables)
    finally:
        ledger.close()
    if open_:
        typer.launch(page.resolve().as_uri())
    return int(ExitCode.DONE)


def _text(run_id: str, format_: str, home: Home, ledger: Ledger, *, all_tables: bool) -> Path:
    """Print the report; the page that was written beside."""
    from orchestrator.cli.answer import frames_of, short, write_report  # noqa: PLC0415
    from orchestrator.report.as_json import render_json  # noqa: PLC0415
    from orchestrator.report.html.page import render_html  # noqa: PLC0415
    from orchestrator.report.markdown import render_markdown  # noqa: PLC0415
    from orchestrator.report.run_junit import run_junit  # noqa: PLC0415
    from orchestrator.report.summarize import summarize  # noqa: PLC0415
    from orchestrator.report.terminal import render_terminal  # noqa: PLC0415

    frames = frames_of(run_id, home, ledger)
    summary = summarize(frames)
    if format_ == "json":
        sys.stdout.write(render_json(summary))
    elif format_ == "html":
        sys.stdout.write(render_html(summary, frames))
    elif format_ == "md":
        sys.stdout.write(render_markdown(summary))
    elif format_ == "junit":
        sys.stdout.write(run_junit(frames))
    else:
        sys.stdout.write(render_terminal(summary, all_tables=all_tables, width=80, colour=wants_colour()))
    page = write_report(summary, frames, home)
    sys.stderr.write(f"report  {short(page)}\n")
    return page


def _files(run_id: str, format_: str, home: Home, ledger: Ledger, out: Path | None) -> int:
    from orchestrator.cli.answer import frames_of, short  # noqa: PLC0415
    from orchestrator.store.export import write_csv, write_parquet  # noqa: PLC0415

    frames = frames_of(run_id, home, ledger, lenient=False)
    folder = out or home.run_folder(run_id) / format_
    write = write_csv if format_ == "csv" else write_parquet
    for path in write(frames, folder):
        sys.stdout.write(f"{short(path)}\n")
    return int(ExitCode.DONE)


@app.command("show")
def show(
    what: Annotated[str, typer.Argument(help="RUN, RUN/PHONE or RUN/PHONE/ROW (a row's number or name).")] = "@last",
    history: Annotated[bool, typer.Option("--history", help="A row's nights: its trend, steps, what changed.")] = False,
    nights: Annotated[int, typer.Option("--nights", metavar="N", min=1, help="How many of the last nights.")] = 90,
    home: HomeOption = "",
    as_json: JsonOption = False,
) -> int:
    """Every round behind a row: figures, vitals, the exact command, digests, evidence; or its nights (--history)."""
    from orchestrator.app.showing import history_text, show_text  # noqa: PLC0415 - pandas is loaded when called

    if history:
        where = home_with_runs(home)
        sys.stdout.write(history_text(where, what, last=nights, as_json=as_json, colour=wants_colour()))
        return int(ExitCode.DONE)
    sys.stdout.write(show_text(home_with_runs(home), what, as_json=as_json, colour=wants_colour()))
    return int(ExitCode.DONE)


@app.command("trace")
def trace(
    what: Annotated[str, typer.Argument(help="RUN, RUN/PHONE or RUN/PHONE/ROW (a row's name).")] = "@last",
    out: Annotated[str, typer.Option("--out", help="The file (default: trace.json in the run's folder).")] = "",
    home: HomeOption = "",
) -> int:
    """The traces of a run in one file for Perfetto or chrome://tracing: a lane a case and phone, with its vitals."""
    from orchestrator.app.tracing import write_merged_trace  # noqa: PLC0415 - pandas is loaded when called
    from orchestrator.cli.answer import short  # noqa: PLC0415

    path, lanes = write_merged_trace(home_with_runs(home), what, Path(out) if out else None)
    sys.stdout.write(f"{short(path)}\n")
    sys.stderr.write(f"{lanes} traced processes; next: open it in ui.perfetto.dev or chrome://tracing\n")
    return int(ExitCode.DONE)


@app.command("export")
def export(
    run: Annotated[str, typer.Argument(help="A run's name, a unique part of it, @last.")],
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="The folder to make.")] = "",
    bundle: Annotated[
        str, typer.Option("--bundle", metavar="FILE", help="One file instead, for orch import: rows and raw files.")
    ] = "",
    format_: Annotated[
        Literal["csv", "parquet"], typer.Option("--format", help="Of the tables: csv, parquet.")
    ] = "csv",
    evidence: Annotated[bool, typer.Option("--evidence", help="The raw files too, each under its digest.")] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out evidence that can't be read; README.txt says which.")
    ] = False,
    home: HomeOption = "",
) -> int:
    """A run as a folder to hand on: every table, the report, what each column holds, checksums. Or as one file that
    another home takes in."""
    if bool(folder) == bool(bundle):
        what = "DIR contradicts --bundle" if folder else "neither DIR nor --bundle FILE"
        raise UsageError(Problem("arguments", what, "orch export RUN DIR, or orch export RUN --bundle FILE"))
    if bundle:
        if evidence or format_ != "csv":
            raise UsageError(Problem("--bundle", "has raw files and no tables", "leave out --evidence and --format"))
        from orchestrator.cli.bundles import write_bundle  # noqa: PLC0415 - as below

        return write_bundle(home_with_runs(home), run, Path(bundle).absolute(), lenient=lenient)
    from orchestrator.app.exporting import CHECKSUMS, AskedExport, export_run  # noqa: PLC0415 - pandas is loaded when called
    from orchestrator.cli.answer import short  # noqa: PLC0415
    from orchestrator.report.numbers import size  # noqa: PLC0415

    target = Path(folder).absolute()
    asked = AskedExport(form=format_, evidence=evidence, lenient=lenient)
    written, left_out = export_run(home_with_runs(home), run, target, asked)
    sys.stdout.write(f"{short(target)}\n")
    for words in left_out:
        sys.stderr.write(f"left out: {words}\n")
    total = size(sum(path.stat().st_size for path in written))
    sys.stderr.write(f"{len(written)} files, {total}; next: its README.txt, and there sha256sum -c {CHECKSUMS}\n")
    return int(ExitCode.INCOMPLETE if left_out else ExitCode.DONE)

"""`orch`: a table of commands. A command's module is imported when the command is called, not for `--help`."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from orchestrator import __version__
from orchestrator.errors import ExitCode, FarmError, UsageError, is_no_room


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: the module under `orchestrator.cli` that holds its Typer app, its group in the help, its line."""

    module: str
    group: str
    line: str


COMMANDS: dict[str, Entry] = {
    "run": Entry("run", "Everyday", "Measure models on phones: plan, stage, run, report."),
    "status": Entry("runs", "Everyday", "What runs now, phone by phone, and what was cut off."),
    "cancel": Entry("runs", "Everyday", "Stop a run that goes on in another terminal."),
    "resume": Entry("run", "Everyday", "Go on with a run that was cut off; nothing is measured twice."),
    "report": Entry("reports", "Everyday", "A run's answer: page, text, Markdown, JSON, JUnit, CSV, Parquet."),
    "runs": Entry("runs", "Everyday", "The runs of this home, newest first."),
    "show": Entry("reports", "Everyday", "Every round behind a row: figures, vitals, command, evidence."),
    "compare": Entry("compare", "Decide", "Compares what was measured: is NEW faster than BASE, and how sure?"),
    "ab": Entry("ab", "Decide", "Measures A beside B on the same phones, until it is decided."),
    "tune": Entry("tune", "Decide", "Searches the best setting on each phone, within a budget."),
    "recommend": Entry("recommend", "Decide", "The best setting for each phone, and one for all, with why and price."),
    "replay": Entry("replay", "Decide", "Asks a row of an earlier run again: does it still say the same?"),
    "model": Entry("model", "Decide", "Check a model, build its variants, ship one: all on the host."),
    "devices": Entry("devices", "Lab", "The phones; label, hold, free, quarantine, retire them."),
    "doctor": Entry("doctor", "Lab", "What will stop or bite a lab on this computer, and the mend."),
    "disk": Entry("disk", "Lab", "What takes how much of the disk; clean makes room."),
    "nightly": Entry("nightly", "Lab", "What runs each night: install, run, status, digest, alerts."),
    "plan": Entry("run", "Tools", "What `orch run` would do, with an estimate; touches no phone."),
    "trace": Entry("reports", "Tools", "A run's traces as one file for Perfetto and chrome://tracing."),
    "export": Entry("reports", "Tools", "A run to hand on: a folder of tables and report, or one file."),
    "import": Entry("bundles", "Tools", "Take a run in that `orch export --bundle` wrote."),
    "binaries": Entry("binaries", "Tools", "Prebuilt perf_tests and libraries: add, list, check, remove, howto."),
    "virtual": Entry("virtual", "Tools", "Virtual phones: up, list, down."),
}
_GROUPS = ("Everyday", "Decide", "Lab", "Tools")
_EXAMPLES = """\
examples:
  orch run mnist.onnx --device virtual            try it without a phone
  orch run model.onnx --device all --perf-test ./onnxruntime_perf_test
  orch report @last
"""


class LazyGroup(TyperGroup):
    """A group that knows its commands by name and line, and imports one only to run it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command, in the order of the table."""
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names. Raises UsageError with the nearest one."""
        if args and args[0] not in COMMANDS:
            from orchestrator.plan.presets import unknown  # noqa: PLC0415 - only when it is

            raise UsageError(unknown("command", args[0], list(COMMANDS), where="arguments"))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command's module and take the command from it."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"orchestrator.cli.{entry.module}")
        command: Any = typer.main.get_command(module.app)
        inner = getattr(command, "commands", {})
        if cmd_name in inner:
            command = inner[cmd_name]
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The table, grouped; nothing is imported for it."""
        formatter.write("usage: orch COMMAND …\n\n")
        formatter.write("Measures ONNX models with onnxruntime_perf_test on Android phones.\n\n")
        for group in _GROUPS:
            formatter.write(f"{group}\n")
            for name, entry in COMMANDS.items():
                if entry.group == group:
                    formatter.write(f"  {name:9} {entry.line}\n")
        formatter.write(f"\norch COMMAND --help says more.  orch {__version__}\n")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"orch {__version__}")
        raise typer.Exit


app = typer.Typer(cls=LazyGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=False)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Measures ONNX models with onnxruntime_perf_test on Android phones."""
    if ctx.invoked_subcommand is None:
        from orchestrator.cli.runs import overview  # noqa: PLC0415 - loaded when called

        overview()
        typer.echo(_EXAMPLES, nl=False)


_GARBAGE_AFTER = 50_000
"""Objects made before Python looks for garbage (its own: 700): imports and tables make many, and little garbage."""


def main() -> None:
    """Run the command line; the process ends with one of `ExitCode`."""
    gc.set_threshold(_GARBAGE_AFTER)
    try:
        status = app(prog_name="orch", standalone_mode=False)
    except FarmError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except TyperException as error:
        _complain(_words(error))
        sys.exit(ExitCode.USAGE)
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.DONE)
    except OSError as error:
        if not is_no_room(error):
            sys.exit(_bug(error))
        where = f"{error.filename!r}: " if error.filename else ""
        _complain(f"{where}{error.strerror} (make room, or give --home DIR; TMPDIR is for what is temporary)")
        sys.exit(ExitCode.USAGE)
    except Exception as error:  # noqa: BLE001 - the program's one top: a bug is named as one, with its place
        sys.exit(_bug(error))
    sys.exit(status if isinstance(status, int) else ExitCode.DONE)


def _words(error: TyperException) -> str:
    """What a parser of options has to say, with the nearest option, and where there is help."""
    near = getattr(error, "possibilities", None)  # of an option that is none, the nearest first
    words = f"{error.message.rstrip('.')}. Did you mean {near[0]}?" if near else error.format_message()
    context = getattr(error, "ctx", None)
    return f"{words} ({context.command_path} --help)" if context is not None else words


def _complain(words: str) -> None:
    """An error on stderr. It may hold a file's name or a phone's words: what could move the cursor is escaped."""
    from orchestrator.report.lines import shown  # noqa: PLC0415 - only when there is one

    sys.stderr.write("orch: " + "\n".join(shown(line) for line in words.splitlines()) + "\n")


def _bug(error: Exception) -> int:
    import traceback  # noqa: PLC0415 - only when there is a bug

    last = traceback.extract_tb(error.__traceback__)[-1]
    _complain(f"a bug: {type(error).__name__}: {error} ({last.filename}:{last.lineno})")
    sys.stderr.write("orch: set ORCH_TRACEBACK=1 for the whole story\n")
    if os.environ.get("ORCH_TRACEBACK"):
        traceback.print_exception(error)
    return int(ExitCode.BUG)


if __name__ == "__main__":
    main()

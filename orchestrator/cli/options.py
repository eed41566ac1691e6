"""Options that several commands share, each spelt once.

A command that takes a whole group of options has one parameter for it and is decorated with `flat`: Typer then sees the
group's fields as if they stood in the command's own signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from orchestrator.app.wish import RunOptions

HomeOption = Annotated[
    str, typer.Option("--home", metavar="DIR", help="Home folder (default: $ORCH_HOME, else ./orch-runs).")
]
PortOption = Annotated[
    int,
    typer.Option(
        "--adb-port", metavar="PORT", envvar="ORCH_ADB_PORT", show_envvar=False, show_default=False,
        help="Port of the adb server for real phones (default: $ORCH_ADB_PORT, else 5037).",
    ),
]  # fmt: skip
SlotsOption = Annotated[
    int, typer.Option("--virtual-slots", metavar="N", min=0, help="Virtual phones that compute at once (0: cores - 1).")
]
OnlyVirtual = Annotated[bool, typer.Option("--virtual", help="Only virtual phones; adb's own server is left alone.")]
JsonOption = Annotated[bool, typer.Option("--json", help="The same fields as JSON, on stdout.")]
Strict = Annotated[bool, typer.Option("--strict", help="What a model or setting refuses makes the run incomplete.")]
AllTables = Annotated[bool, typer.Option("--all", help="Print every phone's table.")]
DimOption = Annotated[
    list[str], typer.Option("--dim", metavar="NAME=N", help="Fix a dynamic dimension: batch=1; repeatable.")
]
ConverterOption = Annotated[
    str,
    typer.Option("--converter", metavar="VERSION", help="A registered onnxruntime (default: nearest to the binary's)."),
]
ConfigOption = Annotated[
    str,
    typer.Option("--build-config", metavar="FILE", help="required_operators….config that the binary was built with."),
]
InputsOption = Annotated[
    str, typer.Option("--inputs", metavar="DIR", help="Folder with input_<k>.pb (default: generated, seeded).")
]
OperatorsOption = Annotated[
    list[str],
    typer.Option(
        "--custom-ops", metavar="LIB", help="A library of custom operators: for this host, for the phones; repeatable."
    ),
]
DEFAULT_ADB_PORT = 5037


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """On what is measured, and how: the options that every command that measures has."""

    device: Annotated[
        list[str],
        typer.Option(
            "--device", metavar="EXPR", help="all, a serial, api>=29, any(EXPR), virtual[:PROFILE][xN]; repeatable."
        ),
    ] = field(default_factory=list)
    perf_test: Annotated[
        str,
        typer.Option(
            "--perf-test",
            metavar="PATH|NAME",
            help="An onnxruntime_perf_test, or a registered one (default: the best of orch binaries).",
        ),
    ] = ""
    lib: Annotated[
        list[str], typer.Option("--lib", metavar="PATH", help="A shared library that it needs; repeatable.")
    ] = field(default_factory=list)
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect", metavar="NAME", help="Virtual phones' perf_test: old, mid or new (default: by profile)."
        ),
    ] = ""
    converter: ConverterOption = ""
    custom_ops: OperatorsOption = field(default_factory=list)
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Whole rounds as far as this time reaches: 90s, 2m, 1h.")
    ] = ""
    deadline: Annotated[
        str,
        typer.Option("--deadline", metavar="TIME", help="Hand out nothing after this time (6h): the rest is skipped."),
    ] = ""
    reruns: Annotated[
        int | None,
        typer.Option("--reruns", metavar="N", help="Rejected trials a phone may try again (default: a quarter)."),
    ] = None
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="S", help="Least seconds of inference per trial (default 2).")
    ] = None
    iterations: Annotated[
        int | None, typer.Option("--iterations", metavar="N", help="Iterations per trial, instead of calibrating.")
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of the order (default: drawn, and recorded).")
    ] = None
    dim: DimOption = field(default_factory=list)
    inputs: InputsOption = ""
    trace: Annotated[bool, typer.Option("--trace", help="Add one tracing trial per case, never timed.")] = False
    verify: Annotated[
        bool, typer.Option("--verify", help="Also check what each case computes on the phone; never timed.")
    ] = False
    prepare: Annotated[
        bool | None,
        typer.Option("--prepare/--no-prepare", help="Quiet the phones for the run, then put them back (default: no)."),
    ] = None
    limit: Annotated[
        list[str],
        typer.Option("--limit", metavar="NAME=VALUE", help="One of [limits]: max_battery_c=40, or off; repeatable."),
    ] = field(default_factory=list)
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A note kept with the run.")] = ""
    tag: Annotated[list[str], typer.Option("--tag", metavar="TEXT", help="A tag kept with the run; repeatable.")] = (
        field(default_factory=list)
    )

    def typed(self) -> dict[str, Any]:
        """What was typed, as the program's own options name it."""
        typed: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return typed | {name: tuple(value) for name, value in typed.items() if isinstance(value, list)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Measuring):
    """What is to be measured, on what: the arguments and options of `orch run` and `orch plan`, as they were typed."""

    things: Annotated[
        list[str], typer.Argument(metavar="MODEL", help="MODEL.onnx, MODEL.ort, a folder with models, or PLAN.toml.")
    ]
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="quick (default), guided, nnapi, cpu or full.")
    ] = ""
    build_config: ConfigOption = ""
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="Rounds: processes per case (default 6).")
    ] = None
    precision: Annotated[
        str, typer.Option("--precision", metavar="P", help="Rounds until ± P is reached (1%): case by case.")
    ] = ""
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", metavar="N", help="At most so many rounds (with --precision: default 30)."),
    ] = None
    sustained: Annotated[
        float | None,
        typer.Option("--sustained", metavar="MINUTES", help="Add a long series per case: how it gets slower when hot."),
    ] = None

    def options(self) -> RunOptions:
        """The same as the program's own options."""
        from orchestrator.app.wish import RunOptions  # noqa: PLC0415 - most commands that share options need no plan

        return RunOptions(**self.typed())


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How variants are made of models, without a phone: what commands of `orch model` share."""

    dim: DimOption = field(default_factory=list)
    converter: ConverterOption = ""
    custom_ops: OperatorsOption = field(default_factory=list)
    inputs: InputsOption = ""

    def options(self, things: Sequence[str] = ()) -> RunOptions:
        """The same as the program's own options, for these models."""
        from orchestrator.app.wish import RunOptions  # noqa: PLC0415 - as above

        return RunOptions(
            things=tuple(things),
            dim=tuple(self.dim),
            converter=self.converter,
            custom_ops=tuple(self.custom_ops),
            inputs=self.inputs,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where it happens: home, adb server, slots of virtual phones."""

    home: HomeOption = ""
    adb_port: PortOption = DEFAULT_ADB_PORT
    virtual_slots: SlotsOption = 0

    @property
    def slots(self) -> int:
        """The slots asked for, or the default."""
        return slots_or_default(self.virtual_slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """How a run is gone about: the options that every command that measures a plan has."""

    yes: Annotated[bool, typer.Option("--yes", help="Don't ask before a run of over an hour.")] = False
    all_tables: AllTables = False
    strict: Strict = False
    new: Annotated[bool, typer.Option("--new", help="Begin anew, though this plan's last run is unfinished.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run; touch no phone.")] = False


def flat(command: Callable[..., int]) -> Callable[..., int]:
    """The command with each parameter that is one of the groups above replaced by the group's fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _fields_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def called(**typed: Any) -> int:
        for name, group in groups.items():
            typed[name] = group(**{one.name: typed.pop(one.name) for one in fields(group)})
        return command(**typed)

    called.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _fields_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    parameters = []
    for one in sorted(fields(group), key=lambda one: one.name not in group.__annotations__):  # its own before a base's
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if default is MISSING:
            default = inspect.Parameter.empty
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(one.name, kind, default=default, annotation=hints[one.name]))
    return parameters


def slots_or_default(asked: int) -> int:
    """The slots asked for, else the host's cores less one, at least one."""
    import os  # noqa: PLC0415 - one caller in many

    return asked or max(1, (os.cpu_count() or 2) - 1)

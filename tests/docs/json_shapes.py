"""What each command's JSON is, as types: nouns of the program where it prints them, written here where it makes up a
mapping. docs/json.md is made of it, and what commands print is held against it.

A new command with `--json` gets a line in `COMMANDS`, then: ORCH_BLESS=1 pytest tests/docs/test_json_page.py
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, NotRequired, TypedDict

from orchestrator.store.records import RunState
from orchestrator.variants.tolerance import OutputError


class RunStanding(TypedDict):
    """How one run stands. `living` is the process that drives it; `elsewhere` another host that does; `cut_off` says
    that it was running when its process died."""

    run_id: str
    created_at: datetime
    state: RunState
    planned: int
    measured: int
    failed: int
    skipped: int
    living: int | None
    note: str
    elsewhere: str
    cut_off: bool


class HostReport(TypedDict):
    """Whether a run may start on this computer, a sentence, and everything that was looked at."""

    may_start: bool
    verdict: str
    findings: list[HostFinding]


class HostFinding(TypedDict):
    """One thing that was looked at. `check` is a short stable name (`adb-key`), `about` what it is about where there
    are several, `seen` what is the case, `mend` what a person does; only `ok` has none."""

    check: str
    level: typing.Literal["stop", "warn", "note", "ok"]
    seen: str
    about: str
    mend: str


class MadeVariant(TypedDict):
    """A variant that was built, or `reason`: why there is none, and then nothing but these three. Operators are counts
    by name. From `verdict` on only what is known of how far it is from its source (`--check`), as in a variant of the
    report."""

    model: str
    recipe: str
    reason: str
    variant: NotRequired[str]
    path: NotRequired[str]
    size_bytes: NotRequired[int]
    graph_digest: NotRequired[str]
    ort_format: NotRequired[int | None]
    converter_version: NotRequired[str]
    build_s: NotRequired[float]
    nodes_before: NotRequired[dict[str, int]]
    nodes_after: NotRequired[dict[str, int]]
    verdict: NotRequired[str]
    verdict_reason: NotRequired[str]
    precision: NotRequired[str]
    error: NotRequired[float | None]
    cosine: NotRequired[float | None]
    top1_same: NotRequired[bool | None]
    outputs: NotRequired[list[OutputError]]


class Manifest(TypedDict):
    """What lies in the folder; the same as its `manifest.json`. `form` counts up when fields change their meaning;
    `required_operators` is the name of the file for a minimal build."""

    form: int
    orch: str
    models: list[ShippedModel]
    required_operators: str | None
    notes: list[str]


class ShippedModel(TypedDict):
    """One variant in the folder. `dims` are the dimensions that were fixed, `operators` its nodes by operator,
    `same_graph_as` the recipes that give an equal graph."""

    model: str
    source: SourceFile
    recipe: str
    dims: dict[str, int]
    files: list[ShippedFile]
    size_bytes: int
    format: str
    ort_format: int | None
    loaded_by: str | None
    converter: str | None
    variant: str
    graph_digest: str
    operators: dict[str, int]
    same_graph_as: list[str]


class SourceFile(TypedDict):
    """The model that it was made of, and the digest of its bytes."""

    file: str
    digest: str


class ShippedFile(TypedDict):
    """A file of the folder."""

    file: str
    size_bytes: int
    sha256: str


class PhonePutBack(TypedDict):
    """One phone: what became of each setting that a run had changed there; `problem` says why it could not be asked."""

    phone: str
    run: str
    problem: str
    restored: list[SettingPutBack]


class SettingPutBack(TypedDict):
    """One setting: what it was before the run, what the run had set, what was done now, whether it is as before."""

    setting: str
    before: str | None
    ours: str | None
    action: str
    back: bool
    words: str


class FaultKind(TypedDict):
    """A kind of fault of virtual phones, and the steps of a trial at which it can strike."""

    kind: str
    steps: list[str]
    about: str


class FaultThatWas(TypedDict):
    """A fault that struck: seconds since its schedule was put in place, and how long it lasted."""

    phone: str
    at_s: float
    kind: str
    step: str
    for_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A command with its option; `shape` is a type, or the name of one: `module.Class`, `list of module.Class`."""

    words: str
    shape: Any
    also: str = ""


COMMANDS = (
    Command(
        "orch report --format json",
        "orchestrator.report.summary.RunSummary",
        "Beside these fields `schema` (int): it counts up when a field changes its meaning or goes.",
    ),
    Command(
        "orch compare --format json",
        "orchestrator.report.comparison.nouns.Comparison",
        "Beside these fields `schema` (int), as above.",
    ),
    Command("orch recommend --json", "list of orchestrator.report.recommendation.nouns.ModelAdvice"),
    Command("orch show --json", "orchestrator.report.show.ShowView"),
    Command("orch show --history --json", "orchestrator.report.trend.Trend"),
    Command("orch runs --json", list[RunStanding]),
    Command("orch status --json", "list of orchestrator.report.board.RunBoard"),
    Command("orch devices --json", "list of orchestrator.report.devices.DeviceRow"),
    Command("orch devices list --json", "list of orchestrator.report.devices.DeviceRow"),
    Command("orch devices restore --json", list[PhonePutBack]),
    Command("orch doctor --json", HostReport),
    Command("orch disk --json", "orchestrator.report.disk.DiskUse"),
    Command("orch disk clean --json", "orchestrator.report.disk.Cleaning"),
    Command("orch nightly status --json", "list of orchestrator.report.nightly_text.NightlyStanding"),
    Command("orch nightly digest --json", "orchestrator.report.morning.nouns.Digest", "The same as `digest.json`."),
    Command("orch nightly alerts --json", "list of orchestrator.nights.alerts.Alert"),
    Command("orch binaries --json", "list of orchestrator.app.binaries.registry.Build"),
    Command("orch binaries list --json", "list of orchestrator.app.binaries.registry.Build"),
    Command("orch binaries check --json", "list of orchestrator.app.binaries.registry.CheckedBuild"),
    Command("orch virtual list --json", "list of android_runner.virtual.lifecycle.VirtualPhone"),
    Command("orch virtual faults --json", list[FaultThatWas] | list[FaultKind], "With `--kinds` the second."),
    Command("orch model build --json", list[MadeVariant]),
    Command("orch model check --json", "list of orchestrator.variants.checks.report.CheckReport"),
    Command("orch model diff --json", "orchestrator.report.diff_text.ModelDiff"),
    Command("orch model ship --json", Manifest),
    Command("orch model table --json", "orchestrator.report.model_table.Lab"),
    Command("orch model converters --json", "list of orchestrator.app.converting.ConverterRow"),
    Command("orch model converters list --json", "list of orchestrator.app.converting.ConverterRow"),
)

_INSTEAD: Mapping[tuple[str, str], Any] = {("Finding", "threads"): tuple[str, ...]}
"""Fields that are printed as something else: an issue's number as its address."""
_NAMES: Mapping[str, str] = {"orchestrator.variants.checks.report.Verdict": "CheckVerdict"}
"""Nouns that another one has the name of."""


def name_of(noun: Any) -> str:
    """What the page calls a noun."""
    return _NAMES.get(f"{noun.__module__}.{noun.__name__}", noun.__name__)


def nouns() -> list[Any]:
    """Every noun of the page, once."""
    return list(dict.fromkeys(noun for command in COMMANDS for noun in nouns_in(shape_of(command))))


def shape_of(command: Command) -> Any:
    """The type of what a command prints."""
    if not isinstance(command.shape, str):
        return command.shape
    many, name = command.shape.startswith("list of "), command.shape.removeprefix("list of ")
    module, _, noun = name.rpartition(".")
    found = getattr(importlib.import_module(module), noun)
    return list[found] if many else found  # type: ignore[valid-type]


def is_noun(hint: Any) -> bool:
    """Whether a type has fields."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint))


@cache
def fields_of(noun: Any) -> Mapping[str, Any]:
    """A noun's fields by name."""
    hints = typing.get_type_hints(noun, localns=globals() if typing.is_typeddict(noun) else None)
    names = [one.name for one in dataclasses.fields(noun)] if dataclasses.is_dataclass(noun) else list(hints)
    return {name: _INSTEAD.get((noun.__name__, name), hints[name]) for name in names}


def optional_of(noun: Any) -> frozenset[str]:
    """Fields that may be left out."""
    return noun.__optional_keys__ if typing.is_typeddict(noun) else frozenset()  # type: ignore[no-any-return]


def problems(value: Any, hint: Any, where: str = "") -> Iterator[str]:
    """What of a JSON value is not as its type says, with the place."""
    if hint is Any or hint is object:
        return
    if is_noun(hint):
        yield from _of_noun(value, hint, where)
        return
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if all(list(problems(value, one, where)) for one in inner):
            yield f"{where}: {value!r:.80} is not {type_words(hint)}"
    elif origin in (list, tuple) or (origin is not None and inner and _is_sequence(origin)):
        yield from _of_list(value, origin, inner, where)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            yield f"{where}: {value!r:.80} is no object"
        else:
            for name, one in value.items():
                yield from problems(one, inner[1], f"{where}.{name}")
    elif not _is_plain(value, hint):
        yield f"{where}: {value!r:.80} is not {type_words(hint)}"


def _is_sequence(origin: Any) -> bool:
    return isinstance(origin, type) and origin.__name__ == "Sequence"


def _of_noun(value: Any, noun: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r:.80} is no object"
        return
    known = fields_of(noun)
    for name in value.keys() - known.keys():
        yield f"{where}.{name}: is in no {noun.__name__}"
    for name in known.keys() - optional_of(noun) - value.keys():
        yield f"{where}.{name}: is missing"
    for name in known.keys() & value.keys():
        yield from problems(value[name], known[name], f"{where}.{name}")


def _of_list(value: Any, origin: Any, inner: tuple[Any, ...], where: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where}: {value!r:.80} is no list"
    elif origin is tuple and (len(inner) < 2 or inner[1] is not Ellipsis):
        if len(value) != len(inner):
            yield f"{where}: has {len(value)} elements, not {len(inner)}"
        for at, (one, hint) in enumerate(zip(value, inner, strict=False)):
            yield from problems(one, hint, f"{where}[{at}]")
    else:
        for at, one in enumerate(value):
            yield from problems(one, inner[0], f"{where}[{at}]")


def _is_plain(value: Any, hint: Any) -> bool:
    if hint is None or hint is type(None):
        return value is None
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint)
    hint = getattr(hint, "__supertype__", hint)
    if hint is datetime:
        return isinstance(value, str) and bool(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d", value))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value in [one.value for one in hint]
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is hint


_WORDS: Mapping[Any, str] = {
    str: "text", int: "int", float: "number", bool: "flag", datetime: "moment", type(None): "null", object: "anything",
    Any: "anything",
}  # fmt: skip


def type_words(hint: Any) -> str:
    """A type in words; nouns as links."""
    hint = getattr(hint, "__supertype__", hint)
    if hint in _WORDS:
        return _WORDS[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return f"text: {', '.join(map(str, inner))}"
    if origin is NotRequired:
        return f"{type_words(inner[0])}; may be left out"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_words(one) for one in inner)
    if origin is tuple and (len(inner) < 2 or inner[1] is not Ellipsis):
        return f"[{', '.join(type_words(one) for one in inner)}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"object: {type_words(inner[1])} by name"
    if origin is not None:
        return f"list of {type_words(inner[0])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"text: {', '.join(str(one.value) for one in hint)}"
    return f"[{name_of(hint)}](#{name_of(hint).lower()})"


def nouns_in(hint: Any) -> Iterator[Any]:
    """The nouns of a type, and those of their fields, in their order."""
    if is_noun(hint):
        yield hint
        for one in fields_of(hint).values():
            yield from nouns_in(one)
    for one in typing.get_args(hint):
        if not isinstance(one, str):
            yield from nouns_in(one)


def page() -> str:
    """The part of docs/json.md that is made: each command, then each noun once."""
    lines = ["## Commands", "", "| command | gives |", "|---|---|"]
    for command in COMMANDS:
        gives = f"{type_words(shape_of(command))}. {command.also}".strip()
        lines.append(f"| `{command.words}` | {gives} |")
    lines += ["", "## Objects", ""]
    for noun in nouns():
        told = _field_words(noun)
        lines += [f"### {name_of(noun)}", "", _in_json(inspect.cleandoc(noun.__doc__ or "")), ""]
        lines += ["| field | type |", "|---|---|"]
        for name, hint in fields_of(noun).items():
            optional = "; may be left out" if name in optional_of(noun) else ""
            words = f". {told[name]}" if name in told else ""
            lines.append(f"| `{name}` | {type_words(hint)}{optional}{words} |".replace("  ", " "))
        lines.append("")
    return "\n".join(lines)


def _in_json(words: str) -> str:
    """The program's words for people who read JSON."""
    return re.sub(r"\bNone\b", "null", " ".join(words.split()))


def _field_words(noun: Any) -> dict[str, str]:
    """What stands in the source below a field."""
    try:
        (body,) = ast.parse(inspect.cleandoc(inspect.getsource(noun))).body
    except (OSError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = _in_json(str(below.value.value))
    return found

"""Pure: A and B as they are asked for, and the pairs of cases that they make on a phone.

A side is words: `binary=PATH`, `lib=PATH`, `dialect=NAME`, a model's file, and the axes of plan cells as `name=value`:
`ep=nnapi flags=fp16+nchw`, `level=basic`, `threads=4`, `format=ort`, `recipe="all runtime"`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from android_runner.capabilities import CommandDialect
from android_runner.settings import SessionSettings
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.case import Case, Dropped, Side
from orchestrator.plan.cells import ONNX, Cell, normal_form
from orchestrator.plan.load import matrix_cells, parse_plan
from orchestrator.plan.matrix import Expansion, Target, VariantOf, expand
from orchestrator.plan.presets import unknown
from orchestrator.variants.recipe import Model

MODEL_SUFFIXES = (".onnx", ".ort")
FORMATS = {"onnx": "onnx", "ort": "all"}
"""What a format stands for as a recipe: `.onnx` as it is, ORT format with all optimizations."""
_NUMBERS = ("threads", "inter_op_threads")
_SWITCHES = ("parallel", "spinning", "arena", "memory_pattern", "denormals_as_zero")
_WORDS = ("recipe", "ep", "level", "affinity")
_FILES = ("binary", "lib", "dialect")
KEYS = (*_FILES, "format", "flags", *_WORDS, *_NUMBERS, *_SWITCHES)
TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSide:
    """A or B: `words` as they were typed after `option`; of what they leave empty both sides have the same."""

    option: str
    words: str
    model: str = ""
    binary: str = ""
    lib: tuple[str, ...] = ()
    dialect: str = ""
    cell: Cell = Cell(ONNX, SessionSettings())  # noqa: RUF009 - frozen


@dataclass(frozen=True, slots=True)
class Sides:
    """A, B, the difference between them that matters, as a fraction, and the gates on it as they were written."""

    a: OneSide
    b: OneSide
    delta: float
    fail_if: tuple[str, ...] = ()

    @property
    def both(self) -> tuple[OneSide, OneSide]:
        """A, then B."""
        return self.a, self.b

    @property
    def models(self) -> tuple[str, ...]:
        """The files of A's and B's own models; empty where both have those that are given beside them."""
        return tuple(one.model for one in self.both if one.model)


def parse_side(typed: Sequence[str], option: str) -> OneSide:
    """Read one side, typed after one option or several of that name. Raises UsageError with every problem."""
    parts: list[str] = []
    for words in typed:
        try:
            whole = "=" not in words and words.endswith(MODEL_SUFFIXES)  # one model's file, spaces and all
            parts += [words] if whole else shlex.split(words)
        except ValueError as error:
            raise UsageError(Problem(option, f"{words!r}: {error}", "close the quotes")) from error
    problems: list[Problem] = []
    models: list[str] = []
    axes: dict[str, Any] = {}
    files: dict[str, list[str]] = {name: [] for name in _FILES}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key not in KEYS:
            if part.endswith(MODEL_SUFFIXES):
                models.append(part)
            else:
                problems.append(_no_such(part, key, option, bool(equals)))
        elif key in _FILES:
            files[key].append(value)
        else:
            problems += _axis(key, value, axes, option)
    problems += _contradictions(models, files, option)
    if problems:
        raise UsageError(*problems)
    return OneSide(
        option=option,
        words=" ".join(typed),
        model="".join(models),
        binary="".join(files["binary"]),
        lib=tuple(files["lib"]),
        dialect="".join(files["dialect"]),
        cell=_cell(axes, option),
    )


def _no_such(part: str, key: str, option: str, equals: bool) -> Problem:
    if equals:
        return unknown("word", key, list(KEYS), option)
    return Problem(option, f"{part!r} is no model's file and no NAME=VALUE", f"names are {', '.join(KEYS)}")


def _axis(key: str, value: str, axes: dict[str, Any], option: str) -> list[Problem]:
    """Put one word into the axes of a plan's matrix, each with the one value."""
    name = {"format": "recipe", "flags": "nnapi_flags"}.get(key, key)
    read: Any = value
    if name in axes:
        return [Problem(option, f"{key} is said twice", "say each once (format and recipe are one)")]
    if key == "format":
        if value not in FORMATS:
            return [unknown("format", value, list(FORMATS), option)]
        read = FORMATS[value]
    elif key == "flags":
        read = [flag for flag in value.replace(",", "+").split("+") if flag]
    elif key in _NUMBERS:
        if not value.isdecimal() or len(value) > len("1000"):
            return [Problem(option, f"{key}={value} is no number", f"give {key}=4")]
        read = int(value)
    elif key in _SWITCHES:
        if value not in TRUTHS:
            return [Problem(option, f"{key}={value} is neither yes nor no", f"give {key}=true or {key}=false")]
        read = TRUTHS[value]
    axes[name] = [read]
    return []


def _contradictions(models: Sequence[str], files: dict[str, list[str]], option: str) -> list[Problem]:
    problems = []
    if len(models) > 1:
        problems.append(Problem(option, f"{len(models)} models: {', '.join(models)}", "give one"))
    problems += [
        Problem(option, f"{name} is said twice", "say it once")
        for name in ("binary", "dialect")
        if len(files[name]) > 1
    ]
    if files["lib"] and not files["binary"]:
        problems.append(Problem(option, "lib is a library of no program", "add binary=PATH, or leave it out"))
    if files["dialect"] and files["binary"]:
        problems.append(Problem(option, "dialect is the stand-in's, but binary names a program", "give one of the two"))
    problems += [
        unknown("dialect", name, [one.value for one in CommandDialect], option)
        for name in files["dialect"]
        if name not in list(CommandDialect)
    ]
    problems += [
        Problem(option, f"{name}= says nothing", f"give {name}=PATH or leave it out")
        for name in _FILES
        if "" in files[name]
    ]
    return problems


def _cell(axes: dict[str, Any], option: str) -> Cell:
    try:
        return matrix_cells(parse_plan({"matrix": [axes]}, option).matrix)[0]
    except UsageError as error:
        raise UsageError(*(replace(one, where=_place(one.where)) for one in error.problems)) from None


def _place(where: str) -> str:
    """`--a flags` of what a plan file would call `--a: matrix.0.nnapi_flags.0.0`."""
    return re.sub(r": matrix[.\[]0\]?\.(?:nnapi_)?(\w+).*", r" \1", where)


def sides_of(a: Sequence[str], b: Sequence[str], delta: float) -> Sides:
    """Both sides. Raises UsageError with every problem, also where they ask for the same."""
    found: list[OneSide] = []
    problems: list[Problem] = []
    for typed, option in ((a, "--a"), (b, "--b")):
        try:
            found.append(parse_side(typed, option))
        except UsageError as error:
            problems += error.problems
    if problems:
        raise UsageError(*problems)
    sides = Sides(found[0], found[1], delta)
    if len(sides.models) == 1:
        (lacking,) = (one.option for one in sides.both if not one.model)
        raise UsageError(Problem(lacking, f"no model, but the other side has {sides.models[0]}", "give both, or none"))
    if _alike(sides.a) == _alike(sides.b):
        raise UsageError(Problem("--a, --b", "both ask for the same", "name what differs: --b threads=4"))
    return sides


def _alike(side: OneSide) -> tuple[object, ...]:
    cell = side.cell
    return side.model, side.binary, side.lib, side.dialect, replace(normal_form(cell), affinity=cell.affinity)


def expand_sides(
    sides: Sides, models: Sequence[tuple[Model, str]], targets: tuple[Target, Target], variant_of: VariantOf
) -> Expansion:
    """A phone's pairs; `models` come with the digest of their inputs, A's own before B's where they have their own.

    A side that can't run there takes the other along: each is dropped with its reason.
    """
    pairs = [(models[0], models[-1])] if sides.models else [(one, one) for one in models]
    cases: dict[str, Case] = {}
    dropped: list[Dropped] = []
    for pair in pairs:
        found = [
            expand([one.cell], [model], target, variant_of)
            for one, model, target in zip(sides.both, pair, targets, strict=True)
        ]
        a, b = (next((case for case in one.cases if case.timed), None) for one in found)
        if a is None or b is None or a.case_id == b.case_id:
            dropped += _without(sides, found, [model for model, _ in pair], targets[0].facts.identity)
            continue
        name = a.model_name if a.model_name == b.model_name else f"{a.model_name} and {b.model_name}"
        for side, own in zip(Side, found, strict=True):
            for case in own.cases:
                known = cases.get(case.case_id)
                if not case.timed:
                    cases[case.case_id] = case if known is None else replace(known, traced=True)
                else:
                    traced = case.traced or (known is not None and known.traced)
                    row = f"{side.value} {case.row}"
                    cases[case.case_id] = replace(case, side=side, pair=name, row=row, traced=traced)
    return Expansion(tuple(cases.values()), tuple(dropped))


def _without(sides: Sides, found: Sequence[Expansion], models: Sequence[Model], phone: str) -> list[Dropped]:
    """Why a pair is none on this phone: a side's own reason, the other's, or that both are one and the same there."""
    both_run = all(one.cases for one in found)
    dropped = []
    for side, asked, own, model in zip(Side, sides.both, found, models, strict=True):
        reason = "A and B are one and the same here: nothing differs"
        if not both_run:
            other = Side.B if side is Side.A else Side.A
            reason = own.dropped[0].reason if own.dropped else f"{other.value} can't run here"
        row = f"{side.value} {asked.cell.row}"
        dropped.append(Dropped(model_name=model.name, phone=phone, row=row, reason=reason))
    return dropped

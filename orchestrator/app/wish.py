"""Pure: what a person asked for, from options and plan file alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from android_runner.capabilities import CommandDialect
from android_runner.ort import OrtVersion
from android_runner.preparing.steps import StepName
from orchestrator.app.amounts import dims_of_words, fraction_of, limits_of_words, seconds_of
from orchestrator.app.binary import BinaryAsked
from orchestrator.errors import Problem, UsageError
from orchestrator.nights.nouns import SeriesKey
from orchestrator.plan.cells import Cell
from orchestrator.plan.length import MAX_ITERATIONS, TrialLength
from orchestrator.plan.load import (
    CONTROL_ROUNDS,
    LEDGER_ROUNDS,
    MAX_SEED,
    ModelEntry,
    PlanFile,
    load_plan,
    matrix_cells,
)
from orchestrator.plan.presets import PRESETS, PresetFor, preset_cells, unknown
from orchestrator.plan.series import MAX_MINUTES, Series, series_for
from orchestrator.plan.sides import OneSide, Sides

if TYPE_CHECKING:
    from orchestrator.store.hunts import Sought

MODEL_SUFFIXES = (".onnx", ".ort")
DEFAULT_PRESET = "quick"
MAX_ROUNDS = 30
"""As many rounds as a case may get for its precision, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `orch run` and `orch plan` as they were typed; empty or None where they were not."""

    things: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    preset: str = ""
    perf_test: str = ""
    lib: tuple[str, ...] = ()
    dialect: str = ""
    converter: str = ""
    build_config: str = ""
    custom_ops: tuple[str, ...] = ()
    rounds: int | None = None
    precision: str = ""
    max_rounds: int | None = None
    budget: str = ""
    deadline: str = ""
    reruns: int | None = None
    seconds: float | None = None
    iterations: int | None = None
    seed: int | None = None
    dim: tuple[str, ...] = ()
    inputs: str = ""
    trace: bool = False
    verify: bool = False
    prepare: bool | None = None
    sustained: float | None = None
    limit: tuple[str, ...] = ()
    note: str = ""
    tag: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A plan with everything typed over it; only its file was read. `as_lab`: phones are prepared as the lab says."""

    plan: PlanFile
    models: tuple[ModelEntry, ...]
    device: tuple[str, ...]
    as_lab: bool = True
    sides: Sides | None = None
    """A and B, where two are held against each other."""
    tune: Sought | None = None
    """What is searched for, where that decides which trials there are; its cases are not known yet."""
    only: frozenset[SeriesKey] | None = None
    """The series that are asked again, out of all that the plan has; None: all."""

    @property
    def binaries(self) -> tuple[BinaryAsked, BinaryAsked]:
        """A's and B's; the same twice where only one is asked for."""
        common = BinaryAsked(self.plan.perf_test, tuple(self.plan.lib), self.plan.dialect)
        if self.sides is None:
            return common, common
        a, b = (_binary_of(one, common) for one in self.sides.both)
        return a, b

    @property
    def name(self) -> str:
        """What the run is named after: the plan's name, else the preset's."""
        return self.plan.name if self.plan.name != "plan" else self.plan.preset or "plan"

    def cells(self, cores: int, version: OrtVersion | None) -> list[Cell]:
        """The cells for a phone with `cores` cores and a binary's version: the preset's first, then the matrix's."""
        if self.sides is not None:
            return list(dict.fromkeys(one.cell for one in self.sides.both))
        chosen = preset_cells(self.plan.preset, PresetFor(cores=cores, version=version)) if self.plan.preset else []
        return list(dict.fromkeys([*chosen, *matrix_cells(self.plan.matrix)]))

    @property
    def max_rounds(self) -> int:
        """Rounds that are planned: as many as may be needed, where precision or a budget decides how many are."""
        plan = self.plan
        return plan.max_rounds or (max(plan.rounds, MAX_ROUNDS) if plan.precision is not None else plan.rounds)

    @property
    def twins(self) -> bool:
        """Whether one case is measured under two names, to see what difference a phone shows where there is none."""
        return self.plan.twins and self.plan.rounds >= CONTROL_ROUNDS

    @property
    def canary(self) -> bool:
        """Whether a tiny fixed model runs before each round but the first, to see how the phone itself drifts."""
        return self.plan.canary and self.plan.rounds >= CONTROL_ROUNDS

    @property
    def prepare(self) -> tuple[StepName, ...]:
        """The steps of preparing the phones that are asked for."""
        asked = self.plan.prepare
        return tuple(StepName) if asked is True else tuple(asked or ())

    @property
    def series(self) -> Series | None:
        """How the long series are cut, where they are asked for."""
        return series_for(self.plan.sustained) if self.plan.sustained else None

    def length(self) -> TrialLength:
        """Bounds on one timed process."""
        return TrialLength(min_s=self.plan.seconds)


def _binary_of(side: OneSide, common: BinaryAsked) -> BinaryAsked:
    """A side's own binary, else the one that both have."""
    if side.binary or side.dialect:
        return BinaryAsked(side.binary, side.lib, side.dialect, (f"{side.option} binary", f"{side.option} lib"))
    return common


def wish_of(options: RunOptions) -> Wish:
    """Put options over the plan file, when one is given. Raises UsageError with every problem."""
    plans = [thing for thing in options.things if thing.endswith(".toml")]
    if len(plans) > 1:
        raise UsageError(Problem("arguments", f"{len(plans)} plans: {', '.join(plans)}", "give one plan file"))
    plan = load_plan(Path(plans[0])) if plans else PlanFile()
    problems: list[Problem] = []
    if options.preset and options.preset not in PRESETS:
        problems.append(unknown("preset", options.preset, list(PRESETS)))
    problems += _bounds(options) + _endings(options, plan)
    problems += _stand_in(options, plan)
    dims = dims_of_words(options.dim, problems)
    limits = limits_of_words(options.limit, problems)
    models = [entry if isinstance(entry, ModelEntry) else ModelEntry(path=entry) for entry in plan.models]
    for thing in options.things:
        if not thing:
            problems.append(Problem("arguments", "an empty name", "give MODEL.onnx, a folder with models, or a plan"))
        elif not thing.endswith(".toml"):
            models += _models_in(Path(thing), problems)
    if not models and not problems:
        problems.append(Problem("arguments", "no model", "give MODEL.onnx, a folder with models, or a plan"))
    if problems:
        raise UsageError(*problems)
    typed = [
        ModelEntry(path=one.path, dims={**one.dims, **dims}, inputs=options.inputs or one.inputs) for one in models
    ]
    plan = replace(plan, limits=replace(plan.limits, **limits.changes()))
    return Wish(
        plan=_over(plan, options),
        models=tuple(typed),
        device=options.device or tuple(plan.device),
        as_lab=options.prepare is not False,
    )


def _bounds(options: RunOptions) -> list[Problem]:
    rounds, seconds, iterations, seed = options.rounds, options.seconds, options.iterations, options.seed
    reruns = options.reruns
    minutes = options.sustained
    checks = [
        ("--rounds", rounds, rounds is None or 1 <= rounds <= 1000, "1 to 1000"),
        ("--seconds", seconds, seconds is None or 0 < seconds <= 60, "above 0, at most 60"),
        ("--iterations", iterations, iterations is None or 1 <= iterations <= MAX_ITERATIONS, f"1 to {MAX_ITERATIONS}"),
        ("--reruns", reruns, reruns is None or 0 <= reruns <= 1000, "0 to 1000"),
        ("--sustained", minutes, minutes is None or 0 < minutes <= MAX_MINUTES, f"above 0, at most {MAX_MINUTES:g}"),
        ("--seed", seed, seed is None or 0 <= seed <= MAX_SEED, f"0 to {MAX_SEED}"),
    ]
    return [Problem(name, f"{value} is out of range", f"give {mend}") for name, value, fine, mend in checks if not fine]


def _endings(options: RunOptions, plan: PlanFile) -> list[Problem]:
    """What is wrong with what is to end the rounds."""
    problems = []
    precision = plan.precision is not None
    if options.precision:
        precision = True
        if fraction_of(options.precision) is None:
            problems.append(Problem("--precision", f"{options.precision!r} is no share", "give 1%, or 0.01"))
    budget = options.budget or plan.budget
    for name, typed in (("--budget", options.budget), ("--deadline", options.deadline)):
        if typed and seconds_of(typed) is None:
            problems.append(Problem(name, f"{typed!r} is no duration", "give 90s, 2m or 1h30m"))
    rounds, most = options.rounds or plan.rounds, options.max_rounds or plan.max_rounds
    if most is not None and not rounds <= most <= LEDGER_ROUNDS:
        problems.append(
            Problem("--max-rounds", f"{most} is out of range", f"give {rounds} (the rounds) to {LEDGER_ROUNDS}")
        )
    if most is not None and not precision and not budget:
        problems.append(Problem("--max-rounds", "nothing would end the rounds before", "add --precision or --budget"))
    if precision and rounds < CONTROL_ROUNDS:
        mend = f"give --rounds {CONTROL_ROUNDS} or more"
        problems.append(Problem("--precision", f"{rounds} rounds tell no spread", mend))
    return problems


def _stand_in(options: RunOptions, plan: PlanFile) -> list[Problem]:
    if (options.lib or plan.lib) and not (options.perf_test or plan.perf_test):
        return [Problem("--lib", "is a library of no program", "add --perf-test PATH, or leave it out")]
    if options.dialect and options.dialect not in list(CommandDialect):
        return [unknown("dialect", options.dialect, [one.value for one in CommandDialect])]
    if (options.dialect or plan.dialect) and (options.perf_test or plan.perf_test):
        return [Problem("--dialect", "is the stand-in's, but --perf-test names a program", "give one of the two")]
    return []


def _over(plan: PlanFile, options: RunOptions) -> PlanFile:
    def typed(value: object, otherwise: object) -> object:
        return otherwise if value in (None, "", (), False) else value

    preset = options.preset or plan.preset or ("" if plan.matrix else DEFAULT_PRESET)
    fields: dict[str, object] = {name: getattr(plan, name) for name in PlanFile.__dataclass_fields__}
    fields |= {
        "preset": preset,
        "models": [],
        "rounds": typed(options.rounds, plan.rounds),
        "precision": fraction_of(options.precision) if options.precision else plan.precision,
        "max_rounds": typed(options.max_rounds, plan.max_rounds),
        "budget": typed(options.budget, plan.budget),
        "deadline": typed(options.deadline, plan.deadline),
        "reruns": plan.reruns if options.reruns is None else options.reruns,
        "seconds": typed(options.seconds, plan.seconds),
        "iterations": typed(options.iterations, plan.iterations),
        "seed": plan.seed if options.seed is None else options.seed,
        "trace": options.trace or plan.trace,
        "verify": options.verify or plan.verify,
        "prepare": plan.prepare if options.prepare is None else options.prepare and (plan.prepare or True),
        "sustained": typed(options.sustained, plan.sustained),
        "perf_test": typed(options.perf_test, plan.perf_test),
        "lib": list(options.lib) or plan.lib,
        "dialect": typed(options.dialect, plan.dialect),
        "converter": typed(options.converter, plan.converter),
        "build_config": typed(options.build_config, plan.build_config),
        "custom_ops": list(options.custom_ops) or plan.custom_ops,
        "note": typed(options.note, plan.note),
        "tag": list(options.tag) or plan.tag,
    }
    return PlanFile(**fields)  # type: ignore[arg-type]


def _models_in(path: Path, problems: list[Problem]) -> list[ModelEntry]:
    if not path.is_dir():
        return [ModelEntry(path=str(path))]
    found = sorted(one for one in path.iterdir() if one.suffix in MODEL_SUFFIXES and one.is_file())
    if not found:
        problems.append(Problem(str(path), "holds no .onnx or .ort file", "give a model, or another folder"))
    return [ModelEntry(path=str(one)) for one in found]

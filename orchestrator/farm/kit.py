"""What a lane needs to carry work out, fixed for a run; and pure: a piece of work as the phone's task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from android_runner.assignment import LOG_TAG
from android_runner.block import TrialTask
from android_runner.capabilities import Capabilities
from android_runner.device import Device
from android_runner.errors import RunnerError
from android_runner.facts import PhoneFacts
from android_runner.invocation import Invocation, argv
from android_runner.ort import ModelFormat, OptimizationStyle
from android_runner.staging import StageFile, StageUnit, staged_dir
from android_runner.validity import Limits
from orchestrator.digest import digest_of
from orchestrator.farm.protocol import Work
from orchestrator.farm.returning import Ladder
from orchestrator.outcome import Failed
from orchestrator.plan.case import LATENCIES, Case, Purpose
from orchestrator.plan.length import deadline_s
from orchestrator.variants.custom_ops import custom_operators
from orchestrator.variants.recipe import InputSet, Variant
from orchestrator.variants.verify_variant import CheckVariant

RESULT_FILE = "result.csv"
TRACE_PREFIX = "trace"
BINARY_NAME = "onnxruntime_perf_test"
CUSTOM_OPS_NAME = "libcustom_ops.so"
"""The library of custom operators, where the binary's unit has one."""
SCRIPT_NAME = "run_block.sh"
UNKNOWN_LENGTH_S = 60.0
"""What a process of unknown cost is allowed for before it is taken for hung: calibrations, fixed iterations."""

DeviceSource = Callable[[], Device]
"""Opens the phone anew; raises LinkError while it can't be reached."""


Able = Mapping[str, Capabilities]
"""What each binary of a run, by digest, can do on a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """What the cases of a run refer to, by id; check variants by the id of the variant that they check."""

    run_id: str
    cases: Mapping[str, Case]
    variants: Mapping[str, Variant]
    inputs: Mapping[str, InputSet]
    binaries: Mapping[str, StageUnit]
    """By digest, as cases name theirs: one, or two where two are held against each other."""
    script: StageUnit
    script_digest: str
    trial_s: float
    checks: Mapping[str, CheckVariant] = field(default_factory=dict)

    @property
    def common(self) -> tuple[StageUnit, ...]:
        """What every block needs on its phone."""
        return (self.script, *self.binaries.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneKit:
    """One phone of the run: how to reach it, what it is, what the binary can do there."""

    phone: str
    facts: PhoneFacts
    source: DeviceSource
    capabilities: Able
    materials: Materials
    ladder: Ladder
    """What is done about the phone when it does not answer."""
    verify_staged: bool = False
    tuned: bool = False
    """Whether the phone was changed for measuring; else its series is one of a stock phone."""
    task_profile: str = ""
    """Android's task profile that processes are started with; empty: none."""
    limits: Limits = field(default_factory=Limits)
    """What the phone must be like for an attempt to count."""
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    """What a push to the phone waits for: who shares its cable takes turns."""


def has_custom_ops(binary: StageUnit) -> bool:
    """Whether a library of custom operators lies beside the binary."""
    return any(file.name == CUSTOM_OPS_NAME for file in binary.files)


def model_unit(case: Case, materials: Materials) -> StageUnit:
    """A variant with its inputs as perf_test wants them: the model alone beside one data set."""
    digest = digest_of(["model", case.variant_id, case.inputs_digest])
    return StageUnit(digest=digest, files=_files(materials.variants[case.variant_id], case, materials))


def check_unit(case: Case, materials: Materials) -> StageUnit:
    """The check variant of a case's variant, with the same inputs."""
    check = materials.checks[case.variant_id]
    return StageUnit(digest=digest_of(["check", check.facts.check_id]), files=_files(check, case, materials))


def _files(model: Variant | CheckVariant, case: Case, materials: Materials) -> tuple[StageFile, ...]:
    inputs = materials.inputs[case.inputs_digest]
    main = StageFile(name=f"model{model.path.suffix}", source=model.path, sha256=model.sha256)
    beside = [StageFile(name=name, source=model.path.parent / name, sha256=sha256) for name, sha256 in model.external]
    data = [
        StageFile(name=f"test_data_set_0/{name}", source=inputs.directory / name, sha256="") for name in inputs.files
    ]
    return (main, *beside, *data)


def unit_of(work: Work, materials: Materials) -> StageUnit:
    """The model unit that a piece of work runs."""
    case = materials.cases[work.case_id]
    return check_unit(case, materials) if work.purpose is Purpose.VERIFY else model_unit(case, materials)


def units_for(works: tuple[Work, ...] | tuple[str, ...], materials: Materials) -> list[StageUnit]:
    """The distinct model units that works (or cases by id) need, in order of first use."""
    asked = {one if isinstance(one, str) else (one.case_id, one.purpose is Purpose.VERIFY): one for one in works}
    units = (
        model_unit(materials.cases[one], materials) if isinstance(one, str) else unit_of(one, materials)
        for one in asked.values()
    )
    return list({unit.digest: unit for unit in units}.values())


def task_id(index: int, work: Work) -> str:
    """A name for the phone: unique in its block, sortable, made of our own characters only."""
    return f"{index:04d}-{work.purpose.value}-r{work.round}-{work.case_id[:12]}"


def task_of(index: int, work: Work, kit: LaneKit) -> TrialTask:
    """The process to start for a piece of work. Raises SettingRefused when the binary can't be told to."""
    case = kit.materials.cases[work.case_id]
    unit = unit_of(work, kit.materials)
    variant = kit.materials.variants[case.variant_id]
    timed = work.purpose in LATENCIES
    introspects = work.purpose is Purpose.INTROSPECT
    beside = staged_dir(case.binary_digest)
    call = Invocation(
        binary=beside / BINARY_NAME,
        model=staged_dir(unit.digest) / f"model.{variant.recipe.format.value}",
        settings=case.settings,
        iterations=work.iterations,
        seconds=None,
        result_file=RESULT_FILE if timed else None,
        trace_prefix=TRACE_PREFIX if work.purpose in (Purpose.TRACE, Purpose.VERIFY) else None,
        verbose=introspects,
        replay_saved=variant.recipe.format is ModelFormat.ORT and variant.recipe.style is OptimizationStyle.RUNTIME,
    )
    if has_custom_ops(kit.materials.binaries[case.binary_digest]) and custom_operators(variant.operators_after):
        call = replace(call, custom_ops=beside / CUSTOM_OPS_NAME)
    command = argv(call, kit.capabilities[case.binary_digest])
    if kit.facts.launcher:  # also for what is not timed: it would compute beside another phone's timed trial
        command = (kit.facts.launcher, *command)
    expected_s = kit.materials.trial_s if timed else UNKNOWN_LENGTH_S
    return TrialTask(
        task_id=task_id(index, work),
        argv=command,
        deadline_s=deadline_s(expected_s),
        env={"LD_LIBRARY_PATH": beside},
        log_tags=(LOG_TAG,) if introspects else (),
        cpu_mask=case.cpu_mask,
    )


def failed(error: RunnerError) -> Failed:
    """An error of the tree as data."""
    return Failed(kind=error.kind, blame=error.blame, retry=error.retry, message=str(error))

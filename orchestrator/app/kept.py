"""Pure: what a run's row keeps of its plan, so that `resume` can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from android_runner.preparing.steps import StepName


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a run's row keeps of the plan beyond cases and trials: enough to go on with it."""

    rounds: int
    seconds: float
    iterations: int | None
    seed: int
    trace: bool
    devices: tuple[str, ...]
    inputs: Mapping[str, str]
    """digest of an input set -> its source, in words"""
    command: str
    verify: bool = False
    sustained: float = 0.0
    custom_ops: tuple[tuple[str, str], ...] = ()
    """this host's libraries of custom operators: path and sha256"""
    prepare: tuple[StepName, ...] = ()
    lab_prepares: Mapping[str, tuple[StepName, ...]] = field(default_factory=dict)
    """Steps that the lab's file asked for, by phone."""
    max_rounds: int = 0
    """Rounds that were planned, more than `rounds` where precision or a budget decides; 0 in old runs: as `rounds`."""
    precision: float | None = None
    budget_s: float | None = None
    deadline_s: float | None = None
    reruns: int | None = None
    canary: str = ""
    """The canary's case, "" where none was asked for."""
    pools: tuple[tuple[str, ...], ...] = ()
    """Phones of which one was asked for, the others standing by for it; the first was the one."""
    limits: Mapping[str, float | bool] = field(default_factory=dict)
    """What the plan's `[limits]` say, by key; false where a rule is off."""
    lab_limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What the lab's file says of batteries, by phone."""
    delta: float | None = None
    """The difference that matters, as a fraction, where A is held against B."""
    sides: Mapping[str, str] = field(default_factory=dict)
    """What was asked for as A and as B, in the words that were typed."""
    binaries: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By digest the name and the ORT version of each binary that is not the run's first."""
    slots: int = 0
    """Virtual phones that compute at once; 0 in old runs: not known."""
    fail_if: tuple[str, ...] = ()
    """Gates on A beside B, as they were written."""
    tune: Mapping[str, Any] = field(default_factory=dict)
    """What is searched for on each phone (`orchestrator.store.hunts.Sought`); empty: nothing is."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """What a replay asks again (`orchestrator.report.replay`); empty: it is none."""

    def limits_on(self, phone: str) -> dict[str, float | bool]:
        """What changes a phone's limits: the lab, and over it the plan."""
        return {**self.lab_limits.get(phone, {}), **self.limits}

    def pool_of(self, phone: str) -> tuple[str, ...]:
        """The phones between which a trial of this one may move; empty: none."""
        return next((pool for pool in self.pools if phone in pool), ())

    def steps_of(self, phone: str) -> tuple[StepName, ...]:
        """The steps of preparing this phone, the lab's among them."""
        return tuple(step for step in StepName if step in (*self.prepare, *self.lab_prepares.get(phone, ())))


def kept_to_text(kept: Kept) -> str:
    """As one line of JSON, keys sorted."""
    fields = {name: getattr(kept, name) for name in Kept.__slots__}
    return json.dumps({**fields, "devices": list(kept.devices), "inputs": dict(kept.inputs)}, sort_keys=True)


def kept_from_text(text: str) -> Kept:
    """Back again. Raises ValueError, KeyError or TypeError for text that is not ours."""
    data = json.loads(text)
    kept = Kept(**{**data, "devices": tuple(data["devices"])})
    libraries = tuple((str(path), str(sha256)) for path, sha256 in kept.custom_ops)
    others = {digest: (str(name), str(version)) for digest, (name, version) in kept.binaries.items()}
    kept = replace(kept, pools=tuple(tuple(pool) for pool in kept.pools), binaries=others, fail_if=tuple(kept.fail_if))
    of_lab = {phone: tuple(map(StepName, steps)) for phone, steps in kept.lab_prepares.items()}
    return replace(kept, custom_ops=libraries, prepare=tuple(map(StepName, kept.prepare)), lab_prepares=of_lab)

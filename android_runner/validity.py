"""Pure: may a trial's figures be trusted, from the vitals around it and from how its process was placed.

Each rule looks at one thing and yields reasons. A sensor that a rule needs and that the phone does not offer makes the
attempt suspect under a reason of its own: not offered is never fine. Public thermal status alone is not enough, as
clocks fall long before it rises, so the residency of clocks is judged apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from android_runner.affinity import core_words
from android_runner.facts import ProcessFacts, Vitals
from android_runner.others import load_by_others, others_computed
from android_runner.residency import capped, counters_lie, residency_loss, sampled_loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a phone must be like before and after a trial; None switches a rule off. Part of a plan's digest.

    Temperatures in °C, battery in per cent, `max_load` in runnable processes beside our own, `max_status` as `dumpsys
    thermalservice` counts (1 light), `max_residency_loss` the share of the top clock that may be missing, `max_rise_c`
    of the battery within one trial. The gate waits for a temperature at or below its limit or, where the phone cannot
    get cooler, until it fell by less than `flat_c` within `flat_window_s`; a battery below `min_battery_level` must
    first come `battery_hysteresis` above it. After `gate_timeout_s` the trial starts anyway and is judged.
    """

    max_battery_c: float | None = 37.0
    max_zone_c: float | None = None
    min_battery_level: int | None = 30
    battery_hysteresis: int = 5
    max_load: float | None = 2.0
    max_status: int | None = 1
    max_residency_loss: float | None = 0.15
    max_rise_c: float | None = 3.0
    flat_c: float = 0.2
    flat_window_s: int = 60
    gate_timeout_s: int = 600


SHELL_SLACK_S = 0.1
SHELL_SHARE = 0.05
"""Seconds that others' shells may compute around a trial, and as a share of its length: more spoils it."""


class Standing(StrEnum):
    """What an attempt's figures are good for: all, all with a remark, nothing but a look."""

    VALID = "valid"
    SUSPECT = "suspect"
    INVALID = "invalid"


class Reason(StrEnum):
    """Why an attempt is not simply valid; stable words, stored and counted."""

    REBOOTED = "rebooted"
    RESIDENCY_LOST = "residency lost"
    CLOCKS_CAPPED = "clocks capped"
    CLOCKS_LOW = "sampled clocks low"
    STATUS_HIGH = "thermal status high"
    STATUS_RISEN = "thermal status risen"
    BATTERY_HOT = "battery hot"
    BATTERY_WARM = "battery warm"
    BATTERY_ROSE = "battery warmed up"
    ZONE_HOT = "zone hot at the start"
    BATTERY_LOW = "battery low"
    BUSY = "others computed"
    CPUS_NOT_AS_ASKED = "cores not as asked"
    CPUS_WITHHELD = "cores withheld"
    DEMOTED = "process demoted"
    SCREEN_CHANGED = "screen changed"
    DOZE_CHANGED = "doze changed"
    SHELL = "someone else's shell"
    NEVER_FLAT = "never flat"
    NO_VITALS = "vitals not offered"
    NO_BOOT_ID = "boot id not offered"
    NO_CLOCKS = "clocks not offered"
    CLOCKS_DOUBTFUL = "clocks doubtful"
    NO_HEAT = "heat not offered"
    NO_BATTERY_TEMPERATURE = "battery temperature not offered"
    NO_BATTERY_LEVEL = "battery level not offered"
    NO_LOAD = "load not offered"
    NO_AFFINITY = "cores not read back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """A verdict; `details` has one sentence with figures for each of `reasons`, in their order."""

    standing: Standing
    reasons: tuple[Reason, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Finding:
    standing: Standing
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class _Trial:
    before: Vitals
    after: Vitals
    limits: Limits
    cpu_mask: int | None


def judge_validity(
    before: Vitals | None,
    after: Vitals | None,
    process: ProcessFacts | None,
    limits: Limits,
    *,
    cpu_mask: int | None = None,
) -> Validity:
    """The verdict on one attempt: invalid if any rule says so, else suspect if any does, else valid.

    `cpu_mask` is what was asked for, bit n for core n; None where no cores were asked for. `process` is how the process
    itself was placed, None where nothing could be read.
    """
    findings = list(_of_process(process, cpu_mask))
    if before is None or after is None:
        side = "around" if before is None and after is None else "before" if before is None else "after"
        findings.append(_suspect(Reason.NO_VITALS, f"no vitals {side} the trial"))
    else:
        trial = _Trial(before, after, limits, cpu_mask)
        findings += [finding for rule in _RULES for finding in rule(trial)]
    worst = [s for s in (Standing.INVALID, Standing.SUSPECT) if any(f.standing is s for f in findings)]
    findings.sort(key=lambda finding: finding.standing is not Standing.INVALID)  # stable: the graver ones first
    return Validity(
        standing=worst[0] if worst else Standing.VALID,
        reasons=tuple(finding.reason for finding in findings),
        details=tuple(finding.detail for finding in findings),
    )


# --- rules about the process ---


def _of_process(process: ProcessFacts | None, cpu_mask: int | None) -> Iterator[_Finding]:
    allowed = set(process.allowed_cpus) if process is not None else set()
    if cpu_mask is not None:
        asked = {core for core in range(cpu_mask.bit_length()) if cpu_mask >> core & 1}
        if not allowed:
            yield _suspect(Reason.NO_AFFINITY, "which cores the process had was not read back")
        elif allowed != asked:
            yield _invalid(Reason.CPUS_NOT_AS_ASKED, f"{_cores(allowed)}, asked for {_cores(asked)}")
    elif process is not None and allowed and process.cpuset not in ("", "/") and set(process.online_cpus) - allowed:
        missing = set(process.online_cpus) - allowed
        yield _suspect(Reason.CPUS_WITHHELD, f"{_cores(missing)} withheld from cpuset {process.cpuset or '?'}")
    if process is not None and process.nice is not None and process.nice > 0:
        yield _suspect(Reason.DEMOTED, f"ran with nice {process.nice}")


def _cores(cores: set[int]) -> str:
    return core_words(tuple(cores))


# --- rules about the phone ---


def _reboot(trial: _Trial) -> Iterator[_Finding]:
    before, after = trial.before, trial.after
    if before.boot_id is None or after.boot_id is None:
        yield _suspect(Reason.NO_BOOT_ID, "no boot id to compare")
    elif before.boot_id != after.boot_id:
        yield _invalid(Reason.REBOOTED, "another boot id after the trial")
    if before.uptime_s is not None and after.uptime_s is not None and after.uptime_s < before.uptime_s:
        yield _invalid(Reason.REBOOTED, f"uptime fell from {before.uptime_s:.0f} s to {after.uptime_s:.0f} s")


def _clocks(trial: _Trial) -> Iterator[_Finding]:
    limit = trial.limits.max_residency_loss
    if limit is None:
        return
    if (fell := capped(trial.before.limit_khz, trial.after.limit_khz, trial.cpu_mask)) > limit:
        yield _invalid(Reason.CLOCKS_CAPPED, f"the highest clock allowed fell by {fell:.0%}")
    loss = residency_loss(trial.before, trial.after, trial.cpu_mask)
    if loss is not None:
        if loss > limit:
            yield _invalid(Reason.RESIDENCY_LOST, f"{loss:.0%} of the top clock missing, at most {limit:.0%}")
        return
    if counters_lie(trial.before, trial.after, trial.cpu_mask):
        yield _suspect(Reason.CLOCKS_DOUBTFUL, "time_in_state does not add up to the time that passed")
    sampled = sampled_loss(trial.before, trial.after, trial.cpu_mask)
    if sampled is None:
        yield _suspect(Reason.NO_CLOCKS, "neither residency nor clocks to judge by")
    elif sampled > limit:
        yield _suspect(Reason.CLOCKS_LOW, f"right after the trial {sampled:.0%} below the highest clock allowed")


def _status(trial: _Trial) -> Iterator[_Finding]:
    limit, before, after = trial.limits.max_status, trial.before.thermal_status, trial.after.thermal_status
    if limit is None:
        return
    if after is None:
        if not trial.after.zones_c:
            yield _suspect(Reason.NO_HEAT, "neither thermal status nor a zone to judge by")
    elif max(after, before or 0) > limit:
        yield _invalid(Reason.STATUS_HIGH, f"thermal status {max(after, before or 0)}, at most {limit}")
    elif before is not None and after > before:
        yield _suspect(Reason.STATUS_RISEN, f"thermal status rose from {before} to {after}")


def _battery_heat(trial: _Trial) -> Iterator[_Finding]:
    limit, rise = trial.limits.max_battery_c, trial.limits.max_rise_c
    if limit is None and rise is None:
        return
    before, after = trial.before.battery_c, trial.after.battery_c
    if before is None or after is None:
        yield _suspect(Reason.NO_BATTERY_TEMPERATURE, "the battery's temperature was not read")
        return
    hottest = max(before, after)
    if limit is not None and hottest > limit + (rise or 0.0):
        yield _invalid(Reason.BATTERY_HOT, f"battery at {hottest:.1f} °C, limit {limit:g} °C and {rise or 0:g} °C rise")
    elif limit is not None and hottest > limit:
        yield _suspect(Reason.BATTERY_WARM, f"battery at {hottest:.1f} °C, limit {limit:g} °C")
    if rise is not None and after - before > rise:
        yield _invalid(Reason.BATTERY_ROSE, f"battery warmed up by {after - before:.1f} °C, at most {rise:g} °C")


def _zones(trial: _Trial) -> Iterator[_Finding]:
    limit, zones = trial.limits.max_zone_c, trial.before.zones_c
    if limit is None:
        return
    if not zones:
        yield _suspect(Reason.NO_HEAT, "no thermal zone to judge by")
        return
    name = max(zones, key=lambda zone: zones[zone])
    if zones[name] > limit:
        yield _suspect(Reason.ZONE_HOT, f"zone {name} at {zones[name]:.1f} °C before the trial, limit {limit:g} °C")


def _battery_level(trial: _Trial) -> Iterator[_Finding]:
    limit = trial.limits.min_battery_level
    levels = [level for level in (trial.before.battery_level, trial.after.battery_level) if level is not None]
    if limit is None:
        return
    if not levels:
        yield _suspect(Reason.NO_BATTERY_LEVEL, "the battery's level was not read")
    elif min(levels) < limit:
        yield _invalid(Reason.BATTERY_LOW, f"battery at {min(levels)} %, at least {limit} %")


def _load(trial: _Trial) -> Iterator[_Finding]:
    limit = trial.limits.max_load
    if limit is None:
        return
    loads = [load for load in (load_by_others(trial.before), load_by_others(trial.after)) if load is not None]
    if not loads:
        yield _suspect(Reason.NO_LOAD, "the load was not read")
    elif min(loads) > limit and len(loads) == 2:
        yield _invalid(Reason.BUSY, f"a load of {min(loads):g} by others before and after, at most {limit:g}")
    elif max(loads) > limit:
        yield _suspect(Reason.BUSY, f"a load of {max(loads):g} by others on one side, at most {limit:g}")


def _surroundings(trial: _Trial) -> Iterator[_Finding]:
    before, after = trial.before, trial.after
    if before.screen_on is not None and after.screen_on is not None and before.screen_on != after.screen_on:
        yield _invalid(Reason.SCREEN_CHANGED, f"the screen was turned {'on' if after.screen_on else 'off'}")
    if before.doze is not None and after.doze is not None and before.doze != after.doze:
        yield _invalid(Reason.DOZE_CHANGED, f"doze went from {before.doze} to {after.doze}")


def _shells(trial: _Trial) -> Iterator[_Finding]:
    """Where nobody told (as root; a phone that hides processes) nothing is found: the load tells of who computes."""
    who, spent_s, passed_s = others_computed(trial.before, trial.after) or ("", 0.0, 0.0)
    if spent_s > SHELL_SLACK_S + SHELL_SHARE * passed_s:
        yield _invalid(Reason.SHELL, f"someone else's shell computed for {spent_s:.1f} s: {who}")
    elif who:
        yield _suspect(Reason.SHELL, f"someone else's shell was there: {who}")


_RULES: tuple[Callable[[_Trial], Iterator[_Finding]], ...] = (
    _reboot,
    _clocks,
    _status,
    _battery_heat,
    _zones,
    _battery_level,
    _load,
    _surroundings,
    _shells,
)


def _invalid(reason: Reason, detail: str) -> _Finding:
    return _Finding(Standing.INVALID, reason, detail)


def _suspect(reason: Reason, detail: str) -> _Finding:
    return _Finding(Standing.SUSPECT, reason, detail)

"""Known truth: what is said of simulated phones, whose cases' ratios are known, against a plain loop in fixed order.

Five cases (a baseline, and latencies of 0.90, 0.97, 1.00 and 1.03 of it at equal clocks) are measured on phones drawn
from the scenarios of `android_runner/virtual/heat/scenarios`: (a) by a loop of as many processes as fit in a budget,
case after case, judged by the mean of perf_test's averages, and (b) by this program, waiting included, once in the same
budget and once until its precision is reached. `ORCH_SEEDS` is how many phones a scenario has.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from android_runner.validity import Limits
from android_runner.virtual.heat.scenario import load_scenario
from android_runner.virtual.heat.simulated import draw
from benchmarks.row import Row
from benchmarks.simulated_farm import LATENCY_S, RATIOS, Asked, OurFarm, Policy, Rounds, plain_loop
from orchestrator.measure.interval import FIRST_STAGE
from orchestrator.measure.stopping import fixed_rounds
from orchestrator.report.stats import Ratio, speed_ratio

SCENARIOS = ("quiet", "drift", "bursts", "lying-sensors")
BROKEN = "slow-mode"
"""Processes that are neither log-normal nor independent, which no sensor shows: every interval assumes otherwise."""
SEEDS = 2000
BUDGET_S = 900.0
PRECISION = 0.02
MOST_ROUNDS = 40
JUDGED = tuple(name for name in RATIOS if name != "base")

NOISY_CASES = 24
NOISY_RUNS = 60
CVS = (0.005, 0.05)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was said of one ratio on one phone: errors of the logarithm, None where nothing was said; whether the
    interval held the truth, and whether it left out 1. `in_budget` and `precise` are ours."""

    case: str
    plain: float
    plain_median: float
    in_budget: float | None
    precise: float | None
    unrejected: float | None
    budget_covers: bool | None
    covers: bool | None
    budget_differs: bool
    differs: bool


@dataclass(slots=True)
class Leg:
    """One scenario over all its phones."""

    seen: list[Seen] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)
    invalid: list[float] = field(default_factory=list)
    waited_s: list[float] = field(default_factory=list)

    def errors(self, of: Callable[[Seen], float | None]) -> list[float]:
        return [error for one in self.seen if (error := of(one)) is not None]

    def share(self, of: Callable[[Seen], bool | None]) -> tuple[int, int]:
        """How often yes, of how often there was an answer."""
        told = [answer for one in self.seen if (answer := of(one)) is not None]
        return sum(told), len(told)


@dataclass(frozen=True, slots=True)
class OfPhone:
    """All that one phone gives."""

    seen: tuple[Seen, ...]
    rounds: float
    invalid: float
    waited_s: float


def one_phone(scenario: str, seed: int) -> OfPhone:
    """One phone, measured three times from cold."""
    kind = load_scenario(scenario)
    phones = [draw(kind, f"{scenario}/{seed}") for _ in range(3)]
    for phone in phones:
        phone.rest(1.0)
    plain = plain_loop(phones[0], BUDGET_S)
    in_budget = OurFarm(phones[1], seed, Policy(budget_s=BUDGET_S)).run()
    precise = OurFarm(phones[2], seed, Policy(precision=PRECISION, rounds=MOST_ROUNDS)).run()
    seen = []
    for case in JUDGED:
        truth = math.log(RATIOS[case])
        ours, ours_all = _ratio(in_budget.valid, case, None), _ratio(in_budget.every, case, None)
        until = _ratio(precise.valid, case, FIRST_STAGE)
        seen.append(
            Seen(
                case=case,
                plain=math.log(plain.mean_s[case] / plain.mean_s["base"]) - truth,
                plain_median=math.log(plain.median_s[case] / plain.median_s["base"]) - truth,
                in_budget=_error(ours, truth),
                precise=_error(until, truth),
                unrejected=_error(ours_all, truth),
                budget_covers=_covers(ours, truth),
                covers=_covers(until, truth),
                budget_differs=ours is not None and (ours.surely_faster or ours.surely_slower),
                differs=until is not None and (until.surely_faster or until.surely_slower),
            )
        )
    attempts = in_budget.attempts + precise.attempts
    return OfPhone(
        seen=tuple(seen),
        rounds=statistics.fmean(len(rounds) for rounds in precise.valid.values()) if precise.valid else 0.0,
        invalid=(in_budget.invalid + precise.invalid) / attempts,
        waited_s=in_budget.waited_s,
    )


def _ratio(rounds: Rounds, case: str, first: int | None) -> Ratio | None:
    return speed_ratio(rounds.get("base", {}), rounds.get(case, {}), first=first)


def _error(ratio: Ratio | None, truth: float) -> float | None:
    """A speed ratio is the inverse of that of latencies."""
    return None if ratio is None else -math.log(ratio.value) - truth


def _covers(ratio: Ratio | None, truth: float) -> bool | None:
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return math.log(ratio.low) <= -truth <= math.log(ratio.high)


def legs(seeds: int, scenarios: Sequence[str] = (*SCENARIOS, BROKEN)) -> dict[str, Leg]:
    """Every scenario with so many phones, on all cores."""
    found = {}
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for scenario in scenarios:
            leg = found[scenario] = Leg()
            for told in pool.map(partial(one_phone, scenario), range(seeds), chunksize=20):
                leg.seen += told.seen
                leg.rounds.append(told.rounds)
                leg.invalid.append(told.invalid)
                leg.waited_s.append(told.waited_s)
    return found


def rms(errors: Sequence[float]) -> float:
    return math.sqrt(statistics.fmean(error * error for error in errors))


def most_by_chance(rate: float, count: int) -> float:
    """The share that `count` tries of a true `rate` exceed in one of 100 cases (normal approximation)."""
    return rate + 2.326 * math.sqrt(rate * (1 - rate) / count)


def error_row(name: str, leg: Leg, goal: float | None) -> Row:
    plain, median = rms(leg.errors(lambda one: one.plain)), rms(leg.errors(lambda one: one.plain_median))
    ours, kept = rms(leg.errors(lambda one: one.in_budget)), rms(leg.errors(lambda one: one.unrejected))
    silent = sum(one.in_budget is None for one in leg.seen)
    return Row(
        name=f"error {name}",
        goal="only said" if goal is None else f"RMS error of the log ratio ≤ {goal:.2f} of a plain loop's",
        figure=f"{ours / plain:.3f}",
        met=goal is None or ours / plain <= goal,
        detail=(
            f"{len(leg.rounds)} phones, {BUDGET_S / 60:.0f} min each: ours {ours:.2%}, plain loop {plain:.2%} "
            f"(medians of its p50s: {median:.2%})\n"
            f"without rejection {kept:.2%}; {statistics.fmean(leg.invalid):.0%} of attempts rejected, waited "
            f"{statistics.fmean(leg.waited_s):.0f} s at the gate, no answer for {silent} of {len(leg.seen)} ratios"
        ),
    )


def coverage_row(found: Mapping[str, Leg]) -> Row:
    shares = {name: found[name].share(lambda one: one.covers) for name in SCENARIOS}
    pooled = sum(yes for yes, _ in shares.values()) / sum(count for _, count in shares.values())
    least = min(yes / count for yes, count in shares.values())
    return Row(
        name="coverage",
        goal="95 % intervals after stopping hold the truth in 93 to 97 % pooled, ≥ 92 % in each scenario",
        figure=f"{pooled:.1%} pooled, {least:.1%} at least",
        met=0.93 <= pooled <= 0.97 and least >= 0.92,
        detail=(
            ", ".join(f"{name} {yes / count:.1%}" for name, (yes, count) in shares.items())
            + f"\nstopped at ± {PRECISION:.0%}, after "
            + ", ".join(f"{statistics.fmean(found[name].rounds):.0f} ({name})" for name in SCENARIOS)
            + f" rounds, at most {MOST_ROUNDS}; with a budget in place of a precision: "
            + ", ".join(f"{name} {_part(found[name].share(lambda one: one.budget_covers)):.1%}" for name in SCENARIOS)
        ),
    )


def winner_row(found: Mapping[str, Leg]) -> Row:
    ten = [one for name in SCENARIOS for one in found[name].seen if one.case == "90"]
    truth = math.log(RATIOS["90"])

    def wrong(errors: Sequence[float | None]) -> float:
        told = [error for error in errors if error is not None]
        return sum(error + truth >= 0 for error in told) / len(told)

    ours = wrong([one.precise for one in ten])
    return Row(
        name="wrong winner",
        goal="≤ 1 % at a true 10 %",
        figure=f"{ours:.2%}",
        met=ours <= 0.01,
        detail=(
            f"{len(ten)} pairs; in a budget {wrong([one.in_budget for one in ten]):.2%}, "
            f"plain loop {wrong([one.plain for one in ten]):.2%}"
        ),
    )


def wolf_row(found: Mapping[str, Leg]) -> Row:
    same = {name: [one for one in found[name].seen if one.case == "100"] for name in SCENARIOS}
    cries = sum(one.differs for ones in same.values() for one in ones)
    count = sum(map(len, same.values()))
    bound = most_by_chance(0.05, count)
    return Row(
        name="A/A",
        goal=f"two runs of the same differ 'surely' in ≤ 5 % (99 % bound for {count} pairs: {bound:.2%})",
        figure=f"{cries / count:.2%}",
        met=cries / count <= bound,
        detail=(
            ", ".join(f"{name} {sum(one.differs for one in ones) / len(ones):.2%}" for name, ones in same.items())
            + "; in a budget "
            + ", ".join(f"{sum(one.budget_differs for one in ones) / len(ones):.2%}" for ones in same.values())
        ),
    )


def broken_row(leg: Leg) -> Row:
    stopped, budget = leg.share(lambda one: one.covers), leg.share(lambda one: one.budget_covers)
    same = [one for one in leg.seen if one.case == "100"]
    wolves = sum(one.differs for one in same) / len(same)
    return Row(
        name="broken on purpose",
        goal="only said: coverage where processes fall into a slow mode, several in a row, that no sensor shows",
        figure=f"{_part(stopped):.1%} after stopping",
        met=True,
        detail=(
            f"in a budget {_part(budget):.1%}; A/A differs 'surely' in {wolves:.1%}; RMS error "
            f"{rms(leg.errors(lambda one: one.in_budget)):.2%}, plain loop "
            f"{rms(leg.errors(lambda one: one.plain)):.2%}"
        ),
    )


def _part(share: tuple[int, int]) -> float:
    return share[0] / share[1]


@dataclass(frozen=True, slots=True)
class Cost:
    """Trials of one run over cases of their own noise, and those of a fixed number for its noisiest; figures that came
    out as near to the truth as asked."""

    ours: int
    fixed: int
    near: int


def noisy_run(precision: float, seed: int) -> Cost:
    """One run until every case has its precision."""
    dice = random.Random(f"noisy/{seed}")
    low, high = (math.log(cv) for cv in CVS)
    cvs = {f"case{number}": math.exp(dice.uniform(low, high)) for number in range(NOISY_CASES)}
    phone = draw(load_scenario("quiet"), f"noisy/{seed}")
    asked = Asked(dict.fromkeys(cvs, 1.0), base=None, cvs=cvs)
    limits = Limits(min_battery_level=None)  # hours on a cable that gives less than the load takes
    told = OurFarm(phone, seed, Policy(precision=precision, rounds=1000, limits=limits), asked).run()
    centres = [statistics.geometric_mean(own.values()) / LATENCY_S for own in told.valid.values()]
    return Cost(
        ours=told.attempts,
        fixed=NOISY_CASES * fixed_rounds(math.sqrt(math.log1p(max(cvs.values()) ** 2)), precision),
        near=sum(abs(math.log(centre)) <= math.log1p(precision) for centre in centres),
    )


def thrift_row(precision: float, runs: int) -> Row:
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        told = list(pool.map(partial(noisy_run, precision), range(runs)))
    share = sum(one.ours for one in told) / sum(one.fixed for one in told)
    return Row(
        name=f"thrift ± {precision:.0%}",
        goal=f"that precision for {NOISY_CASES} cases of CV 0.5 to 5 % costs ≤ 0.5 of a fixed count's trials",
        figure=f"{share:.3f}",
        met=share <= 0.5,
        detail=(
            f"{runs} runs: {sum(one.ours for one in told) / runs:.0f} trials each, a count for the noisiest case "
            f"{sum(one.fixed for one in told) / runs:.0f}; {sum(one.near for one in told) / runs / NOISY_CASES:.1%} "
            "of the figures are as near to the truth"
        ),
    )


def run() -> list[Row]:
    """The rows of the experiment."""
    seeds = int(os.environ.get("ORCH_SEEDS", SEEDS))
    found = legs(seeds)
    return [
        error_row("quiet", found["quiet"], 1.15),
        error_row("drift", found["drift"], 1 / 3),
        error_row("bursts", found["bursts"], 1 / 3),
        error_row("lying sensors", found["lying-sensors"], None),
        coverage_row(found),
        winner_row(found),
        wolf_row(found),
        broken_row(found[BROKEN]),
        *(thrift_row(precision, min(NOISY_RUNS, seeds)) for precision in (0.01, PRECISION)),
    ]

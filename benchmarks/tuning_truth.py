"""Simulated (phone, model) pairs with known truth: what every cell of a space of settings takes at equal clocks.

Effects are of the kinds and sizes that phones show, and interact:

* *threads* scale by Amdahl's law over big and little cores, then saturate or fall back, where the slowest core is
  waited for; *affinity* takes the little ones away;
* *graphs*: fusions help the CPU, and cost NNAPI what it would have taken: at extended and layout it gets fewer nodes,
  in more partitions, each with a border to cross; runtime style keeps them for it;
* *NNAPI*: fp16 is worth nothing to a half, nchw mostly costs, without its own CPU a driver is faster, or leaves nodes
  to ONNX Runtime, or can't make a session at all;
* *XNNPACK* has a pool of its own, never spins, and takes basic graphs best;
* *spinning* off costs with every thread, and pays now and then where all cores compute; *arena* and *memory pattern*
  are worth little.

On top lie interactions that nobody can explain: for each pair of axes with chance 0.4, for three axes with chance 0.1,
and a residual of every cell. Sizes are drawn anew for every pair; the same seed gives the same truth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAPHS = ("onnx", "basic", "extended", "layout", "all runtime")
NNAPI = (
    "nnapi",
    "nnapi fp16",
    "nnapi nchw",
    "nnapi fp16 nchw",
    "nnapi cpu_disabled",
    "nnapi fp16 cpu_disabled",
)
EVERY_EP = ("cpu", "xnnpack", *NNAPI)
ON, OFF = "on", "off"
BIG_CORES, CORES = 4, 8
FEWEST_CELLS = 400

SPACES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "everything": {
        "graph": GRAPHS,
        "ep": EVERY_EP,
        "threads": ("1", "2", "4", "8"),
        "spinning": (ON, OFF),
        "arena": (ON, OFF),
    },
    "cpu": {
        "graph": GRAPHS,
        "ep": ("cpu", "xnnpack"),
        "threads": ("1", "2", "3", "4", "8"),
        "affinity": ("all", "big"),
        "spinning": (ON, OFF),
        "arena": (ON, OFF),
        "pattern": (ON, OFF),
    },
    "nnapi": {
        "graph": GRAPHS,
        "ep": EVERY_EP,
        "threads": ("1", "2", "4"),
        "arena": (ON, OFF),
        "pattern": (ON, OFF),
    },
}
"""The axes that a plan may have, by what it is after."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A phone with a model: axes and their levels, cells (an index into the levels for each axis), and the truth.

    `log_s` are the logarithms of latencies in seconds at equal clocks, `threads` how many cores a cell keeps busy (it
    heats by them), `fails` those that can't make a session.
    """

    kind: str
    axes: Mapping[str, tuple[str, ...]]
    cells: Ints
    log_s: Floats
    threads: Ints
    fails: NDArray[np.bool_]

    @property
    def best(self) -> float:
        """The least logarithm of all that work."""
        return float(self.log_s[~self.fails].min())


def draw_pair(seed: str | int) -> Pair:
    """The pair of a seed; the three kinds of spaces take turns by chance."""
    dice = default_rng([*str(seed).encode()])
    kind = str(dice.choice(list(SPACES)))
    axes = SPACES[kind]
    rows = [row for row in itertools.product(*(range(len(levels)) for levels in axes.values())) if _sensible(axes, row)]
    cells = np.array(rows, dtype=np.int64)
    table = _Table(axes, cells)
    nature = _Nature.draw(dice)
    log_s = np.log(_latency(table, nature)) + _inexplicable(cells, dice)
    fails = table.ep_has("cpu_disabled") & (dice.random() < 0.15)
    threads = np.where(table.ep_has("nnapi"), 1, np.minimum(table.threads, BIG_CORES)).astype(np.int64)
    return Pair(kind, axes, cells, log_s, threads, np.asarray(fails, dtype=np.bool_))


def _sensible(axes: Mapping[str, tuple[str, ...]], row: tuple[int, ...]) -> bool:
    """Not a cell that would be another one's twin, or that a phone can't do."""
    said = {name: axes[name][level] for name, level in zip(axes, row, strict=True)}
    if said.get("spinning") == OFF and (said["threads"] == "1" or said["ep"] == "xnnpack"):
        return False
    return not (said.get("affinity") == "big" and int(said["threads"]) > BIG_CORES)


class _Table:
    """Cells by what they say."""

    def __init__(self, axes: Mapping[str, tuple[str, ...]], cells: Ints) -> None:
        self.axes, self.cells = axes, cells
        self.threads = np.array([float(axes["threads"][level]) for level in cells[:, list(axes).index("threads")]])

    def column(self, name: str) -> NDArray[np.str_]:
        """The words of an axis; of one that is not asked for its default."""
        if name not in self.axes:
            return np.full(len(self.cells), "all" if name == "affinity" else ON)
        return np.array(self.axes[name])[self.cells[:, list(self.axes).index(name)]]

    def ep_has(self, word: str) -> NDArray[np.bool_]:
        return np.char.find(self.column("ep"), word) >= 0

    def by_graph(self, value: Mapping[str, float]) -> Floats:
        return np.array([value[name] for name in self.column("graph")])


@dataclass(frozen=True, slots=True)
class _Nature:
    """What is drawn once for a pair; mostly shares of the latency of one big core on the basic graph."""

    base_s: float
    parallel: float
    little: float
    thread_cost: float
    lost_lane: float
    cpu_graph: Mapping[str, float]
    unspun: float
    unspun_full: float
    arena: float
    pattern: float
    xnn: float
    xnn_parallel: float
    xnn_graph: Mapping[str, float]
    accelerator: float
    claimed: Mapping[str, float]
    partitions: Mapping[str, float]
    border: float
    fp16: float
    nchw: float
    nchw_loses: float
    no_driver_cpu: float
    no_driver_loses: float

    @staticmethod
    def draw(dice: Generator) -> _Nature:
        """Every size anew."""

        def even(low: float, high: float) -> float:
            return float(dice.uniform(low, high))

        def log_even(low: float, high: float) -> float:
            return math.exp(even(math.log(low), math.log(high)))

        def maybe(chance: float, draw: Callable[[], float], otherwise: float) -> float:
            drawn = draw()
            return drawn if dice.random() < chance else otherwise

        fused = 1.0 - maybe(0.7, lambda: even(0.0, 0.25), 0.0)
        laid_out = fused * (1.0 - maybe(0.3, lambda: even(-0.05, 0.15), 0.0))
        taken = 1.0 - maybe(0.6, lambda: even(0.0, 0.3), 0.0)
        left = taken * even(0.1, 0.9)
        left_laid_out = left * even(0.8, 1.0)
        few, many = float(dice.integers(1, 4)), float(dice.integers(3, 18))
        return _Nature(
            base_s=log_even(0.002, 0.2),
            parallel=even(0.6, 0.97),
            little=even(0.3, 0.65),
            thread_cost=log_even(0.001, 0.03),
            lost_lane=even(0.0, 0.15),
            cpu_graph={
                "onnx": laid_out * even(0.99, 1.03),
                "basic": 1.0,
                "extended": fused,
                "layout": laid_out,
                "all runtime": laid_out * even(0.995, 1.01),
            },
            unspun=even(0.0, 0.3),
            unspun_full=maybe(0.2, lambda: even(0.05, 0.3), 0.0),
            arena=maybe(0.8, lambda: even(0.0, 0.08), -even(0.0, 0.03)),
            pattern=float(dice.normal(0.005, 0.01)),
            xnn=math.exp(float(dice.normal(-0.1, 0.35))),
            xnn_parallel=even(0.7, 0.97),
            xnn_graph={
                "onnx": even(0.97, 1.03),
                "basic": 1.0,
                "extended": even(0.95, 1.25),
                "layout": even(0.95, 1.4),
                "all runtime": even(0.98, 1.05),
            },
            accelerator=math.exp(float(dice.normal(math.log(0.35), 0.7))),
            claimed={
                "onnx": taken * even(0.95, 1.0),
                "basic": taken,
                "extended": left,
                "layout": left_laid_out,
                "all runtime": taken,
            },
            partitions={
                "onnx": few,
                "basic": few,
                "extended": many,
                "layout": many * even(1.0, 1.5),
                "all runtime": few,
            },
            border=log_even(0.001, 0.03),
            fp16=even(0.5, 1.02),
            nchw=even(0.92, 1.5),
            nchw_loses=maybe(0.3, lambda: even(0.0, 0.4), 0.0),
            no_driver_cpu=maybe(0.5, lambda: even(0.7, 1.0), 1.0),
            no_driver_loses=maybe(0.4, lambda: even(0.0, 0.5), 0.0),
        )


def _latency(table: _Table, of: _Nature) -> Floats:
    """Seconds at equal clocks, before what nobody can explain."""
    ep = table.column("ep")
    own = of.base_s * table.by_graph(of.cpu_graph) * _scaled(table, of, of.parallel)
    xnn = of.base_s * of.xnn * table.by_graph(of.xnn_graph) * _scaled(table, of, of.xnn_parallel)
    share = table.by_graph(of.claimed)
    share = share * np.where(table.ep_has("nchw"), 1.0 - of.nchw_loses, 1.0)
    share = share * np.where(table.ep_has("cpu_disabled"), 1.0 - of.no_driver_loses, 1.0)
    speed = of.accelerator * np.where(table.ep_has("fp16"), of.fp16, 1.0) * np.where(table.ep_has("nchw"), of.nchw, 1.0)
    speed = speed * np.where(table.ep_has("cpu_disabled"), of.no_driver_cpu, 1.0)
    borders = table.by_graph(of.partitions) * of.border
    nnapi = of.base_s * (share * speed + borders) + (1.0 - share) * own
    found = np.where(ep == "cpu", own, np.where(ep == "xnnpack", xnn, nnapi))
    without_arena = np.where(table.column("arena") == OFF, 1.0 + of.arena * np.where(ep == "cpu", 1.0, 0.5), 1.0)
    without_pattern = np.where(table.column("pattern") == OFF, 1.0 + of.pattern, 1.0)
    return np.asarray(found * without_arena * without_pattern, dtype=np.float64)


def _scaled(table: _Table, of: _Nature, parallel: float) -> Floats:
    """Latency against that of one big core: Amdahl over cores of two kinds, a lane that is waited for, spinning."""
    count = table.threads
    bound = table.column("affinity") == "big"
    big = np.minimum(count, BIG_CORES)
    little = np.where(bound, 0.0, count - big)
    lanes = big + of.little * little
    waits = 1.0 + np.where(little > 0, of.lost_lane + 0.3 * (1.0 - of.little), 0.0)
    found = (1.0 - parallel) + parallel / lanes * waits + of.thread_cost * (count - 1.0)
    roams = np.where(bound, 1.0, 1.0 + of.lost_lane * (1.0 - count / CORES))
    unspun = 1.0 + of.unspun * (1.0 - 1.0 / count) - np.where(count == CORES, of.unspun_full, 0.0)
    return found * roams * np.where(table.column("spinning") == OFF, unspun, 1.0)


def _inexplicable(cells: Ints, dice: Generator) -> Floats:
    """Random interactions of two and of three axes, and each cell's own residual, in logarithms."""
    found = np.zeros(len(cells))
    many = range(cells.shape[1])
    for size, chance, low, high in ((2, 0.4, 0.003, 0.05), (3, 0.1, 0.002, 0.015)):
        for axes in itertools.combinations(many, size):
            spread = math.exp(dice.uniform(math.log(low), math.log(high)))
            if dice.random() < chance:
                table = dice.normal(0.0, spread, size=tuple(cells[:, axis].max() + 1 for axis in axes))
                found += table[tuple(cells[:, axis] for axis in axes)]
    return found + dice.normal(0.0, dice.uniform(0.001, 0.006), size=len(cells))

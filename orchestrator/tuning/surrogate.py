"""Pure: a model of every cell from processes of some: effects of levels, their interactions, drift of the phone, noise.

The logarithm of a figure is a sum of independent normal parts, each shrunk as far as the figures themselves ask for:

* a main effect of each axis, and every interaction: the covariance of two cells is c Π (1 + s_a [same level of a]),
  whose product written out has a term c s_a for the main effect of axis a, c s_a s_b for the interaction of a and b,
  and so on (an analysis of variance with random effects; as a kernel: N. Durrande and others, "ANOVA kernels and RKHS
  of zero mean functions for model-based sensitivity analysis", Journal of Multivariate Analysis 115, 2013, 57-67). An
  axis with small effects has small interactions: effect heredity. c large against the effects: additive;
* a residual of each cell, which no effect explains;
* drift: what the phone does to all cells alike as time goes by, smooth over minutes (a Matérn 3/2 process);
* noise of each process;
* of a prior (what is thought to be known of the cells beforehand) the share that the figures bear out: normal around
  the trust that it is given.

Variances are those of the greatest posterior density (L-BFGS on log marginal likelihood and wide log-normal priors),
from at most `MOST_TO_FIT` processes. Given them everything is normal: a mean for each cell, and a covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_TO_FIT = 220
DRIFT_S = 240.0
"""Time scale of drift: phones warm up in minutes."""
_STEPS = 40
_MEAN_VARIANCE = 1.0
_HOPELESS = -1e9
_WIDE = 2.0
# Centres of the priors of log c, log s, then of the logarithms of the variances: residual, drift, noise, prior's share.
_AT = {"c": 0.3, "s": 0.05, "residual": 0.003**2, "drift": 0.02**2, "noise": 0.015**2, "share": 0.3**2}
_EFFECTS, _REST = 1, 4  # log c comes first, an axis's s each, then residual, drift, noise, share


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Processes: cell by number, when each began (seconds), and the logarithm of its figure, which is finite."""

    cells: Ints
    at_s: Floats
    logs: Floats

    def __len__(self) -> int:
        return len(self.cells)

    def some(self, most: int, seed: int) -> Data:
        """At most so many of them, by chance."""
        if len(self) <= most:
            return self
        kept = np.sort(np.random.default_rng([seed, len(self)]).choice(len(self), most, replace=False))
        return Data(cells=self.cells[kept], at_s=self.at_s[kept], logs=self.logs[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed of some `cells` (by number): mean of the logarithm of each, and their covariance.

    `noise` is the spread of one process.
    """

    cells: Ints
    mean: Floats
    covariance: Floats
    noise: float


class Surrogate:
    """The model of one space; `levels` has a row for each cell, a column for each axis.

    `prior` has a logarithm for each cell (only differences count), `trust` in it goes from 0 to 1.
    """

    def __init__(self, levels: Ints, prior: Floats | None = None, trust: float = 0.0) -> None:
        self._levels = levels
        self._prior = np.zeros(len(levels)) if prior is None else prior - prior.mean()
        self._trust = trust if prior is not None else 0.0

    def fitted(self, data: Data, seed: int) -> Floats:
        """The logarithms of the variances that the processes ask for."""
        data = data.some(MOST_TO_FIT, seed)
        start = self._centre()
        if not len(data):
            return start
        problem = _Problem(self._levels[data.cells], self._prior[data.cells], data, self._centred(data))

        def worth(theta: Floats) -> tuple[float, Floats]:
            away = (theta - start) / _WIDE
            value, slope = problem.evidence(theta)
            return float(0.5 * away @ away - value), away / _WIDE - slope

        bounds = [(centre - 9.0, centre + 7.0) for centre in start]
        found = minimize(worth, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
        return np.asarray(found.x, dtype=np.float64)

    def believed(self, theta: Floats, data: Data, most: int, without: Sequence[int] = ()) -> Belief:
        """What is believed of all cells but those `without`, or of the `most` of them that may be least, given the
        variances."""
        axes = self._levels.shape[1]
        c, effects = np.exp(theta[0]), np.exp(theta[_EFFECTS : _EFFECTS + axes])
        residual, drift, noise, share = np.exp(theta[_EFFECTS + axes :])
        among = _product(self._levels, self._levels, c, effects) + share * np.outer(self._prior, self._prior)
        among[np.diag_indices_from(among)] += residual
        among += _MEAN_VARIANCE
        own = among[np.ix_(data.cells, data.cells)] + drift * _matern(data.at_s)
        own[np.diag_indices_from(own)] += noise
        factor = triangular_root(own)
        half: Floats = solve_triangular(factor, among[data.cells], lower=True, check_finite=False)
        mean: Floats = half.T @ solve_triangular(factor, self._centred(data), lower=True, check_finite=False)
        mean += self._trust * self._prior + (data.logs - self._trust * self._prior[data.cells]).mean()
        variance = np.diag(among) - (half * half).sum(axis=0)
        low = mean - 2.0 * np.sqrt(np.maximum(variance, 0.0))
        low[list(without)] = np.inf
        cells = np.sort(np.argsort(low, kind="stable")[: min(most, len(low) - len(without))])
        part = half[:, cells]
        covariance = among[np.ix_(cells, cells)] - part.T @ part
        return Belief(cells=cells, mean=mean[cells], covariance=covariance, noise=float(np.sqrt(noise)))

    def _centred(self, data: Data) -> Floats:
        left = data.logs - self._trust * self._prior[data.cells]
        return np.asarray(left - left.mean(), dtype=np.float64)

    def _centre(self) -> Floats:
        """Where the variances are thought to be, before any process."""
        rest = [_AT["residual"], _AT["drift"], _AT["noise"], _AT["share"]]
        centres = [_AT["c"], *[_AT["s"]] * self._levels.shape[1], *rest]
        return np.asarray(np.log(centres), dtype=np.float64)


def triangular_root(covariance: Floats) -> Floats:
    """The lower triangular root of a covariance; what rounding took from its diagonal is given back."""
    slack = 1e-10 * max(1e-12, float(np.diag(covariance).max()))
    while True:
        try:
            return np.asarray(np.linalg.cholesky(covariance + slack * np.eye(len(covariance))), dtype=np.float64)
        except np.linalg.LinAlgError:
            slack *= 10.0


def _product(some: Ints, others: Ints, c: float, effects: Floats) -> Floats:
    found = np.full((len(some), len(others)), c)
    for axis, effect in enumerate(effects):
        found *= np.where(some[:, axis, None] == others[None, :, axis], 1.0 + effect, 1.0)
    return np.asarray(found, dtype=np.float64)


def _matern(at_s: Floats) -> Floats:
    apart = np.abs(at_s[:, None] - at_s[None, :]) * (np.sqrt(3.0) / DRIFT_S)
    return np.asarray((1.0 + apart) * np.exp(-apart), dtype=np.float64)


class _Problem:
    """The log marginal likelihood of some processes, and its slope."""

    def __init__(self, levels: Ints, prior: Floats, data: Data, centred: Floats) -> None:
        self._same = [levels[:, axis, None] == levels[None, :, axis] for axis in range(levels.shape[1])]
        self._one_cell = (data.cells[:, None] == data.cells[None, :]).astype(np.float64)
        self._drift = _matern(data.at_s)
        self._share = np.outer(prior, prior)
        self._centred = centred

    def evidence(self, theta: Floats) -> tuple[float, Floats]:
        """At the logarithms of the variances."""
        axes = len(self._same)
        effects = np.exp(theta[_EFFECTS : _EFFECTS + axes])
        residual, drift, noise, share = np.exp(theta[_EFFECTS + axes :])
        n = len(self._centred)
        product = np.full((n, n), float(np.exp(theta[0])))
        for same, effect in zip(self._same, effects, strict=True):
            product *= np.where(same, 1.0 + effect, 1.0)
        whole = product + residual * self._one_cell + drift * self._drift + share * self._share + _MEAN_VARIANCE
        whole[np.diag_indices(n)] += noise
        try:
            factor = cho_factor(whole, lower=True, check_finite=False)
        except np.linalg.LinAlgError:  # effects so large against the noise that rounding leaves nothing of it
            return _HOPELESS, np.zeros_like(theta)
        weights = cho_solve(factor, self._centred, check_finite=False)
        inverse = cho_solve(factor, np.eye(n), check_finite=False)
        value = -0.5 * float(self._centred @ weights) - float(np.log(np.diag(factor[0])).sum())
        pull = 0.5 * (np.outer(weights, weights) - inverse)
        pulled = pull * product
        slope = [pulled.sum()]
        slope += [pulled[same].sum() * e / (1.0 + e) for same, e in zip(self._same, effects, strict=True)]
        slope += [
            residual * (pull * self._one_cell).sum(),
            drift * (pull * self._drift).sum(),
            noise * np.trace(pull),
            share * (pull * self._share).sum(),
        ]
        return value, np.array(slope, dtype=np.float64)

"""Restricted maximum likelihood for three nested levels, from the means and squares of executions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.random_effects.mean_squares import compute_mean_squares, solve_components
from datamill.analysis.random_effects.nested_data.execution_means import ExecutionMeans
from datamill.analysis.random_effects.variance_estimate import LEVELS, Level


@dataclass(frozen=True, slots=True)
class RemlFit:
    """Variances by level, the mean (a deviation from the origin) with its variance, and −2 log likelihood."""

    components: dict[Level, float]
    mean: float
    mean_variance: float
    criterion: float


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """−2 times the restricted log likelihood of executions, whose means are scaled by `scale`."""

    means: FloatArray
    within_ss: float
    inverse_counts: FloatArray
    log_counts: float
    n: int
    starts: IntArray
    build_of: IntArray

    def evaluate(self, variances: FloatArray) -> tuple[float, FloatArray, float, float]:
        """Criterion, its gradient by the variances (outermost first), the mean and the variance of it.

        O(E). With P the projection of REML and q = V⁻¹(x − μ) over the executions' means, the derivative by
        a variance with matrix A is tr(PA) − q'Aq (Searle, Casella, McCulloch 1992, section 6.6).
        """
        of_build, of_execution, of_measurement = variances
        spread = of_execution + of_measurement * self.inverse_counts
        weights = 1 / spread
        sums = np.add.reduceat(weights, self.starts)
        shrunk = 1 + of_build * sums
        precision = sums / shrunk
        total = float(precision.sum())
        build_means = np.add.reduceat(weights * self.means, self.starts) / sums
        mean = float(precision @ build_means) / total
        residuals = self.means - mean
        pulled = np.add.reduceat(weights * residuals, self.starts)
        solved = weights * (residuals - (of_build * pulled / shrunk)[self.build_of])
        ones = weights / shrunk[self.build_of]
        criterion = (
            float(np.log(spread).sum())
            + float(np.log(shrunk).sum())
            + math.log(total)
            + float(residuals @ solved)
            + self.log_counts
            + (self.n - 1) * math.log(2 * math.pi)
        )
        diagonal = weights - weights**2 * (of_build / shrunk)[self.build_of] - ones**2 / total
        by_spread = diagonal - solved**2
        summed = np.add.reduceat(solved, self.starts)
        gradient = np.array(
            [
                float(np.sum(precision - precision**2 / total - summed**2)),
                float(by_spread.sum()),
                float(by_spread @ self.inverse_counts),
            ]
        )
        within_df = self.n - len(self.means)
        if of_measurement > 0 and within_df:
            criterion += within_df * math.log(of_measurement) + self.within_ss / of_measurement
            gradient[2] += within_df / of_measurement - self.within_ss / of_measurement**2
        return criterion, gradient, mean, 1 / total


def fit_reml(averaged: ExecutionMeans) -> RemlFit:
    """Fit the variances of builds, executions and measurements by restricted maximum likelihood.

    Every combination of variances that are 0 and that are not is fitted, and the best taken, so that a
    maximum on the boundary is found as such. A level that cannot be told from the one above is left
    to it, and one build has no variance of builds. All is 0 where nothing varies. `criterion` is not a number
    where each build has one value, so that there is nothing to maximise.
    """
    scale = math.sqrt(_find_scale(averaged))
    per_build = averaged.executions_of_builds
    n, executions, builds = int(averaged.counts.sum()), len(averaged.means), len(per_build)
    free = [builds > 1, executions > builds, n > executions and bool(averaged.within_ss.sum() > 0)]
    if scale == 0 or not any(free):
        mean = float(averaged.build_means.mean())
        return RemlFit(dict.fromkeys(LEVELS, 0.0), mean, 0.0, -math.inf)
    if not free[1] and not free[2]:
        variance = float(np.var(averaged.means, ddof=1))
        components = dict(zip(LEVELS, (variance, 0.0, 0.0), strict=True))
        return RemlFit(components, float(averaged.means.mean()), variance / builds, math.nan)
    likelihood = _Likelihood(
        means=averaged.means / scale,
        within_ss=float(averaged.within_ss.sum()) / scale**2,
        inverse_counts=1.0 / averaged.counts,
        log_counts=float(np.log(averaged.counts).sum()),
        n=n,
        starts=averaged.builds[:-1],
        build_of=np.repeat(np.arange(builds), per_build),
    )
    innermost = max(index for index in range(3) if free[index])
    best: tuple[float, FloatArray] | None = None
    choices = [(True, False) if free[index] and index != innermost else (free[index],) for index in range(3)]
    guess = _guess_variances(averaged) / scale**2
    for chosen in product(*choices):
        found = _fit_inside(likelihood, [index for index in range(3) if chosen[index]], guess)
        # A zero that is as good as a tiny variance is the answer.
        if best is None or found[0] < best[0] + 1e-9:
            best = found
    assert best is not None
    criterion, variances = best
    _, _, mean, mean_variance = likelihood.evaluate(variances)
    return RemlFit(
        components=dict(zip(LEVELS, (float(value) * scale**2 for value in variances), strict=True)),
        mean=mean * scale,
        mean_variance=mean_variance * scale**2,
        criterion=criterion + 2 * (n - 1) * math.log(scale),
    )


def _find_scale(averaged: ExecutionMeans) -> float:
    """The variance of all measurements, about."""
    n = int(averaged.counts.sum())
    spread = float(averaged.within_ss.sum() + averaged.counts @ (averaged.means - averaged.means.mean()) ** 2)
    return spread / max(n - 1, 1)


def _guess_variances(averaged: ExecutionMeans) -> FloatArray:
    """Variances by mean squares, where a search may start."""
    solved = solve_components(compute_mean_squares(averaged).squares)
    return np.array([solved.get(level, 0.0) for level in LEVELS])


def _fit_inside(
    likelihood: _Likelihood, chosen: Sequence[int], guess: FloatArray
) -> tuple[float, FloatArray]:
    """The best criterion where the chosen variances are positive and the others 0, and the variances."""
    # Imported late: optimisers take a sixth of a second to load, which most analyses spare.
    from scipy.optimize import minimize

    def spell_out(logs: FloatArray) -> FloatArray:
        variances = np.zeros(3)
        variances[list(chosen)] = np.exp(np.clip(logs, -60.0, 60.0))
        return variances

    def evaluate(logs: FloatArray) -> tuple[float, FloatArray]:
        variances = spell_out(logs)
        criterion, gradient, _, _ = likelihood.evaluate(variances)
        return criterion, (gradient * variances)[list(chosen)]

    # Variances are in units of the total: a guess of none starts at a small part of it.
    start = np.log(np.clip(guess[list(chosen)], 1e-3, 1.0))
    found = minimize(evaluate, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 500})
    # Where rounding stops the search short of that gradient, its end is as good as a double allows.
    return float(found.fun), spell_out(np.asarray(found.x, dtype=np.float64))

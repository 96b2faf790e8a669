"""The test of Shapiro and Wilk for a normal distribution."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from datamill.analysis.model_data.cells import FloatArray

#: Observations for which the p-value's approximation was fitted.
FEWEST, MOST = 3, 5000
# Coefficients of Royston's polynomials (1995, algorithm AS R94), the constant first.
_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_LAST_BUT_ONE = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_SHIFT_OF_FEW = (-2.273, 0.459)
_MEAN_OF_FEW, _SPREAD_OF_FEW = (
    (0.544, -0.39978, 0.025054, -6.714e-4),
    (1.3822, -0.77857, 0.062767, -0.0020322),
)
_MEAN, _SPREAD = (-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302)
#: Up to so many observations are few.
_FEW = 11


def test_shapiro_wilk(values: FloatArray) -> tuple[float, float]:
    """Return the statistic W and its p-value for 3 to 5000 values (n) that are not all equal.

    Source: Shapiro and Wilk 1965; weights and p-value by Royston 1995 (AS R94), as in R's `shapiro.test`.
    """
    n = values.size
    ordered = np.sort(values)
    ordered = ordered - ordered[n // 2]
    weights = _weigh(n)
    spread = ordered / (ordered[-1] - ordered[0])
    spread = spread - spread.mean()
    size = math.sqrt(float(weights @ weights) * float(spread @ spread))
    product = float(weights @ spread)
    # 1 − W without the loss of digits near a straight plot.
    short = (size - product) * (size + product) / size**2
    return 1 - short, _find_p(short, n)


def _weigh(n: int) -> FloatArray:
    """Weights of the ordered observations (n), which sum to 0."""
    if n == FEWEST:
        return np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)])
    scores = np.asarray(ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25)), dtype=np.float64)
    total = float(scores @ scores)
    inverse = 1 / math.sqrt(n)
    weights = scores.copy()
    last = _sum_powers(_LAST, inverse) + scores[-1] / math.sqrt(total)
    given = 1
    rest, share = total - 2 * scores[-1] ** 2, 1 - 2 * last**2
    if n > 5:
        given = 2
        second = _sum_powers(_LAST_BUT_ONE, inverse) + scores[-2] / math.sqrt(total)
        rest, share = rest - 2 * scores[-2] ** 2, share - 2 * second**2
        weights[[1, -2]] = -second, second
    weights[[0, -1]] = -last, last
    weights[given : n - given] /= math.sqrt(rest / share)
    return weights


def _find_p(short: float, n: int) -> float:
    """P-value of a statistic that is `short` of 1."""
    if n == FEWEST:
        w = 1 - short
        return max(0.0, 6 / math.pi * (math.asin(math.sqrt(w)) - math.asin(math.sqrt(0.75))))
    if short <= 0:
        return 1.0
    found = math.log(short)
    if n <= _FEW:
        shift = _sum_powers(_SHIFT_OF_FEW, n)
        if found >= shift:
            return 0.0
        found = -math.log(shift - found)
        mean, spread = _sum_powers(_MEAN_OF_FEW, n), math.exp(_sum_powers(_SPREAD_OF_FEW, n))
    else:
        size = math.log(n)
        mean, spread = _sum_powers(_MEAN, size), math.exp(_sum_powers(_SPREAD, size))
    return float(ndtr((mean - found) / spread))


def _sum_powers(coefficients: tuple[float, ...], x: float) -> float:
    return sum(coefficient * x**power for power, coefficient in enumerate(coefficients))

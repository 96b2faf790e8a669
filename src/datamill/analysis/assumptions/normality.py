"""Whether residuals look normal: a test, and how far from a straight probability plot they are."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri

from datamill.analysis.assumptions.assumption_checks import CheckResult, CheckState, ErrorShape
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.ordered.shapiro_wilk import MOST, test_shapiro_wilk
from datamill.experiment.messages.numbers import format_fixed, format_given

#: A probability plot that is as straight as this looks straight; residuals as little skewed look symmetric.
_STRAIGHT, _SYMMETRIC = 0.998, 0.2
#: Below this the bend of a probability plot is plain to see.
BENT = 0.98
#: Means are normal enough from 25 times the squared skewness on (Cochran 1977, section 2.15).
_COCHRAN = 25.0
#: One observation that makes more than this share of all squares decides a mean by itself.
_DOMINANT = 0.1


def score_normally(n: int) -> FloatArray:
    """Expected standard normal order statistics of n observations, by Blom's approximation (1958)."""
    return np.asarray(ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25)), dtype=np.float64)


def correlate_with_normal(ordered: FloatArray) -> float:
    """Correlation of ordered values with normal scores: 1 on a straight probability plot."""
    return float(np.corrcoef(ordered, score_normally(ordered.size))[0, 1])


def check_normality(ordered: FloatArray, shape: ErrorShape, fewest: int, n: int, alpha: float) -> CheckResult:
    """Judge the ordered, standardised residuals (those tested), the shape of all, and what it does to means.

    Shapiro–Wilk up to 5000 residuals, Anderson–Darling beyond. `fewest` is the number of
    observations behind the mean with the fewest, `n` that of all.
    """
    scaled = ordered / np.sqrt(np.mean(ordered**2))
    if scaled.size <= MOST:
        statistic, p = test_shapiro_wilk(scaled)
        method = "Shapiro-Wilk on residuals"
    else:
        statistic, p = _test_anderson_darling(scaled)
        method = "Anderson-Darling on residuals"
    if scaled.size < n:
        method += f", {scaled.size} of {n} taken at random"
    needed = _COCHRAN * shape.skewness**2
    straight = shape.normal_correlation > _STRAIGHT and abs(shape.skewness) < _SYMMETRIC
    state: CheckState = "held"
    if p < alpha and not (straight and n >= 1000):
        enough = fewest >= needed and shape.largest_share < _DOMINANT
        state = "harmless" if enough else "failed"
    words, advice = _phrase(state, p, shape, needed, fewest, alpha)
    return CheckResult(
        "normal errors",
        method,
        statistic,
        p,
        state,
        shape.normal_correlation,
        "correlation of residuals with normal scores",
        words,
        advice,
    )


def _test_anderson_darling(ordered: FloatArray) -> tuple[float, float]:
    """Statistic and p for a normal distribution of unknown mean and variance (Stephens 1986, case 3)."""
    n = ordered.size
    z = (ordered - np.mean(ordered)) / np.std(ordered, ddof=1)
    logs = log_ndtr(z) + log_ndtr(-z[::-1])
    statistic = -n - float(np.mean((2 * np.arange(1, n + 1) - 1) * logs))
    a = statistic * (1 + 0.75 / n + 2.25 / n**2)
    if a < 0.2:
        p = 1 - np.exp(-13.436 + 101.14 * a - 223.73 * a**2)
    elif a < 0.34:
        p = 1 - np.exp(-8.318 + 42.796 * a - 59.938 * a**2)
    elif a < 0.6:
        p = np.exp(0.9177 - 4.279 * a - 1.38 * a**2)
    else:
        # The fitted curve turns up again beyond a = 153; from 10 on p is below any level.
        p = np.exp(1.2937 - 5.709 * min(a, 10.0) + 0.0186 * min(a, 10.0) ** 2)
    return statistic, float(p)


def _phrase(
    state: CheckState, p: float, shape: ErrorShape, needed: float, fewest: int, alpha: float
) -> tuple[str, str]:
    if state == "held":
        if p >= alpha:
            return "nothing speaks against normal residuals", ""
        return "the residuals are not exactly normal, but so close to it that it makes no difference", ""
    if shape.excess_kurtosis > 1:
        looks = "there are more extreme observations than the model expects"
    elif shape.excess_kurtosis < -1:
        looks = "they come in separate groups or a flat heap, not as one bell"
    else:
        looks = "their shape is not that of a bell"
    if shape.skewness > 0.5:
        looks += ", and more on the high side"
    elif shape.skewness < -0.5:
        looks += ", and more on the low side"
    found = f"the residuals are not normally distributed: {looks}"
    if state == "harmless":
        return (
            f"{found}; with {fewest} observations or more behind each mean, means, their intervals and "
            "p-values are sound nonetheless",
            "A mean may not be what a user notices: look at the quantiles for the usual and the worst case.",
        )
    if shape.largest_share >= _DOMINANT:
        why = f"a single observation makes {format_fixed(100 * shape.largest_share, 0)}% of all squared error"
    else:
        why = (
            f"means over {fewest} observations are too few for that (about {format_fixed(needed, 0)} "
            "would do)"
        )
    return (
        f"{found}; {why}, so that intervals are approximate and p-values near {format_given(alpha)} "
        "cannot be relied on",
        "More replicates would make the means sound.",
    )

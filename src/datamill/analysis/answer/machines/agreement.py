"""Whether several estimates of unlike precision are estimates of the same."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from datamill.analysis.contrasts.contrast import find_critical
from datamill.analysis.interval import Ratio


def find_log_deviation(ratio: Ratio | None, level: float, df: float) -> float | None:
    """Standard error of the logarithm of a ratio, from its interval at this level; None where it has none."""
    if ratio is None or ratio.low is None or ratio.high is None or not 0 < ratio.low < ratio.high:
        return None
    return float(np.log(ratio.high / ratio.low) / (2 * find_critical(level, df)))


def judge_equal_means(means: np.ndarray, variances: np.ndarray, df: np.ndarray) -> float:
    """Return the p-value of Welch's test (Biometrika 38, 1951) that k means of unlike variance are equal.

    Args:
        means: k estimates.
        variances: their squared standard errors, above zero.
        df: degrees of freedom of each variance.
    """
    k = means.size
    weights = 1 / variances
    shares = weights / weights.sum()
    centre = float(np.sum(shares * means))
    spread = float(np.sum(weights * (means - centre) ** 2)) / (k - 1)
    unsure = float(np.sum((1 - shares) ** 2 / df))
    statistic = spread / (1 + 2 * (k - 2) / (k**2 - 1) * unsure)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * unsure), statistic))

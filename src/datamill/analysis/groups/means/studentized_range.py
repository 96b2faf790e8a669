"""Distribution of the studentized range, quick and with the digits of its tail."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, log_ndtr, stdtrit

from datamill.analysis.model_data.cells import FloatArray

#: Nodes of the trapezoidal rule over the largest mean and over the logarithm of the scale; the rule
#: converges exponentially on integrands that are smooth and vanish at both ends.
_MEANS, _SCALES = 111, 111
#: Exponent beyond which an integrand has vanished.
_VANISHED = 40.0


def find_range_tail(q: float, groups: int, df: float) -> float:
    """Probability that the studentized range of k means exceeds q, with df degrees of freedom.

    What exceeds is integrated, not what remains, so that small probabilities keep their digits.
    """
    if q <= 0:
        return 1.0
    # Over its logarithm the scale s has density ∝ s^df exp(−df s² / 2); the tail moves the peak left.
    reach = math.sqrt(_VANISHED / df)
    peak = 0.5 * math.log(df / (df + q * q / 2))
    logs = np.linspace(peak - reach - _VANISHED / df, reach, _SCALES + round(_SCALES / df))
    exponents = df * logs - df / 2 * np.exp(2 * logs)
    constant = math.log(2) + df / 2 * math.log(df / 2) - float(gammaln(df / 2))
    tails = _exceed(q * np.exp(logs), groups)
    return float(min(1.0, np.sum(np.exp(exponents + constant) * tails) * (logs[1] - logs[0])))


def _exceed(widths: FloatArray, groups: int) -> FloatArray:
    """Probability that the range of k independent standard normal numbers exceeds each width."""
    top = np.maximum(widths / 2 + 9, 9)[:, None]
    z = np.linspace(0, 1, _MEANS)[None, :] * (top + 9) - 9
    # The largest is at z, all others are below it, and not all of them within the width.
    below = log_ndtr(z)
    share = np.exp(np.minimum(log_ndtr(z - widths[:, None]) - below, -1e-16))
    further = -np.expm1((groups - 1) * np.log1p(-share))
    density = np.exp(-0.5 * z * z + (groups - 1) * below) / math.sqrt(2 * math.pi)
    return np.asarray(groups * np.sum(density * further, axis=1) * (top[:, 0] + 9) / (_MEANS - 1))


def find_range_quantile(tail: float, groups: int, df: float) -> float:
    """The q that the studentized range exceeds with probability `tail`."""
    # Between the quantile of one pair and that of all pairs by Bonferroni.
    pairs = groups * (groups - 1) / 2
    low, high = (-math.sqrt(2) * float(stdtrit(df, share / 2)) for share in (tail, tail / pairs))
    if groups == 2:
        return low

    def compare(q: float) -> float:
        return math.log(find_range_tail(q, groups, df) / tail)

    # Imported late: optimisers take a sixth of a second to load, which most analyses spare.
    from scipy.optimize import brentq

    return float(brentq(compare, low * (1 - 1e-9), high * (1 + 1e-9), xtol=1e-9))

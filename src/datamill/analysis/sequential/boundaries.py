"""How far off an interval must reach that is looked at again and again."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.model_data.cells import FloatArray

#: What is added to 1 by which the interval at which one stops is wider than Student's, times √n.
_STOPPED_WIDENING = 2.0


def find_anytime_critical(n: FloatArray, alpha: float) -> FloatArray:
    """Return the c(n) that |t| exceeds at any n at all with probability `alpha` at most, if the mean is zero.

    `t` is Student's statistic of the first n observations; they are independent and normal with unknown
    variance. c is infinite where so few can never show anything.

    The likelihood ratio of t, averaged over standardised means μ/σ that are normal with variance 1 and over
    the right Haar prior of σ, is a martingale when the mean is zero, and exceeds 1/alpha ever with
    probability alpha at most (Ville). It is (1 + n)^(-1/2) ((1 + t²/ν) / (1 + t²/(ν (1 + n))))^(n/2) with
    ν = n - 1, here solved for t (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence sequences
    for Gaussian means with unknown variance").
    """
    sizes = np.asarray(n, dtype=np.float64)
    evidence = np.exp((2.0 * math.log(1.0 / alpha) + np.log1p(sizes)) / sizes)
    left = 1.0 - evidence / (1.0 + sizes)
    squared = np.full(sizes.shape, np.inf)
    np.divide((sizes - 1.0) * (evidence - 1.0), left, out=squared, where=left > 0)
    return np.asarray(np.sqrt(squared))


def find_stopped_critical(n: FloatArray, confidence: float) -> FloatArray:
    """Return the c(n) of an interval mean ± c s / √n at which one stops because it is narrow enough.

    Stopping when s is small by chance makes Student's quantile too small (Chow and Robbins 1965 reach the
    nominal coverage only as widths go to zero): here it is multiplied by 1 + 2 / √n. That was found by
    simulation: from 5 observations on, coverage is nominal or more whatever the noise for observations
    that are normal, heavy-tailed (Student's t, 4 degrees of freedom) or lognormal with σ = 0.5. Of
    exponential ones, 95% intervals may cover 92%, no less than Student's of a fixed number.
    `tests/planted/test_sequential_rules.py` repeats it.
    """
    sizes = np.asarray(n, dtype=np.float64)
    quantile = stdtrit(sizes - 1.0, (1.0 + confidence) / 2.0)
    return np.asarray((1.0 + _STOPPED_WIDENING / np.sqrt(sizes)) * quantile)

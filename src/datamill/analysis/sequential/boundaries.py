"""How far off an interval must reach that is looked at again and again."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from datamill.analysis.model_data.cells import FloatArray

#: What is added to 1 by which the interval at which one stops is wider than Student's, times √n.
_STOPPED_WIDENING = 2.0
#: Skewness over √n below which it changes no critical value by more than a millionth or so.
_HARDLY_SKEWED = 1e-7


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


def widen_for_skewness(critical: FloatArray, skewness: FloatArray, n: FloatArray) -> FloatArray:
    """Return critical values of n observations for the side on which their skewness makes Student's t err.

    Of observations that are skewed to the right, t is skewed to the left: a mean that is too low comes with a
    spread that is too low. This is Hall's monotone cubic transformation inverted ("On the removal of skewness
    by transformation", J. R. Stat. Soc. B 54, 1992); never less than `critical`.
    """
    shift = np.abs(skewness) / np.sqrt(n)
    # Where shift is tiny the root loses all digits, and it changes nothing.
    skewed = (shift > _HARDLY_SKEWED) & np.isfinite(critical)
    step, plain = np.where(skewed, shift, 1.0), np.where(skewed, critical, 0.0)
    wider = 3 / step * (1 - np.cbrt(1 - step * (plain + step / 6)))
    return np.asarray(np.where(skewed, np.maximum(critical, wider), critical))


def find_stopped_critical(n: FloatArray, confidence: float) -> FloatArray:
    """Return the c(n) of an interval mean ± c s / √n at which one stops because it is narrow enough.

    It is for values that are not skewed; where they are, `widen_for_skewness` says how much more of Student's
    quantile one side takes.

    Stopping when s is small by chance makes Student's quantile too small (Chow and Robbins 1965 reach the
    nominal coverage only as widths go to zero): here it is multiplied by 1 + 2 / √n. That was found by
    simulation: from `FEWEST_ROUNDS` observations on, coverage is nominal or more for observations that are
    normal, heavy-tailed (Student's t, 4 degrees of freedom), exponential or lognormal with σ = 0.5; of
    lognormal ones with σ = 1, 95% intervals cover 93 to 96%.
    `tests/planted/decisions/test_sequential_rules.py` repeats it.
    """
    sizes = np.asarray(n, dtype=np.float64)
    quantile = stdtrit(sizes - 1.0, (1.0 + confidence) / 2.0)
    return np.asarray((1.0 + _STOPPED_WIDENING / np.sqrt(sizes)) * quantile)

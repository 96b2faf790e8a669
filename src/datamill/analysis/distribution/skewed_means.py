"""Whether independent observations are so skewed that Student's interval of their mean holds too rarely."""

from __future__ import annotations

import math

import numpy as np

from datamill.analysis.model_data.cells import FloatArray

#: Student's interval of a mean is sound from 25 times the squared skewness on (Cochran 1977, section 2.15).
_COCHRAN = 25.0
#: L-skewness that normal observations seldom show: in 2% of samples of 20, 5% of 15. Of fewer than 15, where
#: samples that mislead show less of it, a lower one counts: normal ones have it in 24% of samples of 10.
_TELLING, _TELLING_OF_FEW, _FEW = 0.25, 0.2, 15
#: G1 from which on so many are called skewed whatever their L-skewness is: 3% of normal samples of 20 are.
_EXTREME = 1.0
#: Values within so many roundings of one another count as equal.
_ROUNDINGS = 16.0
#: With fewer than these nothing can be told of skewness.
_FEWEST = 4


def find_l_skewness(values: FloatArray) -> float:
    """Return L-skewness τ₃ of three observations or more, from −1 to 1; 0 where they do not vary.

    0 of symmetric shapes, 0.24 and 0.46 of log-normal ones with σ = 0.5 and 1, 0.33 exponential, 0.54 and
    0.71 of Pareto tails with an index of 2.5 and 1.5. Single extremes move it far less than the third moment,
    which no sample of n shows beyond √n (Hosking 1990).
    """
    n, ordered = values.size, np.sort(values)
    rank = np.arange(n)
    first, second = rank / (n - 1), rank * (rank - 1) / ((n - 1) * (n - 2))
    b0, b1, b2 = (float(np.mean(weight * ordered)) for weight in (1.0, first, second))
    scale = 2 * b1 - b0
    return (6 * b2 - 6 * b1 + b0) / scale if scale > 0 else 0.0


def find_skewness(values: FloatArray, rounding: float = 0.0) -> float:
    """Return Fisher's skewness G1, corrected for few values; 0 of fewer than three or of equal ones.

    `rounding` is a standard deviation, in the values' unit, up to which they count as equal.
    """
    n = values.size
    departures = values - values.mean()
    variance = float((departures**2).mean())
    if n < 3 or variance <= rounding**2:
        return 0.0
    biased = float((departures**3).mean()) / variance**1.5
    return float(biased * math.sqrt(n * (n - 1)) / (n - 2))


def find_telling_skewness(values: FloatArray) -> float:
    """Return the skewness G1 of observations that have too much of it for Student's interval; else 0.

    There are fewer than 25 G1² of them, and their L-skewness is beyond what normal ones seldom show; or, of
    15 and more, G1 before its correction is beyond 1, which finds single extremes among much noise.
    """
    n = values.size
    if n < _FEWEST or not _vary(values):
        return 0.0
    skewness = find_skewness(values)
    least = _TELLING if n >= _FEW else _TELLING_OF_FEW
    biased = abs(skewness) * (n - 2) / math.sqrt(n * (n - 1))
    tells = abs(find_l_skewness(values)) > least or (n >= _FEW and biased > _EXTREME)
    return skewness if tells and n < _COCHRAN * skewness**2 else 0.0


def find_heavy_tail(values: FloatArray, least: float) -> float:
    """Return the L-skewness of observations where it is beyond `least`, and n below 25 G1²; else 0."""
    if values.size < _FEWEST or not _vary(values):
        return 0.0
    found = find_l_skewness(values)
    return found if abs(found) > least and values.size < _COCHRAN * find_skewness(values) ** 2 else 0.0


def _vary(values: FloatArray) -> bool:
    """Whether values differ by more than their rounding."""
    rounding = _ROUNDINGS * np.finfo(np.float64).eps * np.max(np.abs(values))
    return bool(np.ptp(values) > rounding)

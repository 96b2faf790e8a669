"""Intervals of coefficients of variation and of skewness that hold also where tails are heavy.

A sample that lacks the rare large observations has too small a spread and too small a standard error
at once, so that resampling the sample itself misses. Here resamples come from log-normal shapes,
shifted and scaled: from the normal (σ = 0) to the heaviest that the sample's L-moments allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray

#: With fewer observations L-moments say nothing of the tails.
FEWEST_RESAMPLED = 10
RESAMPLES = 1_999
#: With fewer resamples beyond an end than this, the end is rough.
FEWEST_BEYOND = 5
#: Larger samples are not drawn: errors found at this size shrink as they are known to for each shape.
LARGEST_DRAWN = 250
#: Numbers in memory at a time.
_AT_A_TIME = 100_000

#: The tail index τ₄ + τ₃²/2 of log-normal shapes with σ = 0, 0.1, … 1.6 (τ₃, τ₄: population L-moment
#: ratios of Hosking 1990). The fourth central moment, on which the error of a standard deviation
#: rests, grows with it much alike for log-normal, gamma, Pareto and t.
TAIL_INDEX = (
    0.1226, 0.1257, 0.1348, 0.1500, 0.1709, 0.1974, 0.2291, 0.2657, 0.3067,
    0.3516, 0.4000, 0.4513, 0.5049, 0.5603, 0.6169, 0.6741, 0.7314,
)  # fmt: skip
_SIGMA_STEP = 0.1
_SIGMAS = _SIGMA_STEP * np.arange(len(TAIL_INDEX))
#: Skewness and kurtosis of the shapes (Johnson, Kotz and Balakrishnan 1994, chapter 14).
_GROWN = np.exp(_SIGMAS**2)
_SKEWNESS = (_GROWN + 2) * np.sqrt(_GROWN - 1)
_KURTOSIS = _GROWN**4 + 2 * _GROWN**3 + 3 * _GROWN**2 - 3
#: What small G1 of large samples lack of the skewness of their shape falls with n to this power: the root
#: of n for normal observations, hardly at all where tails are heavy. In simulations of 1,000 to 100,000
#: observations, quantiles of 0.5 to 10% fell by 0.5 · exp(−1.2 σ²) and faster; the slower one here makes
#: intervals hold for Pareto shapes, too.
_SKEWNESS_RATE = 0.5 * np.exp(-1.5 * _SIGMAS**2)
#: Where the mean of a resample is not positive, its coefficient is beyond all bounds: an end that goes
#: there is zero.
_NO_MEAN, _AS_GOOD_AS_NONE = 1e-12, math.log(1e-6)
#: From this index on (σ = 0.75) intervals of fewer observations hold less often than stated.
HEAVY_TAIL, ENOUGH_FOR_HEAVY = 0.287, 100
#: How far beyond its estimate the tail index of a sample is allowed for, so that intervals held in
#: the simulations of tests/planted/groups/test_variability_coverage.py: reach · (1 + growth · (index − that
#: of the normal)) / √(n + 15); for the lower end, which depends on it less, a quarter of that.
_REACH_ABOVE, _REACH_BELOW, _REACH_GROWTH, _REACH_SIZE = 1.0, 0.25, 5.0, 15


@dataclass(frozen=True, slots=True)
class TailShape:
    """The tails of a sample: `index` τ₄ + τ₃²/2 of its L-moments, `side` −1 where the left is the longer."""

    index: float
    side: float


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Samples of one size from each shape of `TAIL_INDEX`, standardised: shapes × R each.

    `means`, logarithms of standard deviations, and, in order by itself, skewness G1.
    """

    means: FloatArray
    log_deviations: FloatArray
    skewness: FloatArray


@dataclass(frozen=True, slots=True)
class ShapeResamples:
    """Resamples from log-normal shapes, drawn once for each size; each size has draws of its own."""

    seed: int
    _drawn: dict[int, Resamples] = field(default_factory=dict)

    def draw(self, n: int) -> Resamples:
        """Samples of n from each shape."""
        if n not in self._drawn:
            generator = np.random.default_rng((self.seed, n))
            step = max(1, _AT_A_TIME // n)
            parts = [
                _measure_shapes(generator.standard_normal((min(step, RESAMPLES - at), n)))
                for at in range(0, RESAMPLES, step)
            ]
            means, logs, skewness = (np.concatenate(item, axis=1) for item in zip(*parts, strict=True))
            self._drawn[n] = Resamples(means, logs, np.sort(skewness, axis=1))
        return self._drawn[n]


def bound_cv_vangel(cv: float, n: int, confidence: float) -> Interval:
    """Interval of a normal population's coefficient of variation (Vangel 1996, modified McKay).

    The upper bound is infinite where the coefficient is so large that the mean may be zero.
    """
    df = n - 1
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        quantile = float(chdtri(df, tail))
        below = ((quantile + 2) / n - 1) * cv * cv + quantile / df
        ends.append(cv / math.sqrt(below) if below > 0 else math.inf)
    return Interval(cv, min(ends), max(ends))


def find_tail_shape(values: FloatArray) -> TailShape:
    """Tails of a sample of four observations or more (any origin and unit) by unbiased L-moments."""
    n, ordered = values.size, np.sort(values)
    rank = np.arange(n)
    # Probability-weighted moments b₀ to b₃ (Hosking 1990, equation 2.4).
    weights = [np.ones(n)]
    for order in (1, 2, 3):
        weights.append(weights[-1] * (rank - order + 1) / (n - order))
    b0, b1, b2, b3 = (float(np.mean(weight * ordered)) for weight in weights)
    scale = 2 * b1 - b0
    if scale <= 0:
        return TailShape(TAIL_INDEX[0], 1.0)
    third = (6 * b2 - 6 * b1 + b0) / scale
    fourth = (20 * b3 - 30 * b2 + 12 * b1 - b0) / scale
    return TailShape(fourth + third * third / 2, -1.0 if third < 0 else 1.0)


def bound_cv(
    values: FloatArray, mean: float, sd: float, confidence: float, resamples: ShapeResamples
) -> Interval:
    """Interval of the coefficient of variation of ten observations or more, whatever their tails.

    `values` are the observations as deviations from their mean. The ends are the furthest over the
    shapes that the tail index allows, the lower end also over the log-normal that begins at zero where no
    observation is negative; shorter where the sample's kurtosis is below the normal's. Where the index is
    beyond all shapes, a few observations make the whole spread, and there is no upper end. The lower end
    is 0 where the mean is not told from zero by what is found. Where there are negative observations, so
    that the mean may be zero, the interval contains Vangel's.
    """
    n, cv = values.size, sd / mean
    shape, tail = find_tail_shape(values), (1 - confidence) / 2
    index = max(shape.index, TAIL_INDEX[0])
    reach = (1 + _REACH_GROWTH * (index - TAIL_INDEX[0])) / math.sqrt(n + _REACH_SIZE)
    above, below = (_find_sigma(index + factor * reach) for factor in (_REACH_ABOVE, _REACH_BELOW))
    negative = float(np.min(values)) + mean < 0
    if not negative:
        below = max(below, math.sqrt(math.log1p(cv * cv)))
    allowed = math.ceil(max(above, below) / _SIGMA_STEP) + 1
    lower, upper = _find_errors(shape.side * cv, n, tail, resamples, allowed)
    low, high = _find_most(lower, below), _find_most(upper, above)
    narrow = _shrink_light(values)
    ends = (
        0.0 if -low < _AS_GOOD_AS_NONE else cv * math.exp(min(-low * narrow, 0.0)),
        math.inf if shape.index > TAIL_INDEX[-1] else cv * math.exp(max(high * narrow, 0.0)),
    )
    if negative:
        normal = bound_cv_vangel(cv, n, confidence)
        ends = min(ends[0], normal.low), max(ends[1], normal.high)
    return Interval(cv, *ends)


def bound_skewness(
    values: FloatArray, skewness: float, confidence: float, resamples: ShapeResamples
) -> Interval:
    """Interval of the skewness of ten observations or more; ends may be infinite.

    `values` are deviations from the mean. It holds the skewness of each log-normal shape, and its mirror
    image, under which G1 is as near as it was found, and what the influence function adds to both
    sides where tails are heavy but alike. Samples of n have G1 below √n whatever the truth, and far below
    it where tails are heavy: the end away from zero is infinite where the heaviest shape may give such a
    G1, as of few observations, and of many where G1 is large.
    """
    n, tail = values.size, (1 - confidence) / 2
    drawn = choose_drawn_size(n)
    found = resamples.draw(drawn).skewness
    least, most = (_pick_quantile(found, share) for share in (tail, 1 - tail))
    far = _SKEWNESS - (_SKEWNESS - least) * (drawn / n) ** _SKEWNESS_RATE
    # A longer tail gives no less, but for the accident of the draw.
    least, most, far = (np.maximum.accumulate(curve) for curve in (least, most, far))
    # From the longest left tail over the normal to the longest right one.
    truths = np.concatenate([-_SKEWNESS[:0:-1], _SKEWNESS])
    upper = np.concatenate([-least[:0:-1], most])
    size = abs(skewness)
    near = math.sqrt(drawn / n) * (size - float(np.interp(size, upper, truths)))
    away = math.inf if size > far[-1] else float(np.interp(size, far, _SKEWNESS)) - size
    reach = _find_skewness_reach(values, confidence)
    below, above = (max(item, reach) for item in ((near, away) if skewness >= 0 else (away, near)))
    return Interval(skewness, skewness - below, skewness + above)


def choose_drawn_size(n: int) -> int:
    """Size of the resamples for n observations: n, or beyond 50 the next below in steps of a tenth."""
    if n <= 50:
        return n
    return int(50 * 1.1 ** math.floor(math.log(min(n, LARGEST_DRAWN) / 50) / math.log(1.1) + 1e-9))


def _find_errors(
    cv: float, n: int, tail: float, resamples: ShapeResamples, count: int
) -> tuple[FloatArray, FloatArray]:
    """How far the logarithm of the true coefficient is below and above the one found, for the first shapes.

    `cv` is negative where the left tail is the longer, `count` the number of shapes.
    The root of n, by which errors of what is drawn would shrink, is too fast where tails are heavy: there
    samples of the drawn size are too few to show them whole. They are taken no nearer than the delta
    method has them for n, nor further than they were found.
    """
    drawn = choose_drawn_size(n)
    found, root = resamples.draw(drawn), math.sqrt(drawn / n)
    drawn_means, log_deviations = found.means[:count], found.log_deviations[:count]

    def find(shrunk: float) -> tuple[FloatArray, FloatArray]:
        # Log(true / found) in samples from shapes whose coefficient is the one that was found.
        means = np.maximum(1 + shrunk * cv * drawn_means, _NO_MEAN)
        errors = np.log(means) - shrunk * log_deviations
        lows, highs = np.quantile(errors, [tail, 1 - tail], axis=1)
        return np.maximum(-lows, 0.0), np.maximum(highs, 0.0)

    lower, upper = find(1.0)
    if drawn == n:
        return lower, upper
    variance = (_KURTOSIS[:count] - 1) / 4 + cv * cv - cv * _SKEWNESS[:count]
    far = -ndtri(tail) * np.sqrt(np.maximum(variance, 0.0) / n)
    shrunk_lower, shrunk_upper = find(root)
    return (
        np.minimum(lower, np.maximum(shrunk_lower, far)),
        np.minimum(upper, np.maximum(shrunk_upper, far)),
    )


def _find_sigma(index: float) -> float:
    return float(np.interp(index, TAIL_INDEX, _SIGMAS))


def _find_most(curve: FloatArray, sigma: float) -> float:
    """The largest number on a curve over the first shapes, from the normal up to σ."""
    sigmas = _SIGMAS[: curve.size]
    return max(float(np.max(curve[sigma >= sigmas])), float(np.interp(sigma, sigmas, curve)))


def _pick_quantile(ordered: FloatArray, share: float) -> FloatArray:
    """The same quantile of each row, whose numbers are in order; interpolated."""
    place = share * (ordered.shape[1] - 1)
    below = min(int(place), ordered.shape[1] - 2)
    return np.asarray(ordered[:, below] + (place - below) * (ordered[:, below + 1] - ordered[:, below]))


def _shrink_light(values: FloatArray) -> float:
    """How much the deviation varies less than a normal's, from the kurtosis; with a margin, at least half."""
    n = values.size
    scaled = values / np.max(np.abs(values))
    kurtosis = float(np.mean(scaled**4) / np.mean(scaled**2) ** 2)
    return min(1.0, max(0.5, math.sqrt((kurtosis - 1) / 2) * (1 + 3 / math.sqrt(n))))


def _measure_shapes(normal: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means, logarithms of standard deviations and G1 of rows of normal numbers taken to each shape."""
    n = normal.shape[1]
    step, shaped = np.exp(_SIGMA_STEP * normal), np.ones_like(normal)
    rows = [_take_moments(normal, 0.0, 1.0)]
    for sigma in _SIGMAS[1:]:
        shaped *= step
        mean = math.exp(sigma * sigma / 2)
        rows.append(_take_moments(shaped, mean, mean * math.sqrt(math.expm1(sigma * sigma))))
    means, variances, skewness = (np.stack(item) for item in zip(*rows, strict=True))
    return means, np.log(variances) / 2, skewness * (math.sqrt(n * (n - 1)) / (n - 2))


def _take_moments(rows: FloatArray, centre: float, unit: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, variance and raw skewness of each row, in units about a centre, from sums of powers."""
    n = rows.shape[1]
    first = np.sum(rows, axis=1) / n
    second = np.einsum("ij,ij->i", rows, rows) / n
    third = np.einsum("ij,ij,ij->i", rows, rows, rows) / n
    variance = second - first**2
    skewness = (third - 3 * first * second + 2 * first**3) / variance**1.5
    return (first - centre) / unit, variance * (n / (n - 1)) / unit**2, skewness


def _find_skewness_reach(values: FloatArray, confidence: float) -> float:
    """Half-width from the influence function, with a margin for its own error."""
    n = values.size
    scaled = values / math.sqrt(float(np.mean(values**2)))
    raw = float(np.mean(scaled**3))
    influence = scaled**3 - 3 * scaled - raw - 1.5 * raw * (scaled**2 - 1)
    error = math.sqrt(float(np.sum(influence**2)) / (n - 1) / n) * (math.sqrt(n * (n - 1)) / (n - 2))
    return -float(stdtrit(n - 1, (1 - confidence) / 2)) * error * (1 + 4 / math.sqrt(n))

"""Variability of design points: coefficient of variation, skewness, and robust figures beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtri, stdtrit

from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.analysis.records import Interval
from datamill.experiment.errors import InputError

#: With fewer observations resampling says nothing, and the interval is the one for normal observations.
FEWEST_RESAMPLED = 10
#: With more observations than this the estimate is so nearly normal that nothing is resampled.
MOST_RESAMPLED = 5_000
_RESAMPLES = 1_999
#: Numbers in memory at a time.
_AT_A_TIME = 4_000_000

#: Whether the observations of a design point are taken as normal.
Assumption = Literal["nothing", "normal"]


@dataclass(frozen=True, slots=True)
class PointVariability:
    """How the observations at one design point vary.

    `levels` has the level of every factor. `cv` is the standard deviation over the mean, as a
    fraction, with its interval, whose upper end may be infinite; None where the mean is not positive.
    `cv_method` says how the interval was found. `skewness` is G1, None below three observations or
    without variation.
    The robust figures do not heed single extremes: `dispersion` is (Q3 − Q1) / (Q3 + Q1), `mad_ratio`
    the median absolute deviation × 1.4826 over the median, `quartile_skewness`
    (Q3 + Q1 − 2·median) / (Q3 − Q1).
    """

    levels: tuple[str, ...]
    n: int
    mean: float
    sd: float
    cv: Interval | None
    cv_method: str
    skewness: float | None
    skewness_interval: Interval | None
    dispersion: float | None
    mad_ratio: float | None
    quartile_skewness: float | None


@dataclass(frozen=True, slots=True)
class Variability:
    """The variability of every design point with two observations or more."""

    factors: tuple[str, ...]
    points: tuple[PointVariability, ...]
    n: int
    assumption: Assumption
    confidence: float
    seed: int
    method: str
    warnings: tuple[str, ...]


def measure_variability(
    cells: Cells, *, assumption: Assumption = "nothing", confidence: float = 0.95, seed: int = 1
) -> Variability:
    """Coefficient of variation and skewness of each design point (thesis 2015, section 5.1.1).

    Assuming normal observations, or below 10, the interval of a coefficient of variation is
    Vangel's (1996) modification of McKay's; else that of the bootstrap-t on the logarithmic scale.

    Raises:
        InputError: no design point has two observations.
    """
    order = np.argsort(cells.of_row, kind="stable")
    parts = np.split(cells.values[order], np.cumsum(cells.counts)[:-1])
    children = np.random.SeedSequence(seed).spawn(len(parts))
    points = []
    for values, codes, child in zip(parts, cells.codes, children, strict=True):
        if values.size < 2:
            continue
        levels = tuple(factor.levels[int(code)] for factor, code in zip(cells.factors, codes, strict=True))
        points.append(_measure_point(levels, values, cells.origin, assumption, confidence, child))
    if not points:
        raise InputError(
            f"all {len(parts)} design points have a single observation, and so no variation",
            remedy="Name fewer factors, or add replicates.",
        )
    methods = dict.fromkeys(point.cv_method for point in points if point.cv is not None)
    return Variability(
        factors=tuple(factor.name for factor in cells.factors),
        points=tuple(points),
        n=sum(point.n for point in points),
        assumption=assumption,
        confidence=confidence,
        seed=seed,
        method=(
            "coefficient of variation s / mean, interval by "
            + " or ".join(methods or ["no method"])
            + "; skewness G1, adjusted for n (Joanes and Gill 1998); quartiles interpolated (type 7)"
        ),
        warnings=tuple(_warn(points, len(parts) - len(points), cells)),
    )


def _measure_point(
    levels: tuple[str, ...],
    values: FloatArray,
    origin: float,
    assumption: Assumption,
    confidence: float,
    seed: np.random.SeedSequence,
) -> PointVariability:
    shift = float(np.mean(values))
    away = values - shift
    shift += float(np.mean(away))
    away = values - shift
    n, mean = values.size, origin + shift
    sd = math.sqrt(float(np.sum(away**2)) / (n - 1))
    # Spread that rounding alone explains is no spread.
    if sd <= 4 * np.finfo(np.float64).eps * max(abs(origin), float(np.max(np.abs(values + origin)))):
        sd = 0.0
    cv, method = None, ""
    if mean > 0 and sd > 0:
        cv, method = _bound_cv(away, mean, sd, assumption, confidence, seed)
    quartiles = [float(item) for item in np.quantile(values, [0.25, 0.5, 0.75])]
    low, median, high = quartiles
    deviation = 1.4826 * float(np.median(np.abs(values - median)))
    skewness = adjust_skewness(away) if sd > 0 else None
    return PointVariability(
        levels=levels,
        n=n,
        mean=mean,
        sd=sd,
        cv=cv,
        cv_method=method,
        skewness=skewness,
        skewness_interval=_bound_skewness(away, skewness, confidence),
        dispersion=(high - low) / (high + low + 2 * origin) if low + origin > 0 else None,
        mad_ratio=deviation / (median + origin) if median + origin > 0 else None,
        quartile_skewness=(high + low - 2 * median) / (high - low) if high > low else None,
    )


def adjust_skewness(values: FloatArray) -> float | None:
    """Fisher–Pearson skewness G1, adjusted for n (thesis 2019, equation 2.1); e1071's type 2.

    None below three observations, or where they do not vary.
    """
    n = values.size
    if n < 3:
        return None
    away = values - np.mean(values)
    largest = float(np.max(np.abs(away)))
    if largest == 0:
        return None
    # In units of the largest, so that no unit makes cubes over- or underflow.
    away = away / largest
    second, third = float(np.mean(away**2)), float(np.mean(away**3))
    return float(third / second**1.5 * math.sqrt(n * (n - 1)) / (n - 2))


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


def _bound_cv(
    away: FloatArray,
    mean: float,
    sd: float,
    assumption: Assumption,
    confidence: float,
    seed: np.random.SeedSequence,
) -> tuple[Interval, str]:
    n, cv = away.size, sd / mean
    if assumption == "normal" or n < FEWEST_RESAMPLED:
        return bound_cv_vangel(cv, n, confidence), "Vangel's modification of McKay's"
    error = float(_estimate_error(away[None, :], np.array([mean]))[0])
    tail = (1 - confidence) / 2
    if n > MOST_RESAMPLED:
        reach = -float(stdtrit(n - 1, tail)) * error
        interval = Interval(cv, cv * math.exp(-reach), cv * math.exp(reach))
        return interval, "the normal approximation on the logarithmic scale"
    generator = np.random.default_rng(seed)
    step, pivots = max(1, _AT_A_TIME // n), []
    for start in range(0, _RESAMPLES, step):
        drawn = away[generator.integers(0, n, (min(step, _RESAMPLES - start), n))]
        means = mean + np.mean(drawn, axis=1)
        deviations = np.std(drawn, axis=1, ddof=1)
        usable = (means > 0) & (deviations > 0)
        errors = _estimate_error(drawn[usable], means[usable])
        logs = np.log(deviations[usable] / means[usable] / cv)
        pivots.append(np.divide(logs, errors, out=np.zeros_like(logs), where=errors > 0))
    low, high = np.quantile(np.concatenate(pivots), [1 - tail, tail])
    bounds = (cv * _exponentiate(-float(low) * error), cv * _exponentiate(-float(high) * error))
    # The estimate may lie outside where resamples are lopsided; an interval contains what it is about.
    return Interval(cv, min(bounds[0], cv), max(bounds[1], cv)), f"bootstrap-t ({_RESAMPLES} resamples)"


def _exponentiate(exponent: float) -> float:
    """The exponential; infinity where resamples that hardly vary leave no bound worth the name."""
    return math.exp(exponent) if exponent < 10 else math.inf


def _estimate_error(values: FloatArray, means: FloatArray) -> FloatArray:
    """Standard error of log(s / mean) by its influence function: values R × n (any origin), means R."""
    n = values.shape[1]
    away = values - np.mean(values, axis=1, keepdims=True)
    variances = np.mean(away**2, axis=1, keepdims=True)
    variances = np.where(variances > 0, variances, 1.0)
    influence = (away**2 / variances - 1) / 2 - away / means[:, None]
    return np.asarray(np.sqrt(np.sum(influence**2, axis=1) / (n - 1) / n))


def _bound_skewness(away: FloatArray, skewness: float | None, confidence: float) -> Interval | None:
    """Interval of the skewness by its influence function; None below ten observations."""
    n = away.size
    if skewness is None or n < FEWEST_RESAMPLED:
        return None
    scaled = away / math.sqrt(float(np.mean(away**2)))
    raw = float(np.mean(scaled**3))
    influence = scaled**3 - 3 * scaled - raw - 1.5 * raw * (scaled**2 - 1)
    error = math.sqrt(float(np.sum(influence**2)) / (n - 1) / n) * (skewness / raw if raw else 1.0)
    reach = -float(stdtrit(n - 1, (1 - confidence) / 2)) * error
    return Interval(skewness, skewness - reach, skewness + reach)


def _warn(points: Sequence[PointVariability], single: int, cells: Cells) -> list[str]:
    warnings = []
    if single:
        warnings.append(f"{single} design points have a single observation, and so no variation: left out")
    few = sum(point.n < FEWEST_RESAMPLED for point in points)
    if few:
        smallest = min(point.n for point in points)
        warnings.append(
            f"{few} of {len(points)} design points have fewer than {FEWEST_RESAMPLED} observations (the "
            f"least {smallest}): their intervals assume normal observations, and their skewness has none"
        )
    without = sum(point.mean <= 0 for point in points)
    if without:
        warnings.append(
            f"{without} design points have a mean that is not positive: a coefficient of variation has no "
            "meaning there"
        )
    elif float(np.min(cells.lows)) + cells.origin < 0:
        warnings.append(
            "there are negative observations: a coefficient of variation presumes a scale with a true zero"
        )
    near = sum(point.cv is not None and math.sqrt(point.n) < 4 * point.cv.estimate for point in points)
    if near:
        warnings.append(
            f"{near} design points have a mean that is hardly told from zero (less than 4 standard errors "
            "away): their coefficients of variation are unstable"
        )
    unbounded = sum(point.cv is not None and math.isinf(point.cv.high) for point in points)
    if unbounded:
        warnings.append(
            f"{unbounded} coefficients of variation have no upper bound: a few extreme observations, or "
            "too few of them all, leave open how large they may be"
        )
    still = sum(point.sd == 0 for point in points)
    if still:
        warnings.append(f"{still} design points do not vary at all; they have no coefficient to compare")
    return warnings

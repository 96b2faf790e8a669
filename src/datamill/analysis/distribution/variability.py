"""Variability of design points: coefficient of variation, skewness, and robust figures beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamill.analysis.distribution.variability_intervals import (
    ENOUGH_FOR_HEAVY,
    FEWEST_BEYOND,
    FEWEST_RESAMPLED,
    HEAVY_TAIL,
    RESAMPLES,
    ShapeResamples,
    bound_cv,
    bound_cv_vangel,
    bound_skewness,
    find_tail_shape,
)
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures

VANGEL = "Vangel's modification of McKay's"
BY_SHAPES = (
    f"resamples ({RESAMPLES}) from normal and log-normal shapes, up to the heaviest tails that the "
    "observations' L-moments allow"
)

#: Whether the observations of a design point are taken as normal.
Assumption = Literal["nothing", "normal"]


@dataclass(frozen=True, slots=True)
class PointVariability:
    """How the observations at one design point vary.

    `levels` has the level of every factor. `cv` is the standard deviation over the mean, as a
    fraction, with its interval, from 0 where no lower end was found, to infinity where no upper one was;
    None where the mean is not positive.
    `cv_method` says how the interval was found. `skewness` is G1, None below three observations or
    without variation; the ends of its interval may be infinite, and it is None below ten observations.
    `tail_index` says how heavy the tails are (0.12 for normal observations, 0.4 for log-normal ones with
    σ = 1), None below ten observations or without variation.
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
    tail_index: float | None


@dataclass(frozen=True, slots=True)
class PointVariabilities:
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
) -> PointVariabilities:
    """Coefficient of variation and skewness of each design point (thesis 2015, section 5.1.1).

    Assuming normal observations, or below 10, the interval of a coefficient of variation is
    Vangel's (1996) modification of McKay's; else that of `bound_cv`, which holds also where tails are
    heavy.

    Raises:
        InputError: no design point has two observations.
    """
    order = np.argsort(cells.of_row, kind="stable")
    parts = np.split(cells.values[order], np.cumsum(cells.counts)[:-1])
    resamples = ShapeResamples(seed)
    points = []
    for values, codes in zip(parts, cells.codes, strict=True):
        if values.size < 2:
            continue
        levels = tuple(factor.levels[int(code)] for factor, code in zip(cells.factors, codes, strict=True))
        points.append(_measure_point(levels, values, cells.origin, assumption, confidence, resamples))
    if not points:
        raise InputError(
            f"all {len(parts)} design points have a single observation, and so no variation",
            remedy="Name fewer factors, or add replicates.",
        )
    methods = dict.fromkeys(point.cv_method for point in points if point.cv is not None)
    return PointVariabilities(
        factors=tuple(factor.name for factor in cells.factors),
        points=tuple(points),
        n=sum(point.n for point in points),
        assumption=assumption,
        confidence=confidence,
        seed=seed,
        method=(
            "coefficient of variation s / mean, interval by "
            + " or ".join(methods or ["no method"])
            + "; skewness G1, adjusted for n (Joanes and Gill 1998), interval by the log-normal shapes that "
            "give such a G1; quartiles interpolated (type 7)"
        ),
        warnings=(
            *_warn(points, len(parts) - len(points), cells),
            *_warn_of_level(points, confidence),
        ),
    )


def _measure_point(
    levels: tuple[str, ...],
    values: FloatArray,
    origin: float,
    assumption: Assumption,
    confidence: float,
    resamples: ShapeResamples,
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
        if assumption == "normal" or n < FEWEST_RESAMPLED:
            cv, method = bound_cv_vangel(sd / mean, n, confidence), VANGEL
        else:
            cv, method = bound_cv(away, mean, sd, confidence, resamples), BY_SHAPES
    quartiles = [float(item) for item in np.quantile(values, [0.25, 0.5, 0.75])]
    low, median, high = quartiles
    deviation = 1.4826 * float(np.median(np.abs(values - median)))
    skewness = adjust_skewness(away) if sd > 0 else None
    enough = skewness is not None and n >= FEWEST_RESAMPLED
    return PointVariability(
        levels=levels,
        n=n,
        mean=mean,
        sd=sd,
        cv=cv,
        cv_method=method,
        skewness=skewness,
        skewness_interval=(
            bound_skewness(away, skewness, confidence, resamples) if enough and skewness is not None else None
        ),
        dispersion=(high - low) / (high + low + 2 * origin) if low + origin > 0 else None,
        mad_ratio=deviation / (median + origin) if median + origin > 0 else None,
        quartile_skewness=(high + low - 2 * median) / (high - low) if high > low else None,
        tail_index=find_tail_shape(away).index if enough else None,
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
    if largest == 0 or np.ptp(values) == 0:
        return None
    # In units of the largest, so that no unit makes cubes over- or underflow.
    away = away / largest
    second, third = float(np.mean(away**2)), float(np.mean(away**3))
    return float(third / second**1.5 * math.sqrt(n * (n - 1)) / (n - 2))


def _warn_of_level(points: Sequence[PointVariability], confidence: float) -> list[str]:
    """Whether so few resamples lie beyond the ends that these are hardly known."""
    beyond = RESAMPLES * (1 - confidence) / 2
    if beyond >= FEWEST_BEYOND or not any(point.skewness_interval is not None for point in points):
        return []
    return [
        f"at a level of {format_figures(confidence, 10)} only {format_figures(beyond, 2)} of {RESAMPLES} "
        "resamples lie beyond each end of "
        "an interval: the ends are rough, and may be too near"
    ]


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
            f"{near} design points have a mean that hardly differs from zero (less than 4 standard errors "
            "away): their coefficients of variation are unstable"
        )
    heavy = [
        point
        for point in points
        if point.cv_method == BY_SHAPES
        and point.tail_index is not None
        and point.tail_index > HEAVY_TAIL
        and point.n < ENOUGH_FOR_HEAVY
    ]
    if heavy:
        warnings.append(
            f"{len(heavy)} of {len(points)} design points look heavy-tailed, or as if they rarely took "
            f"another mode, and have fewer than {ENOUGH_FOR_HEAVY} observations (the least "
            f"{min(point.n for point in heavy)}): too few for such data, so that their intervals of the "
            "coefficient of variation may hold in 85 to 95% of experiments only where 95% are asked for"
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

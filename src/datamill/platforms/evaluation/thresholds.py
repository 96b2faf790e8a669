"""What is left when models that fit badly are discarded (thesis 2015, Figure 7.8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.interval import Interval
from datamill.platforms.evaluation.application_intervals import bound_mean, bound_quantiles
from datamill.platforms.evaluation.evaluation_plan import Variant
from datamill.platforms.evaluation.size_errors import JoinedErrors

#: Shares of models that are left, from all of them on.
_SHARES = tuple(share / 100 for share in (*range(100, 8, -4), 5, 2))


@dataclass(frozen=True, slots=True)
class FitThreshold:
    """Models whose adjusted R² is at least `adjusted_r2`: what `share` is left, and how far they err.

    `percentile_95`, `percentile_99` and `worst` are of NRMSE, in shares.
    """

    adjusted_r2: float
    models: int
    share: Interval
    percentile_95: Interval
    percentile_99: Interval
    worst: float


@dataclass(frozen=True, slots=True)
class ThresholdCurve:
    """Thresholds of one variant at one size, from the lowest to the highest.

    `undefined` models have no adjusted R²: every threshold discards them.
    """

    variant: Variant
    size: int
    undefined: int
    thresholds: tuple[FitThreshold, ...]


def apply_thresholds(variant: Variant, size: int, joined: JoinedErrors, confidence: float) -> ThresholdCurve:
    """Discard models below thresholds that leave ever fewer of them; the first leaves all that have an R²."""
    fit = joined.adjusted_r2
    known = fit[np.isfinite(fit)]
    found: dict[float, FitThreshold] = {}
    for share in _SHARES if len(known) else ():
        least = float(np.quantile(known, 1 - share, method="inverted_cdf"))
        if least in found:
            continue
        left = np.isfinite(fit) & (fit >= least)
        high, higher = bound_quantiles(
            joined.nrmse[left], joined.applications[left], (0.95, 0.99), confidence
        )
        kept = bound_mean(left.astype(np.float64), joined.applications, confidence)
        found[least] = FitThreshold(
            adjusted_r2=least,
            models=int(np.sum(left)),
            share=Interval(kept.estimate, kept.low, min(1.0, kept.high)),
            percentile_95=high,
            percentile_99=higher,
            worst=float(np.max(joined.nrmse[left])),
        )
    return ThresholdCurve(variant, size, int(np.sum(~np.isfinite(fit))), tuple(found.values()))

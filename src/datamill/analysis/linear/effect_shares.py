"""Effects as shares of the mean, so that programs and machines can be compared: thesis 2015, Figure 5.1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.interval import Interval
from datamill.analysis.linear.linear_model import EffectShare
from datamill.analysis.model_data.cells import FloatArray, ModelFactor
from datamill.analysis.model_data.coding import Term, code_combinations


def share_effects(
    factors: Sequence[ModelFactor],
    terms: Sequence[Term],
    mean: Interval,
    beta: FloatArray,
    root: FloatArray,
    error_ms: float,
) -> tuple[EffectShare, ...]:
    """Divide the effects of a model's factors by its mean; nothing where the mean's interval reaches zero.

    `beta` (p) and `root` (p × p, root·rootᵀ times `error_ms` is the covariance) have the intercept
    first. One degree of freedom is told by its coefficient, more by every combination of levels.
    Standard errors are those of a ratio (delta method), the mean's own error included.
    """
    if mean.low <= 0 <= mean.high:
        return ()
    shares, start = [], 1
    for term in terms:
        labels, rows = code_combinations(term, factors)
        if term.df == 1:
            labels, rows = ((),), np.ones((1, 1))
        block = root[start : start + term.df]
        values = rows @ beta[start : start + term.df]
        start += term.df
        if term.covariates:
            continue
        for label, row, value in zip(labels, rows, values, strict=True):
            ratio = float(value) / mean.estimate
            error = np.sqrt(error_ms * np.sum((row @ block - ratio * root[0]) ** 2)) / abs(mean.estimate)
            shares.append(EffectShare(term.name, label, 100 * ratio, 100 * float(error)))
    return tuple(shares)

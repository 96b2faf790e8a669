"""Errors of a strategy by the number of training machines (thesis 2015, Figures 7.6, 7.7 and 7.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.distribution.boxes import BoxSummary, summarize_box
from datamill.analysis.interval import Interval
from datamill.platforms.evaluation.application_intervals import (
    bound_mean,
    bound_mean_of_models,
    bound_quantiles,
)
from datamill.platforms.evaluation.evaluate_part import PartErrors
from datamill.platforms.evaluation.evaluation_plan import Variant
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Quantiles of errors that have intervals: the middle, and what one must reckon with.
LEVELS = (0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class SizeErrors:
    """Errors of all models of one variant from `size` training machines.

    In shares, 0.05 for 5%. `box`, `median`, `upper_quartile`, `percentile_95`, `worst` and the means are of
    the models' NRMSE: `mean` with the interval by applications, `mean_of_models` with that of independent
    models. `target_errors` are median, 75th and 95th percentile and maximum of |prediction / time - 1| over
    all targets of all models. `unanswered` models predict nothing and are not among `models`. `absurd` is the
    share of predicted times that are not above zero. `predictors` is their mean number, NaN where a strategy
    does not say it.
    """

    variant: Variant
    size: int
    models: int
    unanswered: int
    predictors: float
    box: BoxSummary
    median: Interval
    upper_quartile: Interval
    percentile_95: Interval
    worst: float
    mean: Interval
    mean_of_models: Interval
    target_errors: tuple[float, float, float, float]
    absurd: float


@dataclass(frozen=True, slots=True, eq=False)
class JoinedErrors:
    """Models of all applications of one variant and size: those that predict, in the order of the plan.

    `applications` (models) numbers each model's application in the plan, `places` its set.
    """

    nrmse: FloatArray
    adjusted_r2: FloatArray
    predictors: FloatArray
    applications: IntArray
    places: IntArray
    relative: FloatArray
    unanswered: int


def join_errors(parts: Sequence[PartErrors], variant: Variant) -> JoinedErrors:
    """Put the parts of one size that have a variant together."""
    parts = sorted(parts, key=lambda item: item.part.start)
    places = [item.part.variants.index(variant) for item in parts]

    def join(name: str) -> FloatArray:
        arrays = [getattr(item, name)[place] for item, place in zip(parts, places, strict=True)]
        return np.concatenate(arrays, axis=1)

    nrmse, relative = join("nrmse"), join("relative")
    known = np.isfinite(nrmse)
    applications, sets = np.nonzero(known)
    return JoinedErrors(
        nrmse=nrmse[known],
        adjusted_r2=join("adjusted_r2")[known],
        predictors=join("predictors")[known],
        applications=applications,
        places=sets,
        relative=relative[known],
        unanswered=int(np.sum(~known)),
    )


def summarize_size(variant: Variant, size: int, joined: JoinedErrors, confidence: float) -> SizeErrors | None:
    """Summarise the models of one variant and size; None where none of them predicts."""
    if not len(joined.nrmse):
        return None
    median, upper, high = bound_quantiles(joined.nrmse, joined.applications, LEVELS, confidence)
    misses = np.abs(joined.relative)
    return SizeErrors(
        variant=variant,
        size=size,
        models=len(joined.nrmse),
        unanswered=joined.unanswered,
        predictors=float(np.mean(joined.predictors)),
        box=summarize_box(joined.nrmse),
        median=median,
        upper_quartile=upper,
        percentile_95=high,
        worst=float(np.max(joined.nrmse)),
        mean=bound_mean(joined.nrmse, joined.applications, confidence),
        mean_of_models=bound_mean_of_models(joined.nrmse, confidence),
        target_errors=tuple(float(value) for value in np.quantile(misses, (*LEVELS, 1.0))),  # type: ignore[arg-type]
        absurd=float(np.mean(joined.relative <= -1)),
    )

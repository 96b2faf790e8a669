"""What else mattered: the terms of a model by their share of the variation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as t_distribution

from datamill.analysis.cells import FloatArray
from datamill.analysis.coding import code_combinations
from datamill.analysis.fieller import bound_ratio
from datamill.analysis.records import Influence, Interval, LinearModel, TermInfluence, TermRow


def adjust_holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """P-values adjusted for their number by Holm's step-down procedure (1979); None stays None."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[index] = running
    return tuple(adjusted)


def rank_terms(model: LinearModel) -> Influence:
    """Order the terms of a model by sum of squares, each with its largest effect.

    Intervals of a term's effects hold together for all its levels (Bonferroni), percentages are
    of the grand mean (Fieller). A term is detected when its adjusted p is below alpha.
    """
    adjusted = adjust_holm([row.p for row in model.terms])
    results, start = [], 1
    for row, p in zip(model.terms, adjusted, strict=True):
        results.append(_describe_term(model, row, p, slice(start, start + row.term.df)))
        start += row.term.df
    return Influence(
        terms=tuple(sorted(results, key=lambda result: -result.share)),
        n=model.n,
        confidence=model.confidence,
        alpha=model.alpha,
        method=(
            "share of the total sum of squares; p adjusted by Holm over terms; largest deviation from "
            "the grand mean with intervals that hold for all levels of a term together (Bonferroni)"
        ),
        warnings=model.warnings,
    )


def _describe_term(model: LinearModel, row: TermRow, p: float | None, columns: slice) -> TermInfluence:
    labels, coding = code_combinations(row.term, model.factors)
    effects = coding @ model.beta[columns]
    directions = coding @ model.root[columns]
    spread = np.sqrt(np.sum(directions**2, axis=1) * model.error_ms)
    # With one degree of freedom all deviations are the same number but for their sign.
    together = 1 if row.term.df == 1 else len(labels)
    critical = float(t_distribution.isf((1 - model.confidence) / 2 / together, model.error_df))
    reach = critical * spread
    # The last of equals, so that a two-level term is told by its high level, as its coefficient is.
    at = int(len(labels) - 1 - np.argmax(np.abs(effects[::-1]) >= np.max(np.abs(effects)) * (1 - 1e-12)))
    widest = int(np.argmax(np.abs(effects) + reach))
    percents = [_divide_by_mean(model, effects[i], directions[i], critical) for i in (at, widest)]
    at_most_percent = None
    if percents[1] is not None:
        at_most_percent = max(abs(percents[1].low), abs(percents[1].high))
    return TermInfluence(
        term=row.term.name,
        order=row.term.order,
        share=row.sum_sq / model.total_ss,
        partial=row.sum_sq / (row.sum_sq + model.error_ss) if row.sum_sq + model.error_ss > 0 else 0.0,
        p=p,
        # Without any error every effect is real, but for what rounding makes.
        detected=p < model.alpha if p is not None else row.sum_sq > 1e-12 * model.total_ss,
        levels=labels[at],
        largest=Interval(float(effects[at]), float(effects[at] - reach[at]), float(effects[at] + reach[at])),
        largest_percent=percents[0],
        at_most=float(abs(effects[widest]) + reach[widest]),
        at_most_percent=at_most_percent,
    )


def _divide_by_mean(
    model: LinearModel, effect: float, direction: FloatArray, critical: float
) -> Interval | None:
    if model.mean.estimate <= 0:
        return None
    ratio = bound_ratio(
        float(effect),
        model.mean.estimate,
        numerator_variance=float(np.sum(direction**2) * model.error_ms),
        denominator_variance=float(np.sum(model.root[0] ** 2) * model.error_ms),
        covariance=float(np.sum(direction * model.root[0]) * model.error_ms),
        critical=critical,
    )
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return Interval(100 * ratio.estimate, 100 * ratio.low, 100 * ratio.high)

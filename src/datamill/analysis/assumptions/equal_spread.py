"""Whether observations spread as much everywhere: Brown–Forsythe (1974), and how unequal they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from datamill.analysis.assumptions.assumption_checks import CheckResult, CheckState
from datamill.analysis.assumptions.residuals import take_residuals
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.experiment.messages.numbers import format_figures, format_fixed, say_p

#: Below this many observations a cell's median is too close to its members for Brown–Forsythe.
_SMALLEST_CELL = 5
#: Standard deviations that differ by less than this factor do no harm to means in a balanced design.
_HARMLESS_RATIO = 1.5
#: Below this, p speaks against equal spread, even where alpha asks for more before it counts as detected.
_WEAK_EVIDENCE = 0.05


def check_spread(
    cells: Cells, model: LinearModel, residuals: FloatArray, rows: IntArray
) -> CheckResult | None:
    """Compare the spread of residuals (standardised, of the observations `rows`); None where too few.

    Cells are compared if each has 5 observations or more, as they came; with fewer, residuals are
    grouped by the levels of one factor at a time and p is adjusted by Holm over factors. Evidence that
    falls short of alpha is "unknown": a large p does not show that the spread is equal. So is a ratio of
    standard deviations that the test does not detect and chance would not make of equal normal errors.
    """
    alpha = model.alpha
    raw, _ = take_residuals(cells, model, rows)
    free = model.error_df / cells.n
    found = _compare_cells(cells, model, raw, rows) or _compare_levels(cells, residuals, rows, free)
    if found is None:
        return None
    method, statistic, p, ratio, chance, says = found
    state: CheckState = "held"
    if p < alpha:
        state = "harmless" if ratio < _HARMLESS_RATIO else "failed"
    elif ratio >= _HARMLESS_RATIO and min(p, chance) < _WEAK_EVIDENCE:
        state = "unknown"
    if rows.size < cells.n:
        method += f", {rows.size} of {cells.n} taken at random"
    words, advice = f"no difference in spread was detected ({says})", ""
    if state == "held" and ratio >= _HARMLESS_RATIO:
        words = f"no difference in spread was detected ({says}, which may be chance)"
    elif state == "unknown" and p >= _WEAK_EVIDENCE:
        words = (
            f"whether the spread is the same everywhere is not clear ({says}): no difference was detected "
            f"({say_p(p)}), but errors that are equal in spread and normal would not look so unlike; a few "
            "extreme observations may"
        )
        advice = "Add replicates to find out; intervals of comparisons allow for unequal spread."
    elif state == "unknown":
        words = f"the spread looks unequal ({says}; {say_p(p)}), but that is too little evidence to be sure"
        advice = "Add replicates to find out; intervals of comparisons allow for unequal spread."
    elif state != "held":
        words = f"the spread is not the same everywhere ({says}; {say_p(p)})"
        words += (
            ", though not by much"
            if state == "harmless"
            else ": intervals and p-values of the analysis of variance average over it; those of comparisons "
            "do not"
        )
    if state == "failed":
        advice = "If the spread grows with the size of the response, analyse its logarithm."
    measure = "ratio of standard deviations"
    finite = ratio if np.isfinite(ratio) else None
    return CheckResult("equal variances", method, statistic, p, state, finite, measure, words, advice)


_Found = tuple[str, float | None, float, float, float, str]


def _compare_cells(cells: Cells, model: LinearModel, residuals: FloatArray, rows: IntArray) -> _Found | None:
    if cells.counts.size < 2 or np.any(cells.counts < _SMALLEST_CELL):
        return None
    groups = _split(residuals, cells.of_row[rows], cells.counts.size)
    if min(group.size for group in groups) < _SMALLEST_CELL:
        return None
    statistic, p = _compare_groups(groups)
    if model.by_row:
        # Within a cell the response also varies by the covariates: what is compared are residuals.
        deviations = np.array([float(np.std(group, ddof=1)) for group in groups])
        sizes = np.array([group.size for group in groups])
        freedom = np.minimum(sizes - 1.0, model.error_df / cells.n * sizes)
    else:
        deviations = np.sqrt(cells.within_ss / (cells.counts - 1))
        freedom = cells.counts - 1.0
    ends = (int(np.argmin(deviations)), int(np.argmax(deviations)))
    names = [
        " ".join(factor.levels[code] for factor, code in zip(cells.factors, cells.codes[at], strict=True))
        for at in ends
    ]
    low, high = (float(deviations[at]) for at in ends)
    method = f"Brown-Forsythe over {len(groups)} cells"
    chance = _judge_ratio(low, high, [float(freedom[at]) for at in ends], len(groups))
    return method, statistic, p, _divide(high, low), chance, _compare_deviations(low, high, names)


def _compare_levels(cells: Cells, residuals: FloatArray, rows: IntArray, free: float) -> _Found | None:
    """The factor with the least p; `free` are the degrees of freedom that a residual has left."""
    results = []
    for index, factor in enumerate(cells.factors):
        groups = _split(residuals, cells.codes[cells.of_row[rows], index], len(factor.levels))
        if min(group.size for group in groups) >= _SMALLEST_CELL:
            statistic, p = _compare_groups(groups)
            results.append((p, statistic, factor, groups))
    if not results:
        return None
    adjusted = adjust_holm([result[0] for result in results])
    best = min(range(len(results)), key=lambda i: results[i][0])
    _, statistic, factor, groups = results[best]
    deviations = [float(np.std(group, ddof=1)) for group in groups]
    ends = (int(np.argmin(deviations)), int(np.argmax(deviations)))
    names = [f"{factor.name} {factor.levels[at]}" for at in ends]
    low, high = (deviations[at] for at in ends)
    method = f"Brown-Forsythe on residuals by the levels of each factor, Holm over {len(results)} factors"
    p_adjusted = adjusted[best]
    return (
        method,
        statistic,
        1.0 if p_adjusted is None else p_adjusted,
        _divide(high, low),
        min(
            1.0, len(results) * _judge_ratio(low, high, [free * groups[at].size for at in ends], len(groups))
        ),
        _compare_deviations(low, high, names),
    )


def _compare_groups(groups: list[FloatArray]) -> tuple[float | None, float]:
    deviations = [np.abs(group - np.median(group)) for group in groups]
    n = sum(group.size for group in groups)
    grand = sum(float(group.sum()) for group in deviations) / n
    between = sum(group.size * (float(group.mean()) - grand) ** 2 for group in deviations)
    within = sum(float(np.sum((group - group.mean()) ** 2)) for group in deviations)
    # What rounding alone can make of equal deviations is nothing.
    nothing = n * (1e-14 * max(float(group.max()) for group in deviations)) ** 2
    if within <= nothing:
        return (0.0, 1.0) if between <= nothing else (None, 0.0)
    df_between, df_within = len(groups) - 1, n - len(groups)
    f = (between / df_between) / (within / df_within)
    return f, float(fdtrc(df_between, df_within, f))


def _split(values: FloatArray, groups: NDArray[np.integer[Any]], count: int) -> list[FloatArray]:
    # Numbers of 16 bits are sorted in one pass.
    keys = groups.astype(np.uint16) if count <= 1 << 16 else groups
    order = np.argsort(keys, kind="stable")
    borders = np.cumsum(np.bincount(keys, minlength=count))[:-1]
    return [np.asarray(part) for part in np.split(values[order], borders)]


def _divide(high: float, low: float) -> float:
    return high / low if low > 0 else np.inf


def _judge_ratio(low: float, high: float, df: Sequence[float], groups: int) -> float:
    """Probability, or a bound of it, that chance makes such a ratio of equal spread and normal errors.

    Of the largest to the smallest of so many standard deviations, with `df` degrees of freedom (those of
    the smallest first): F, by Bonferroni over all pairs.
    """
    if low <= 0:
        return 0.0
    tail = float(fdtrc(df[1], df[0], (high / low) ** 2))
    return min(1.0, groups * (groups - 1) * tail)


def _compare_deviations(low: float, high: float, names: list[str]) -> str:
    if low <= 0:
        return f"none at {names[0]}, largest at {names[1]}"
    ratio = high / low
    shown = format_figures(ratio, 2) if ratio < 99.5 else format_fixed(ratio, 0)
    return f"standard deviation {shown} times as large at {names[1]} as at {names[0]}"

"""First checks of the linear model's assumptions: equal variances and normal errors."""

from __future__ import annotations

import warnings as python_warnings

import numpy as np
from scipy import stats

from datamill.analysis.cells import Cells, FloatArray, IntArray
from datamill.analysis.influence import adjust_holm
from datamill.analysis.records import AssumptionChecks, CheckResult, LinearModel

#: Below this many observations a cell's median is too close to its members for Brown–Forsythe.
_SMALLEST_CELL = 5
#: Shapiro–Wilk's p-value is an approximation fitted up to here.
_LARGEST_SHAPIRO = 5000
#: Fewer residuals than this say nothing about a distribution.
_FEWEST_RESIDUALS = 8


def check_assumptions(cells: Cells, model: LinearModel) -> AssumptionChecks:
    """Check equal variances (Brown–Forsythe 1974) and normality of the residuals.

    Variances are compared between cells if each has 5 observations or more; with fewer, residuals
    are grouped by the levels of one factor at a time and p is adjusted by Holm over factors.
    Residuals are divided by √(1 − leverage); normality is tested by Shapiro–Wilk up to 5000 of
    them and by D'Agostino–Pearson beyond. A check is violated when p < alpha of the model.
    """
    residuals, keep = _standardise_residuals(cells, model)
    checks: list[CheckResult] = []
    warnings: list[str] = []
    if model.error_ms == 0 or residuals.size < _FEWEST_RESIDUALS:
        reason = "there is no error" if model.error_ms == 0 else f"{residuals.size} residuals are too few"
        warnings.append(f"equal variances and normality were not checked: {reason}")
        return AssumptionChecks((), cells.n, model.alpha, "none", tuple(warnings))
    spread = _check_spread(cells, residuals, keep)
    if spread is not None:
        checks.append(spread[0])
        if spread[0].p < model.alpha:
            warnings.append(
                f"the spread is not the same everywhere ({spread[1]}; p {_say(spread[0].p)}): intervals and "
                "p-values of the analysis of variance average over it; those of comparisons do not"
            )
    normal = _check_normality(residuals)
    checks.append(normal)
    if normal.p < model.alpha:
        warnings.append(
            f"the residuals are not normally distributed (p {_say(normal.p)}): means of many trials are "
            "still sound, p-values near alpha are not, and a mean may not be what a user notices"
        )
    method = "; ".join(f"{check.assumption}: {check.method}" for check in checks)
    return AssumptionChecks(tuple(checks), cells.n, model.alpha, method, tuple(warnings))


def _say(p: float) -> str:
    return f"= {p:.2g}" if p >= 1e-300 else "< 1e-300"


def _standardise_residuals(cells: Cells, model: LinearModel) -> tuple[FloatArray, IntArray]:
    freedom = 1.0 - model.leverage
    keep = np.flatnonzero(freedom[cells.of_row] > 1e-9)
    rows = cells.of_row[keep]
    return (cells.values[keep] - model.fitted[rows]) / np.sqrt(freedom[rows]), keep


def _check_spread(cells: Cells, residuals: FloatArray, keep: IntArray) -> tuple[CheckResult, str] | None:
    if np.all(cells.counts >= _SMALLEST_CELL):
        groups = _split(cells.values, cells.of_row.astype(np.int64))
        statistic, p = _compare_spread(groups)
        method = f"Brown-Forsythe over {len(groups)} cells"
        return CheckResult("equal variances", method, statistic, p), _name_spread(cells, groups)
    results = []
    for index, factor in enumerate(cells.factors):
        codes = cells.codes[cells.of_row[keep], index]
        groups = _split(residuals, codes)
        if len(groups) == len(factor.levels) and min(group.size for group in groups) >= _SMALLEST_CELL:
            statistic, p = _compare_spread(groups)
            results.append((p, statistic, index, groups))
    if not results:
        return None
    adjusted = adjust_holm([result[0] for result in results])
    best = min(range(len(results)), key=lambda i: results[i][0])
    _, statistic, index, groups = results[best]
    factor = cells.factors[index]
    deviations = [float(np.std(group, ddof=1)) for group in groups]
    low, high = int(np.argmin(deviations)), int(np.argmax(deviations))
    names = (f"{factor.name} {factor.levels[low]}", f"{factor.name} {factor.levels[high]}")
    says = _compare_deviations(deviations[low], deviations[high], names)
    method = f"Brown-Forsythe on residuals by the levels of each factor, Holm over {len(results)} factors"
    p_adjusted = adjusted[best]
    return CheckResult("equal variances", method, statistic, 1.0 if p_adjusted is None else p_adjusted), says


def _compare_spread(groups: list[FloatArray]) -> tuple[float | None, float]:
    deviations = [np.abs(group - np.median(group)) for group in groups]
    n = sum(group.size for group in groups)
    grand = sum(float(group.sum()) for group in deviations) / n
    between = sum(group.size * (float(group.mean()) - grand) ** 2 for group in deviations)
    within = sum(float(np.sum((group - group.mean()) ** 2)) for group in deviations)
    if within <= 0:
        return (0.0, 1.0) if between <= 0 else (None, 0.0)
    df_between, df_within = len(groups) - 1, n - len(groups)
    f = (between / df_between) / (within / df_within)
    return f, float(stats.f.sf(f, df_between, df_within))


def _check_normality(residuals: FloatArray) -> CheckResult:
    scaled = residuals / np.sqrt(np.mean(residuals**2))
    if scaled.size <= _LARGEST_SHAPIRO:
        result, method = stats.shapiro(scaled), "Shapiro-Wilk on residuals"
    else:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            result, method = stats.normaltest(scaled), "D'Agostino-Pearson on residuals"
    return CheckResult("normal errors", method, float(result.statistic), float(result.pvalue))


def _split(values: FloatArray, groups: IntArray) -> list[FloatArray]:
    order = np.argsort(groups, kind="stable")
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    return [np.asarray(part) for part in np.split(values[order], borders)]


def _name_spread(cells: Cells, groups: list[FloatArray]) -> str:
    deviations = [float(np.std(group, ddof=1)) for group in groups]
    low, high = int(np.argmin(deviations)), int(np.argmax(deviations))
    names = [
        " ".join(factor.levels[code] for factor, code in zip(cells.factors, cells.codes[at], strict=True))
        for at in (low, high)
    ]
    return _compare_deviations(deviations[low], deviations[high], (names[0], names[1]))


def _compare_deviations(low: float, high: float, names: tuple[str, str]) -> str:
    if low <= 0:
        return f"none at {names[0]}, largest at {names[1]}"
    return f"standard deviation {high / low:.2g} times as large at {names[1]} as at {names[0]}"

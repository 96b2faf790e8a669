"""Checks of a linear model's assumptions, and which result to trust in their light."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks, CheckResult, ErrorShape, Trust
from datamill.analysis.assumptions.equal_spread import check_spread
from datamill.analysis.assumptions.fit_check import COMPLETE, check_fit
from datamill.analysis.assumptions.independence import check_independence, sort_by_time
from datamill.analysis.assumptions.influential import find_most_influential
from datamill.analysis.assumptions.normality import BENT, check_normality, correlate_with_normal
from datamill.analysis.assumptions.residuals import (
    choose_rows,
    describe_moments,
    standardise_residuals,
    sum_up_residuals,
)
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.analysis.model_data.observations import Covariate
from datamill.experiment.messages.arguments import argument, tell

#: Fewer residuals than this say nothing about a distribution.
_FEWEST_RESIDUALS = 8
#: So many observations have a 95% interval of their median whatever their distribution.
_FEWEST_FOR_MEDIAN = 6


def check_assumptions(
    cells: Cells,
    model: LinearModel,
    *,
    covariates: Sequence[Covariate] = (),
    when: FloatArray | None = None,
    in_cells: float | None = None,
) -> AssumptionChecks:
    """Check fit, equal spread, normality and independence of the errors, and the influence of observations.

    `covariates` are the model's and `when` (n) says when the observations came; without it the rows
    are taken as they stand. A check fails when p < alpha of the model and the departure is large
    enough to matter; see `check_fit`, `check_spread`, `check_normality` and `check_independence`. Beyond
    250 000 observations, spread and normality are tested on so many of them. `in_cells` are the observations
    of the smallest design point, where the cells tell blocks apart as well.
    """
    rows = choose_rows(cells.n)
    residuals, kept = standardise_residuals(cells, model, rows)
    if model.error_ms == 0 or residuals.size < _FEWEST_RESIDUALS:
        reason = "there is no error" if model.error_ms == 0 else f"{residuals.size} residuals are too few"
        warning = f"equal variances and normality were not checked: {reason}"
        return AssumptionChecks((), cells.n, model.alpha, "none", (warning,))
    ordered = np.sort(residuals)
    sequence = sort_by_time(when)
    sums = sum_up_residuals(cells, model, sequence)
    shape = ErrorShape(*describe_moments(sums, cells.n), correlate_with_normal(ordered))
    spread = check_spread(cells, model, residuals, kept)
    lack = check_fit(model)
    checks = [
        *([] if lack is None else [lack]),
        *([] if spread is None else [spread]),
        check_normality(ordered, shape, _count_fewest(cells), cells.n, model.alpha),
        *check_independence(
            cells, model, covariates, sums, sequence, known=when is not None, alpha=model.alpha
        ),
    ]
    influential = find_most_influential(cells, model)
    # Of its lack of fit the model warns itself.
    amiss = [check for check in checks if check.state in ("failed", "harmless")]
    warnings = [_join_sentences(check) for check in amiss if check.assumption != COMPLETE]
    if influential is not None and influential.influential:
        warnings.append(influential.words)
    trust, advice = _choose_result(
        checks, shape, _count_in_cells(cells, model) if in_cells is None else in_cells
    )
    method = "; ".join(f"{check.assumption}: {check.method}" for check in checks)
    return AssumptionChecks(
        tuple(checks),
        cells.n,
        model.alpha,
        method,
        tuple(warnings),
        shape,
        influential,
        trust,
        advice,
    )


def _join_sentences(check: CheckResult) -> str:
    return f"{check.words}. {check.advice}".strip().rstrip(".") if check.advice else check.words


def _count_in_cells(cells: Cells, model: LinearModel) -> float:
    """Observations in the smallest cell; with covariates, to each coefficient."""
    return cells.n / (cells.n - model.error_df) if model.by_row else float(np.min(cells.counts))


def _count_fewest(cells: Cells) -> int:
    """Observations behind the mean with the fewest of them, over the levels of all factors."""
    fewest = cells.n
    for index, factor in enumerate(cells.factors):
        sizes = np.bincount(cells.codes[:, index], weights=cells.counts, minlength=len(factor.levels))
        fewest = min(fewest, int(np.min(sizes[sizes > 0])))
    return fewest


def _choose_result(checks: Sequence[CheckResult], shape: ErrorShape, in_cells: float) -> tuple[Trust, str]:
    if any(check.assumption == COMPLETE and check.state == "failed" for check in checks):
        return "neither", tell(
            "The model leaves out something that is there: add interactions or terms first (a larger "
            f"{argument('order')}, or {argument('formula')}). Until then its effects, those on "
            "quantiles too, "
            "are averages over what it leaves out."
        )
    about_shape = [check for check in checks if not check.assumption.startswith("independent")]
    failed = any(check.state == "failed" for check in about_shape)
    if failed and in_cells < _FEWEST_FOR_MEDIAN:
        return "neither", (
            "The linear model's assumptions do not hold, and there are too few observations for quantile "
            "regression: add replicates. Until then take both results as hints."
        )
    if failed:
        return "quantiles", (
            "The linear model's assumptions do not hold: trust the quantile regression. It asks how the "
            "median, or the slowest tenth, changes, and needs neither equal spread nor normal errors."
        )
    bent = shape.normal_correlation < BENT and any(check.state == "harmless" for check in about_shape)
    if bent:
        return "both", (
            "Both results are sound and answer different questions: the mean is for totals, such as the time "
            "that all trials take together; the quantile regression is for the usual trial (the median) and "
            "for slow ones."
        )
    if any(check.assumption == "equal variances" and check.state == "unknown" for check in checks):
        return "means", (
            "No assumption of the linear model is shown to fail, but the spread looks unequal: trust its "
            "means, and its intervals only roughly."
        )
    if any(check.state == "failed" for check in checks):
        return "means", (
            "Trust the means. What went on meanwhile left its mark on the run order: in a random order the "
            "intervals hold, and are wider than they need to be; in any other, trust neither."
        )
    return "means", "Nothing speaks against the linear model: trust its means and intervals."

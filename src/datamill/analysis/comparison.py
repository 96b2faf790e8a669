"""Packages compared on one response, over the same design points."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as t_distribution

from datamill.analysis.cells import Cells, FloatArray, IntArray
from datamill.analysis.contrast import (
    CellErrors,
    Contrast,
    PooledError,
    bound_contrast,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.fieller import bound_ratio
from datamill.analysis.records import Comparison, PackageMean, PairComparison, Ratio
from datamill.experiment.errors import InputError
from datamill.experiment.records import Direction


def compare_packages(
    cells: Cells,
    *,
    factor: int,
    baseline: str,
    direction: Direction,
    confidence: float = 0.95,
    alpha: float = 0.01,
    fallback: tuple[PooledError, ...] = (),
) -> Comparison:
    """Compare each package with the baseline by their means over common design points.

    `factor` is the index of the package among the cells' factors. Design points (combinations of
    all other factors) weigh the same; those that some package lacks are left out with a warning.
    Variances are each cell's own (Welch–Satterthwaite); where a cell has one observation only,
    `fallback`, the error of a model of each package in the order of levels, serves instead, with
    a warning. With m > 1 comparisons intervals and
    p-values are adjusted by Bonferroni, so that interval and verdict never contradict each other.

    Raises:
        InputError: fewer than two packages, an unknown baseline, no common design point, or
            no replicates and no `fallback`.
    """
    packages = cells.factors[factor].levels
    if len(packages) < 2 or baseline not in packages:
        raise InputError(
            f'"{baseline}" is not one of several packages to compare',
            remedy=f"The packages are: {', '.join(packages)}.",
        )
    points, possible = _find_common_points(cells, factor)
    total = int(max(possible, 1))
    common = len(points)
    if common == 0:
        raise InputError(
            "no design point was measured for all packages",
            remedy="Continue the experiment until the packages share design points.",
        )
    warnings = []
    if common < total:
        warnings.append(
            f"{total - common} of {total} design points lack observations of some package; "
            f"the comparison is over the {common} that all packages have"
        )
    weights = {name: _weigh_package(cells, factor, code, points) for code, name in enumerate(packages)}
    errors, pooled = use_own_errors(cells), False
    if not all(has_replicates(cells, weight) for weight in weights.values()):
        if not fallback:
            raise InputError(
                "some design points have one observation only, and no model gives the error",
                remedy="Add replicates.",
            )
        errors, pooled = use_pooled_errors(cells.codes[:, factor], fallback), True
        warnings.append(
            "some design points have one observation only: each package's variance is the error of a "
            "model of it, which takes the interactions that it leaves out for noise"
        )

    means = []
    for code, name in enumerate(packages):
        contrast = estimate_contrast(cells, weights[name], errors)
        count = int(cells.counts[(cells.codes[:, factor] == code) & (weights[name] != 0)].sum())
        means.append(PackageMean(name, count, bound_contrast(contrast, confidence), contrast.df))
    others = [name for name in packages if name != baseline]
    pairs = tuple(
        _compare_pair(
            cells,
            (name, weights[name]),
            (baseline, weights[baseline]),
            direction=direction,
            confidence=confidence,
            alpha=alpha,
            comparisons=len(others),
            errors=errors,
        )
        for name in others
    )
    if any(pair.p is None for pair in pairs):
        warnings.append(
            "observations at the same design point do not differ at all: differences are as measured, "
            "without any error to judge them by"
        )
    method = "means over design points of equal weight; " + (
        "error of each package's own model"
        if pooled
        else "variance of each design point (Welch-Satterthwaite)"
    )
    method += "; ratio by Fieller's theorem"
    if len(others) > 1:
        method += f"; Bonferroni over {len(others)} comparisons"
    return Comparison(
        means=tuple(means),
        pairs=pairs,
        n=sum(mean.n for mean in means),
        confidence=confidence,
        alpha=alpha,
        method=method,
        warnings=tuple(warnings),
    )


def _find_common_points(cells: Cells, factor: int) -> tuple[IntArray, int]:
    """Combinations of the other factors that every package has (m × f−1), and how many there could be."""
    others = np.delete(cells.codes, factor, axis=1)
    possible = cells.possible // len(cells.factors[factor].levels)
    if others.shape[1] == 0:
        complete = cells.counts.size == len(cells.factors[factor].levels)
        return np.zeros((1 if complete else 0, 0), dtype=np.int64), possible
    points, counts = np.unique(others, axis=0, return_counts=True)
    return points[counts == len(cells.factors[factor].levels)].astype(np.int64), possible


def _weigh_package(cells: Cells, factor: int, code: int, points: IntArray) -> FloatArray:
    chosen = {point.tobytes() for point in np.ascontiguousarray(points)}
    others = np.ascontiguousarray(np.delete(cells.codes, factor, axis=1))
    member = np.array([point.tobytes() in chosen for point in others])
    return np.where(member & (cells.codes[:, factor] == code), 1.0 / len(points), 0.0)


def _compare_pair(
    cells: Cells,
    package: tuple[str, FloatArray],
    baseline: tuple[str, FloatArray],
    *,
    direction: Direction,
    confidence: float,
    alpha: float,
    comparisons: int,
    errors: CellErrors,
) -> PairComparison:
    difference = estimate_contrast(cells, package[1] - baseline[1], errors)
    level = 1 - (1 - confidence) / comparisons
    if difference.variance == 0 and abs(difference.estimate) <= math.sqrt(cells.rounding_ss / cells.n):
        difference = Contrast(0.0, 0.0, difference.df)
    p: float | None = None
    if difference.variance > 0:
        t = abs(difference.estimate) / math.sqrt(difference.variance)
        p = min(1.0, comparisons * 2 * float(t_distribution.sf(t, difference.df)))
    different = difference.estimate != 0 if p is None else p < alpha
    good = (difference.estimate > 0) == (direction == "higher")
    verdict = ("better" if good else "worse") if different else "uncertain"
    return PairComparison(
        package=package[0],
        baseline=baseline[0],
        difference=bound_contrast(difference, level),
        df=difference.df,
        ratio=_divide_means(cells, package[1], baseline[1], level, errors),
        p=p,
        verdict=verdict,
        cells=int(np.sum(package[1] != 0)),
        higher_cells=_count_higher_cells(cells, package[1], baseline[1]),
        lower_cells=_count_higher_cells(cells, baseline[1], package[1]),
    )


def _divide_means(
    cells: Cells, package: FloatArray, baseline: FloatArray, level: float, errors: CellErrors
) -> Ratio | None:
    above = estimate_contrast(cells, package, errors)
    below = estimate_contrast(cells, baseline, errors)
    if above.estimate <= 0 or below.estimate <= 0:
        return None
    # The degrees of freedom are those of the test that the ratio is the one observed.
    estimate = above.estimate / below.estimate
    df = estimate_contrast(cells, package - estimate * baseline, errors).df
    return bound_ratio(
        above.estimate,
        below.estimate,
        numerator_variance=above.variance,
        denominator_variance=below.variance,
        critical=float(t_distribution.isf((1 - level) / 2, df)),
    )


def _count_higher_cells(cells: Cells, package: FloatArray, baseline: FloatArray) -> int:
    # Cells are sorted by code, so that the same design points of both packages come in the same order.
    return int(np.sum(cells.means[package != 0] > cells.means[baseline != 0]))

"""Packages compared on one response, over the same design points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from datamill.analysis.contrasts.contrast import (
    NO_VARIATION,
    CellErrors,
    Contrast,
    PooledError,
    WithinBlocks,
    bound_contrast,
    estimate_contrast,
    find_critical,
    has_replicates,
    judge_contrast,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.interval import Ratio
from datamill.analysis.levels.comparison import Comparison, PackageMean, PairComparison
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.experiment.messages.numbers import format_fixed, format_given


def compare_packages(
    cells: Cells,
    *,
    factor: int,
    baseline: str,
    direction: Direction,
    confidence: float = 0.95,
    alpha: float = 0.01,
    fallback: tuple[PooledError, ...] = (),
    blocks: WithinBlocks | None = None,
    planned: int = 0,
) -> Comparison:
    """Compare each package with the baseline by their means over common design points.

    `factor` is the index of the package among the cells' factors. Design points (combinations of
    all other factors) weigh the same; those that some package lacks are left out with a warning.
    Variances are each cell's own (Welch–Satterthwaite); where a cell has one observation only,
    `fallback`, the error of a model of each package in the order of levels, serves instead, with
    a warning. With `blocks` packages are compared within these. `planned` counts the design points of each
    package where they are not all combinations of levels. With m > 1 comparisons intervals and p-values are
    adjusted by Bonferroni. The verdict is by p < `alpha`, which may be stricter than the interval; difference
    and ratio agree on whether the packages may be equal.

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
    total = planned or int(max(possible, 1))
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
    errors, pooled = use_own_errors(cells, blocks), False
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
        if cells.builds is not None:
            warnings.append(
                "design points share builds, which that error takes for independent: it may be far too "
                "small; repeat the trials that were lost"
            )

    means = []
    for code, name in enumerate(packages):
        contrast = estimate_contrast(cells, weights[name], errors)
        count = int(cells.counts[(cells.codes[:, factor] == code) & (weights[name] != 0)].sum())
        means.append(PackageMean(name, count, bound_contrast(contrast, confidence), contrast.df))
    compare = partial(
        compare_means,
        cells,
        weights,
        errors=errors,
        direction=direction,
        confidence=confidence,
        alpha=alpha,
    )
    others = [name for name in packages if name != baseline]
    pairs = tuple(compare(name, baseline, comparisons=len(others)) for name in others)
    best: tuple[PairComparison, ...] = ()
    if len(packages) > 2:
        ranked = _rank_packages(means, direction)
        all_pairs = len(packages) * (len(packages) - 1) // 2
        best = tuple(compare(ranked[0], name, comparisons=all_pairs) for name in ranked[1:])
    if any(pair.p is None for pair in pairs):
        warnings.append(NO_VARIATION)
    if any(pair.verdict in ("better", "worse") for pair in (*pairs, *best)):
        rearrangements = _count_rearrangements(cells, weights, errors.blocks)
        if rearrangements < 2 / alpha:
            warnings.append(
                f"a verdict rests on so few trials ({format_fixed(rearrangements, 0)} ways to deal them "
                "to packages) that "
                "it takes normal errors for granted: if trials come in separate groups, such as fast and "
                f"slow ones, chance makes a winner more often than {format_given(alpha)}; add replicates"
            )
    spread = "variance of each design point (Welch-Satterthwaite)"
    if pooled:
        spread = "error of each package's own model"
    elif blocks is not None:
        spread = "differences within blocks (HC2 variance, Bell-McCaffrey degrees of freedom)"
    elif errors.shared is not None:
        spread = "variance between builds, each over all of its design points (Welch-Satterthwaite)"
    method = f"means over design points of equal weight; {spread}"
    method += "; ratio by Fieller's theorem"
    if best:
        method += (
            f"; Bonferroni over {len(others)} comparisons with the baseline, and over all {all_pairs} pairs "
            "for the best"
        )
    return Comparison(
        means=tuple(means),
        pairs=pairs,
        best=best,
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


def _count_rearrangements(
    cells: Cells, weights: Mapping[str, FloatArray], blocks: WithinBlocks | None
) -> float:
    """The fewest ways, over pairs of packages, to deal the trials of each design point and block to both."""
    sizes = cells.counts[:, None] if blocks is None else blocks.counts
    counts = [sizes[weight != 0].reshape(-1).tolist() for weight in weights.values()]
    # Cells are sorted by code: the design points of all packages come in the same order.
    fewest = min(
        sum(
            math.lgamma(one + other + 1) - math.lgamma(one + 1) - math.lgamma(other + 1)
            for one, other in zip(first, second, strict=True)
        )
        for first, second in combinations(counts, 2)
    )
    return math.exp(min(fewest, 700.0))


def _rank_packages(means: Sequence[PackageMean], direction: Direction) -> list[str]:
    sign = -1 if direction == "higher" else 1
    return [mean.package for mean in sorted(means, key=lambda mean: sign * mean.value.estimate)]


def compare_means(
    cells: Cells,
    weights: Mapping[str, FloatArray],
    package: str,
    baseline: str,
    *,
    comparisons: int,
    errors: CellErrors,
    direction: Direction,
    confidence: float,
    alpha: float,
) -> PairComparison:
    """Compare two means, each a weighted sum of cells (K) by its name in `weights`.

    Interval and p-value are adjusted for the number of `comparisons` (Bonferroni).
    """
    above, below = weights[package], weights[baseline]
    difference = estimate_contrast(cells, above - below, errors)
    level = 1 - (1 - confidence) / comparisons
    if difference.variance == 0 and abs(difference.estimate) <= math.sqrt(cells.rounding_ss / cells.n):
        difference = Contrast(0.0, 0.0, difference.df)
    p = judge_contrast(difference)
    if p is not None:
        p = min(1.0, comparisons * p)
    good = (difference.estimate > 0) == (direction == "higher")
    verdict: Literal["better", "worse", "uncertain", "as measured"] = "uncertain"
    if p is None:
        verdict = "as measured"
    elif p < alpha:
        verdict = "better" if good else "worse"
    return PairComparison(
        package=package,
        baseline=baseline,
        difference=bound_contrast(difference, level),
        df=difference.df,
        ratio=_divide_means(cells, above, below, errors, difference.df, level),
        p=p,
        verdict=verdict,
        cells=int(np.sum(above != 0)),
        higher_cells=_count_higher_cells(cells, above, below),
        lower_cells=_count_higher_cells(cells, below, above),
    )


def _divide_means(
    cells: Cells, package: FloatArray, baseline: FloatArray, errors: CellErrors, df: float, level: float
) -> Ratio | None:
    """Ratio of two means, with the degrees of freedom of their difference.

    With the same ones the interval holds the ratio 1 exactly when that of the difference holds 0.
    """
    above = estimate_contrast(cells, package, errors)
    below = estimate_contrast(cells, baseline, errors)
    if above.estimate <= 0 or below.estimate <= 0:
        return None
    variances, covariance = (above.variance, below.variance), 0.0
    if errors.blocks is not None:
        # All at the average of these blocks: what they share must not pass for a spread of the ratio.
        covary = errors.blocks.covary
        variances, covariance = (
            (covary(package, package), covary(baseline, baseline)),
            covary(package, baseline),
        )
    return bound_ratio(
        above.estimate,
        below.estimate,
        numerator_variance=variances[0],
        denominator_variance=variances[1],
        covariance=covariance,
        critical=find_critical(level, df),
    )


def _count_higher_cells(cells: Cells, package: FloatArray, baseline: FloatArray) -> int:
    # Cells are sorted by code, so that the same design points of both packages come in the same order.
    return int(np.sum(cells.means[package != 0] > cells.means[baseline != 0]))

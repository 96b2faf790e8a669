"""Mean squares of builds, executions and measurements, and which variances each of them estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.nested_data.execution_means import ExecutionMeans
from datamill.analysis.random_effects.variance_estimate import Level


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """A mean square with its degrees of freedom; `expects` has how much of each level's variance is in it."""

    level: Level
    value: float
    df: float
    expects: Mapping[Level, float]


@dataclass(frozen=True, slots=True)
class NestedSquares:
    """Mean squares of the levels that can be told apart, outermost first.

    `unknown` says why a level is absent. `builds`, `executions` and `measurements` are the effective l, m and
    n: harmonic means, such that a build mean has the variance σ²_V + σ²_B/m + σ²_E/(mn) on average.
    The outermost level has `top_count` units, whose unweighted mean `top_mean` is, as a deviation
    from the origin, and whose variance has `top_df` degrees of freedom (Satterthwaite's where the
    units differ in their variance).
    """

    squares: tuple[MeanSquare, ...]
    unknown: Mapping[Level, str]
    builds: int
    executions: float
    measurements: float
    top_count: int
    top_mean: float
    top_df: float


def compute_mean_squares(averaged: ExecutionMeans) -> NestedSquares:
    """Compute S²_V, S²_B and S²_E (EPEW 2006 equations 16, 15, 14) from unweighted means.

    S²_E is pooled over all executions, S²_B over all builds about the unweighted means of each, S²_V is about
    the unweighted mean of builds. A level with one unit in each unit of the level above has none: its
    variance is then part of the level above.
    """
    per_build = averaged.executions_of_builds
    inverse = 1.0 / averaged.counts
    inverse_sums = np.add.reduceat(inverse, averaged.builds[:-1])
    builds, executions, n = len(per_build), len(averaged.means), int(averaged.counts.sum())
    found: list[MeanSquare] = []
    unknown: dict[Level, str] = {}
    if builds > 1:
        between = averaged.build_means - averaged.build_means.mean()
        expects: dict[Level, float] = {
            "build": 1.0,
            "execution": float(np.mean(1 / per_build)),
            "measurement": float(np.mean(inverse_sums / per_build**2)),
        }
        found.append(MeanSquare("build", float(between @ between) / (builds - 1), builds - 1, expects))
    else:
        unknown["build"] = (
            "there is one build only: how much another build of the same sources would differ cannot be known"
        )
    df = executions - builds
    if df > 0:
        residuals = averaged.means - np.repeat(averaged.build_means, per_build)
        expects = {
            "execution": 1.0,
            "measurement": float(np.sum((1 - 1 / per_build) * inverse_sums)) / df,
        }
        found.append(MeanSquare("execution", float(residuals @ residuals) / df, df, expects))
    else:
        unknown["execution"] = (
            "there is one execution only: how much another would differ cannot be known"
            if builds == 1
            else "each build has one execution: what differs between executions counts as difference of "
            "builds"
        )
    df = n - executions
    if df > 0:
        value = float(averaged.within_ss.sum()) / df
        found.append(MeanSquare("measurement", value, df, {"measurement": 1.0}))
    else:
        above = "executions" if "execution" not in unknown else "builds"
        unknown["measurement"] = (
            "each execution has one measurement: what differs between measurements counts as difference of "
            f"{above}"
        )
    # What cannot be told apart from the level above is part of its variance.
    squares = tuple(
        MeanSquare(
            item.level,
            item.value,
            item.df,
            {level: part for level, part in item.expects.items() if level not in unknown},
        )
        for item in found
    )
    top_count, top_mean, top_df = _describe_top(averaged, squares, inverse_sums)
    return NestedSquares(
        squares=squares,
        unknown=unknown,
        builds=builds,
        executions=float(1 / np.mean(1 / per_build)),
        measurements=float(np.mean(1 / per_build) / np.mean(inverse_sums / per_build**2)),
        top_count=top_count,
        top_mean=top_mean,
        top_df=top_df,
    )


def solve_components(squares: Sequence[MeanSquare]) -> dict[Level, float]:
    """Variances of the levels without what chance of those below adds; negative where that is more than all.

    Equates each mean square to its expectation (Searle, Casella, McCulloch 1992, chapter 4): unbiased
    as long as nothing is cut off at 0.
    """
    solved: dict[Level, float] = {}
    for square in reversed(squares):
        below = sum(part * solved[level] for level, part in square.expects.items() if level != square.level)
        solved[square.level] = square.value - below
    return {square.level: solved[square.level] for square in squares}


def compute_paper_variance(found: NestedSquares) -> float:
    """Variance of the mean in EPEW 2006, equation 17: each mean square over the number of all its units.

    A level that was not repeated has no mean square: what it adds cannot be seen.
    """
    executions = found.builds * found.executions
    units: dict[Level, float] = {
        "build": found.builds,
        "execution": executions,
        "measurement": executions * found.measurements,
    }
    return sum(square.value / units[square.level] for square in found.squares)


def _describe_top(
    averaged: ExecutionMeans, squares: Sequence[MeanSquare], inverse_sums: FloatArray
) -> tuple[int, float, float]:
    """Number, mean and degrees of freedom of the outermost units that can be told apart."""
    if not squares or squares[0].level == "measurement":
        count = int(averaged.counts.sum())
        return count, float(averaged.means[0]), float(max(count - 1, 0))
    parts = {level: max(value, 0.0) for level, value in solve_components(squares).items()}
    per_build = averaged.executions_of_builds
    if squares[0].level == "build":
        means = averaged.build_means
        variances = (
            parts["build"]
            + parts.get("execution", 0.0) / per_build
            + parts.get("measurement", 0.0) * inverse_sums / per_build**2
        )
    else:
        means = averaged.means
        variances = parts["execution"] + parts.get("measurement", 0.0) / averaged.counts
    return len(means), float(means.mean()), _count_freedom(variances)


def _count_freedom(variances: FloatArray) -> float:
    """Satterthwaite's degrees of freedom of the variance of independent values with these variances.

    2 E²/Var of the quadratic form x'(I − J/l)x; l − 1 where all are equal.
    """
    count = len(variances)
    total = float(variances.sum())
    if total <= 0 or np.ptp(variances) <= 1e-12 * total:
        return float(count - 1)
    # Shares, not squares of variances, so that no unit makes this under- or overflow.
    shares = variances / total
    return (1 - 1 / count) ** 2 / (float(shares @ shares) * (1 - 2 / count) + 1 / count**2)

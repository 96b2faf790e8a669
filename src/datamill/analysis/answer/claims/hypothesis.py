"""Whether the hypothesis of an experiment holds, tested one-sided where it claims one side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from datamill.analysis.answer.response import analyze_response
from datamill.analysis.interval import Ratio
from datamill.analysis.levels.comparison import PairComparison
from datamill.design.design import Design
from datamill.experiment.experiment import Experiment, Response
from datamill.experiment.hypothesis import Hypothesis

#: What data say of a hypothesis: it is shown, its contrary is, or neither. As measured it holds or not where
#: like trials do not differ, so that there is no test.
HypothesisVerdict = Literal["supported", "refuted", "undecided", "as measured", "no data"]


@dataclass(frozen=True, slots=True)
class BoundTest:
    """One bound of a hypothesis: whether the ratio of means lies on the claimed side of `limit`.

    `p` is one-sided, that the ratio lies at the bound or beyond; None where nothing varies.
    """

    limit: float
    side: Literal["below", "above"]
    p: float | None


@dataclass(frozen=True, slots=True)
class JudgedHypothesis:
    """What the data say of a hypothesis.

    `ratio` is of the package's mean over the baseline's. Each of its ends is a bound by itself, which misses
    with probability `alpha`: of a one-sided claim one of them counts. `p` is the largest of the bounds' p,
    `refuting` the least p that one is not kept; None where nothing varies. `holds` says so of the estimate
    alone.
    """

    hypothesis: Hypothesis
    verdict: HypothesisVerdict
    ratio: Ratio | None
    tests: tuple[BoundTest, ...]
    p: float | None
    refuting: float | None
    holds: bool
    alpha: float
    n: int
    method: str
    warnings: tuple[str, ...]


def judge_hypothesis(experiment: Experiment, design: Design, table: pl.DataFrame) -> JudgedHypothesis | None:
    """Judge the hypothesis of an experiment by its tidy table; None where it has none.

    The claim that the ratio of two means lies below L is tested as that mean A - L × mean B lies below zero:
    the comparison of packages that the answer makes (means over common design points, Welch-Satterthwaite,
    within blocks where there are such), with the values of B taken L times, and of these two packages alone,
    one-sided at alpha. The bounds are those of Fieller's set at 1 - 2 alpha. A claim of two bounds is shown
    when both tests show theirs (Schuirmann 1987).
    """
    hypothesis = experiment.hypothesis
    if hypothesis is None:
        return None
    response = next(item for item in experiment.responses if item.name == hypothesis.response)
    two = (hypothesis.baseline, hypothesis.package)
    rows = table.filter((pl.col("response") == response.name) & pl.col("package").cast(pl.String).is_in(two))
    asked = replace(
        experiment,
        packages=tuple(item for item in experiment.packages if item.name in two),
        baseline=hypothesis.baseline,
        confidence=1 - 2 * experiment.alpha,
    )
    if rows.filter("valid")["package"].n_unique() < len(two):
        return _judge_nothing(hypothesis, experiment.alpha, "not both packages have valid data")
    pair, n, method, warnings = _compare(asked, design, rows, response)
    if pair is None:
        return _judge_nothing(hypothesis, experiment.alpha, *warnings)
    tests, beyond = [], []
    for limit, side in ((hypothesis.low, "above"), (hypothesis.high, "below")):
        if limit is None:
            continue
        scaled, _, _, _ = _compare(asked, design, _scale(rows, hypothesis.baseline, limit), response)
        p = None if scaled is None or scaled.p is None else _take_side(scaled, side)
        tests.append(BoundTest(limit, side, p))  # type: ignore[arg-type]
        beyond.append(None if p is None else 1 - p)
    known = [test.p for test in tests if test.p is not None]
    refuting = [p for p in beyond if p is not None]
    estimate = None if pair.ratio is None else pair.ratio.estimate
    holds = estimate is not None and all(
        estimate > test.limit if test.side == "above" else estimate < test.limit for test in tests
    )
    verdict: HypothesisVerdict = "undecided"
    if len(known) < len(tests):
        verdict = "as measured"
    elif max(known) < experiment.alpha:
        verdict = "supported"
    elif min(refuting) < experiment.alpha:
        verdict = "refuted"
    tested = len(known) == len(tests)
    return JudgedHypothesis(
        hypothesis=hypothesis,
        verdict=verdict,
        ratio=pair.ratio,
        tests=tuple(tests),
        p=max(known) if tested else None,
        refuting=min(refuting) if tested else None,
        holds=holds,
        alpha=experiment.alpha,
        n=n,
        method=f"{method}; "
        f"{'two one-sided tests' if hypothesis.two_sided else 'one-sided test'} of the ratio",
        warnings=warnings,
    )


def _compare(
    asked: Experiment, design: Design, rows: pl.DataFrame, response: Response
) -> tuple[PairComparison | None, int, str, tuple[str, ...]]:
    """Compare the two packages, with what limits the comparison."""
    comparison = analyze_response(asked, design, rows, response).comparison
    if comparison is None:
        return None, 0, "", ("the data do not allow a comparison yet",)
    return comparison.pairs[0], comparison.n, comparison.method, comparison.warnings


def _scale(rows: pl.DataFrame, package: str, factor: float) -> pl.DataFrame:
    own = pl.col("package").cast(pl.String) == package
    return rows.with_columns(value=pl.when(own).then(factor * pl.col("value")).otherwise(pl.col("value")))


def _take_side(pair: PairComparison, side: str) -> float:
    """The one-sided p that the difference lies at zero or beyond, from the two-sided one."""
    assert pair.p is not None
    claimed = pair.difference.estimate > 0 if side == "above" else pair.difference.estimate < 0
    return pair.p / 2 if claimed else 1 - pair.p / 2


def _judge_nothing(hypothesis: Hypothesis, alpha: float, *warnings: str) -> JudgedHypothesis:
    return JudgedHypothesis(
        hypothesis, "no data", None, (), None, None, holds=False, alpha=alpha, n=0, method="none",
        warnings=warnings,
    )  # fmt: skip

"""Versions compared under the random-effects model, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.interval import Interval, Ratio
from datamill.analysis.random_effects.variance_estimate import Level
from datamill.experiment.experiment import Direction

#: What is said of two versions; "unchanged" is within the threshold, "cannot tell" is not yet.
VersionVerdict = Literal["changed", "unchanged", "cannot tell"]
#: How several comparisons are accounted for.
VersionAdjustment = Literal["bonferroni", "holm", "none"]


@dataclass(frozen=True, slots=True)
class VersionMean:
    """The mean of one version over its independent units.

    The units are the outermost level that was repeated: `units` of `level`, each the mean of its parts.
    `value` has Student's interval with `df`, `paper` that of EPEW 2006 equation 17; both are of the
    confidence of the comparison, not adjusted. `variance` is that of the mean, and `spread` the standard
    deviation of a unit, in the response's unit. `executions` and `measurements` are those of a build and of
    an execution on average, `n` counts all measurements. `skewness` is G1 of the units where it
    is too much for Student's interval of so many, else 0.
    """

    version: str
    level: Level
    units: int
    builds: int
    executions: float
    measurements: float
    n: int
    value: Interval
    paper: Interval
    df: float
    variance: float
    spread: float
    skewness: float = 0.0


@dataclass(frozen=True, slots=True)
class CostToTell:
    """What it takes until an interval is narrower than the threshold, which leaves no room for doubt.

    `builds` of each version in all, None where no reasonable number is enough or nothing is known of
    builds; `reason` says which. `seconds` is the machine's time for those that are missing, None where costs
    are unknown.
    """

    builds: int | None
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One version against another, the baseline.

    `difference` and `ratio` are version minus, and over, baseline, at the confidence that makes all pairs
    hold together; the ratio's set excludes 1 exactly where the difference's excludes 0. `p` is adjusted
    and None where nothing varies. `within` says that the whole interval of the ratio lies within the
    threshold, `beyond` that all of it lies outside, and `detected` that the means differ.
    `common_builds` counts builds that both were measured in, whose own deviations cancel.
    `paper_detects` is the paper's rule: the two intervals of equation 17 do not overlap.
    """

    version: str
    baseline: str
    difference: Interval
    ratio: Ratio | None
    df: float
    confidence: float
    p: float | None
    detected: bool
    within: bool
    beyond: bool
    paper_detects: bool
    verdict: VersionVerdict
    cost: CostToTell | None
    common_builds: int = 0

    @property
    def percent(self) -> Interval | None:
        """Change in percent of the baseline with its interval; None where the ratio is unbounded."""
        if self.ratio is None or self.ratio.low is None or self.ratio.high is None:
            return None
        return Interval(
            *(100 * (value - 1) for value in (self.ratio.estimate, self.ratio.low, self.ratio.high))
        )


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Versions compared on one response, in their order.

    With `consecutive` each is compared with the one before, else all with one baseline.
    `threshold` is the relative change that is too small to matter. `direction` is which way is better, None
    where nobody said.
    """

    response: str
    unit: str
    direction: Direction | None
    means: tuple[VersionMean, ...]
    changes: tuple[VersionChange, ...]
    consecutive: bool
    threshold: float
    confidence: float
    adjustment: VersionAdjustment
    n: int
    method: str
    warnings: tuple[str, ...]

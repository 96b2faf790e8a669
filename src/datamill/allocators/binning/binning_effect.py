"""What a table of calls says of the binning effect, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from datamill.analysis.distribution.windows import WindowAnalysis
from datamill.analysis.groups.group_comparison import GroupTest
from datamill.analysis.interval import Interval
from datamill.analysis.linear.mean_lines import MeanLines
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.quantile_model import QuantileModel

#: How much of the slowest calls binning accounts for.
Explanation = Literal["most", "some", "none"]


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Latencies of the fast calls, or of the binned ones, in the unit of the table."""

    name: str
    n: int
    mean: float
    median: float
    deviation: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class SlowCalls:
    """The slowest calls, as many as there are binned ones: those of `threshold` and above.

    `share` is the part of them that is binned (exact interval of a binomial share at the confidence of the
    whole), `usual_share` that of all calls. `n` counts them, ties included.
    """

    threshold: float
    n: int
    binned: int
    share: Interval
    usual_share: float


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """Estimated density of the logarithm (base 10) of latency of one group, where it is drawn (m each).

    `left_out` counts calls of zero latency, which have no logarithm; `bandwidth` is in decades.
    """

    name: str
    at: FloatArray
    density: FloatArray
    bandwidth: float
    n: int
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class BinnedCalls:
    """The calls themselves, in the order of their index (n each)."""

    index: FloatArray
    latency: FloatArray
    binned: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class BinningEffect:
    """The effect of binning on latency (thesis 2019, section 2.2.1).

    Args:
        observations: response, unit, and what of the table was left out.
        calls: the calls.
        fast: calls that were not binned.
        binned: calls that were.
        means: the difference of means of binned and fast calls, by Games and Howell.
        ranks: Mann-Whitney's test; its statistic U counts pairs in which the binned call takes longer.
        w: pairs in which the fast call takes longer, ties counted half: R's `wilcox.test(latency ~ binned)`.
        slow: the slowest calls, and how many of them are binned.
        windows: variability and skewness of consecutive calls against the number of binned ones.
        quantiles: Q(tau) = b0 + b1 binned + b2 index (equation 2.2); `changes` of its fits are these.
        mean: the same by least squares.
        densities: of fast and of binned calls.
        confidence: level of all intervals.
        warnings: what limits the answer, beside the parts' own warnings.
        mark: the column that says which calls were binned.
    """

    observations: Observations
    calls: BinnedCalls
    fast: CallGroup
    binned: CallGroup
    means: GroupTest
    ranks: GroupTest
    w: float
    slow: SlowCalls
    windows: WindowAnalysis
    quantiles: QuantileModel
    mean: MeanLines | None
    densities: tuple[Density, ...]
    confidence: float
    warnings: tuple[str, ...]
    mark: str = "binned"

    @property
    def is_slower(self) -> bool:
        """Whether the mean of binned calls was found to be above that of fast ones."""
        p = self.means.p
        return p is not None and p < 1 - self.confidence and self.means.estimates[0].value.estimate > 0

    @property
    def explains(self) -> Explanation:
        """How much of the slowest calls binning accounts for: most where half of them are binned at least."""
        is_more = self.slow.share.low > self.slow.usual_share
        if not is_more or (self.ranks.p is not None and self.ranks.p >= 1 - self.confidence):
            return "none"
        return "most" if self.slow.share.estimate >= 0.5 else "some"

"""A series of versions: where its mean changes, by how much, and which versions only stand out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import polygamma, psi

from datamill.analysis.contrasts.contrast import find_critical
from datamill.analysis.contrasts.fieller import bound_ratio
from datamill.analysis.contrasts.satterthwaite import combine_freedom
from datamill.analysis.interval import Interval, Ratio
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.versions.segmentation import cut_series, find_needed_penalty
from datamill.analysis.versions.version_comparison import VersionMean
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given

#: Series without a change that are drawn to find how much a change must explain: most and fewest, and how
#: many pairs of versions all of them may have together.
_MOST_DRAWS, _FEWEST_DRAWS, _DRAWN_PAIRS = 1999, 399, 40_000_000
#: Fewer versions than this have no place for a change among them.
_FEWEST = 3
_MOST = 1000
#: Numbers that one step of the search over drawn series holds at most.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Segment:
    """Versions in a row, from index `first` up to `last`, whose mean is taken not to change.

    `alone` are indices of versions among them that stand out by themselves and count for nothing here.
    """

    first: int
    last: int
    alone: tuple[int, ...]
    mean: Interval
    df: float


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of the mean with the version at index `at`, against the segment before it."""

    at: int
    version: str
    difference: Interval
    ratio: Ratio | None


@dataclass(frozen=True, slots=True)
class LoneVersion:
    """A version that differs while its neighbours on both sides are alike."""

    at: int
    version: str
    difference: Interval
    ratio: Ratio | None


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """A series of versions cut where its mean changes.

    `penalty` is how much of the weighted sum of squares a change must explain, calibrated so that a
    series without change is cut with probability `alpha`. `prior_df` is how much the versions' spreads
    have in common: degrees of freedom that each borrows from all.
    """

    means: tuple[VersionMean, ...]
    segments: tuple[Segment, ...]
    changes: tuple[ChangePoint, ...]
    lone: tuple[LoneVersion, ...]
    penalty: float
    prior_df: float
    alpha: float
    confidence: float
    seed: int
    method: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """Means of versions (K) with their numbers of units, and what is known of the variance of one unit.

    `variances` (K) of a unit are shrunk towards the `common` one, to which `prior_df` degrees of freedom are
    given beside each version's `own` (K); 0 where nothing varies.
    """

    values: FloatArray
    units: FloatArray
    own: FloatArray
    variances: FloatArray
    common: float
    prior_df: float

    @property
    def weights(self) -> FloatArray:
        """One over the squared standard error of each version's mean."""
        return np.asarray(self.units / self.variances, dtype=np.float64)


def find_changes(
    means: Sequence[VersionMean], *, confidence: float = 0.95, alpha: float = 0.05, seed: int = 1
) -> VersionHistory:
    """Cut a series of versions where their mean changes.

    Of all ways to cut it, the one with the least weighted sum of squares about the segments' means, plus
    a penalty for each cut, is taken (optimal partitioning, Jackson et al. 2005). Weights are one over
    the squared standard error; since a few builds know little of their own spread, the variances are shrunk
    towards what all versions have in common (Smyth 2004). The penalty is calibrated by drawing
    series without a change, with versions as noisy as these and their variances estimated from as
    few units: it is the 1 − `alpha` quantile of the penalty at which a drawn series would just not be cut.

    A segment of a single version between two that need not be told apart is no two changes but a
    version that stands out. Sizes of changes are differences of segment means, each version by
    its number of units, with Student's interval.

    Raises:
        InputError: fewer than three versions, or more than 1000.
    """
    if not _FEWEST <= len(means) <= _MOST:
        raise InputError(
            f"there are {len(means)} versions, and a series takes {_FEWEST} to {_MOST}",
            remedy=f"Compare two versions without {argument('series')}."
            if len(means) < _FEWEST
            else "Leave out some of the versions.",
        )
    series = _share_spread(means)
    warnings = []
    if series.common == 0:
        penalty, lone = 0.0, list[int]()
        cuts = [int(at) for at in np.flatnonzero(np.diff(series.values) != 0) + 1]
        warnings.append(
            "versions do not vary at all, so that every difference counts as a change, without an interval"
        )
    else:
        penalty = _calibrate_penalty(series, alpha, seed)
        cuts, lone = _spare_lone_versions(series, cut_series(series.values, series.weights, penalty), penalty)
    names = [mean.version for mean in means]
    segments = tuple(
        _describe_segment(series, first, end, lone, confidence)
        for first, end in zip((0, *cuts), (*cuts, len(means)), strict=True)
    )
    if len(segments) > 1 and segments[-1].first == segments[-1].last:
        warnings.append(
            f"the last change rests on {names[-1]} alone: the next version tells whether it stays"
        )
    changes = []
    for before, after in pairwise(segments):
        difference, ratio = _subtract(series, _list_members(after), _list_members(before), confidence)
        changes.append(ChangePoint(after.first, names[after.first], difference, ratio))
    alone = []
    for segment in segments:
        for at in segment.alone:
            difference, ratio = _subtract(series, [at], _list_members(segment), confidence)
            alone.append(LoneVersion(at, names[at], difference, ratio))
    return VersionHistory(
        means=tuple(means),
        segments=segments,
        changes=tuple(changes),
        lone=tuple(alone),
        penalty=penalty,
        prior_df=series.prior_df,
        alpha=alpha,
        confidence=confidence,
        seed=seed,
        method=(
            "least weighted squares over all ways to cut the series, with a penalty for each cut that "
            f"{_count_draws(len(means))} drawn series without change exceed with probability "
            f"{format_given(alpha)} "
            f"(seed {seed}); variances of versions shrunk towards their common one (Smyth 2004); sizes are "
            "those at the place found, each interval for itself"
        ),
        warnings=tuple(warnings),
    )


def _share_spread(means: Sequence[VersionMean]) -> _Series:
    """What each version knows of the variance of its units, and what it borrows from all.

    Variances are taken to come from a scaled F distribution whose two parameters are fitted by the moments of
    their logarithms (Smyth 2004 section 6.2).
    """
    values = np.array([mean.value.estimate for mean in means])
    units = np.array([float(mean.units) for mean in means])
    own = np.array([mean.df for mean in means])
    raw = np.array([mean.variance for mean in means]) * units
    known = raw > 0
    if not known.any():
        return _Series(values, units, own, raw, 0.0, math.inf)
    total = float(np.sum(own))
    half = own[known] / 2
    logs = np.log(raw[known]) - psi(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(polygamma(1, half))) if logs.size > 1 else 0.0
    if excess > 0:
        prior = 2 * _invert_trigamma(excess)
        common = math.exp(float(np.mean(logs)) + float(psi(prior / 2)) - math.log(prior / 2))
        prior = min(prior, total)
    else:
        # No more different than chance makes them: one variance for all, known as well as together they know.
        prior, common = total, float(np.sum(own * raw)) / total
    return _Series(values, units, own, (prior * common + own * raw) / (prior + own), common, prior)


def _invert_trigamma(value: float) -> float:
    """The x with trigamma(x) = value, by Newton's method (Smyth 2004, appendix)."""
    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        slope = float(polygamma(1, x))
        step = slope * (1 - slope / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


def _calibrate_penalty(series: _Series, alpha: float, seed: int) -> float:
    """The penalty that a series without change needs with probability `alpha` at most, not to be cut.

    True variances are drawn from what is known of them, means and estimated variances from these.
    """
    rng = np.random.default_rng(seed)
    count, df = series.values.size, series.prior_df + series.own
    needed = []
    draws = _count_draws(count)
    chunk = max(1, _AT_ONCE // (count * 4))
    for start in range(0, draws, chunk):
        shape = (min(chunk, draws - start), count)
        true = df * series.variances / rng.chisquare(df, shape)
        values = rng.standard_normal(shape) * np.sqrt(true / series.units)
        raw = true * rng.chisquare(series.own, shape) / series.own
        shrunk = (series.prior_df * series.common + series.own * raw) / df
        needed.append(find_needed_penalty(values, series.units / shrunk))
    return float(np.quantile(np.concatenate(needed), 1 - alpha, method="higher"))


def _count_draws(versions: int) -> int:
    return max(_FEWEST_DRAWS, min(_MOST_DRAWS, _DRAWN_PAIRS // versions**2))


def _spare_lone_versions(series: _Series, cuts: Sequence[int], penalty: float) -> tuple[list[int], list[int]]:
    """Take cuts around a single version away where its neighbours, joined, lose less than a penalty.

    Two cuts cost two penalties; one version that stands out costs one and what joining its neighbours loses.
    """
    values, weights = series.values, series.weights.copy()
    kept: list[int] = list(cuts)
    lone: list[int] = []
    at = 0
    while at + 1 < len(kept):
        here, after = kept[at], kept[at + 1]
        if after != here + 1:
            at += 1
            continue
        start = kept[at - 1] if at else 0
        end = kept[at + 2] if at + 2 < len(kept) else values.size
        sides = (list(range(start, here)), list(range(after, end)))
        loss = _find_squares(values, weights, [*sides[0], *sides[1]])
        loss -= sum(_find_squares(values, weights, side) for side in sides)
        if loss >= penalty:
            at += 1
            continue
        weights[here] = 0.0
        lone.append(here)
        del kept[at : at + 2]
        at = max(0, at - 1)
    return kept, sorted(lone)


def _find_squares(values: FloatArray, weights: FloatArray, chosen: Sequence[int]) -> float:
    """Weighted sum of squares of the chosen versions about their weighted mean."""
    part, mass = values[list(chosen)], weights[list(chosen)]
    return float(np.sum(mass * (part - np.average(part, weights=mass)) ** 2))


def _describe_segment(
    series: _Series, first: int, end: int, lone: Sequence[int], confidence: float
) -> Segment:
    alone = tuple(at for at in lone if first <= at < end)
    chosen = [at for at in range(first, end) if at not in alone]
    mean, variance, df = _average_versions(series, chosen)
    reach = find_critical(confidence, df) * math.sqrt(variance)
    return Segment(first, end - 1, alone, Interval(mean, mean - reach, mean + reach), df)


def _list_members(segment: Segment) -> list[int]:
    return [at for at in range(segment.first, segment.last + 1) if at not in segment.alone]


def _average_versions(series: _Series, chosen: Sequence[int]) -> tuple[float, float, float]:
    """Mean of versions by their number of units, its variance and its degrees of freedom."""
    picked = list(chosen)
    mass = series.units[picked]
    start = float(series.values[picked[0]])
    mean = start + float(np.average(series.values[picked] - start, weights=mass))
    parts = mass * series.variances[picked]
    total = float(np.sum(parts))
    # What is borrowed is known no better than by all versions together.
    most = float(np.sum(series.own))
    if total == 0:
        return mean, 0.0, most
    df = combine_freedom(parts, series.prior_df + series.own[picked])
    return mean, total / float(np.sum(mass)) ** 2, min(df, most)


def _subtract(
    series: _Series, chosen: Sequence[int], base: Sequence[int], confidence: float
) -> tuple[Interval, Ratio | None]:
    """Difference and ratio of the means of two groups of versions, each interval for itself."""
    mean, variance, df = _average_versions(series, chosen)
    base_mean, base_variance, base_df = _average_versions(series, base)
    total = variance + base_variance
    most = float(np.sum(series.own))
    if total > 0:
        df = min(most, combine_freedom((variance, base_variance), (df, base_df)))
    critical = find_critical(confidence, df)
    estimate, reach = mean - base_mean, critical * math.sqrt(total)
    ratio = None
    if mean > 0 and base_mean > 0:
        ratio = bound_ratio(
            mean,
            base_mean,
            numerator_variance=variance,
            denominator_variance=base_variance,
            critical=critical,
        )
    return Interval(estimate, estimate - reach, estimate + reach), ratio

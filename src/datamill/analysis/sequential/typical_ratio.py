"""By what ratio typical values of two packages differ, whatever the tails of their noise are."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.results.bundles.decisions import LookInterval

#: Shares of what is owned that are bet on a sign, on either one: their mean is what is owned in the end.
_STAKES = np.array([0.15, 0.3, 0.5, 0.7, 0.9])
#: Halvings of the range in which a bound lies, and how much of what it is away from the estimate that leaves.
_HALVINGS, _FEW_HALVINGS = 14, 7
#: Times the bound's distance is doubled before it is said to be without bound.
_DOUBLINGS = 24
#: Rounds of which all pairs are averaged for the estimate: more would take memory and change nothing.
_MOST_AVERAGED = 1500


def bound_typical_ratio(baseline: FloatArray, other: FloatArray, name: str, alpha: float) -> LookInterval:
    """Bound by how much typical values of one package depart from those of the other, as a share.

    Args:
        baseline: one value a round (R ≥ 2).
        other: those of the other package in the same rounds.
        name: what the interval is called.
        alpha: chance that the true ratio ever lies outside, at any number of rounds.

    The estimate is the exponential of the median of the means of all pairs of logarithms of quotients (Hodges
    and Lehmann 1963). If the packages are alike up to a ratio, which may be any noise times a factor,
    the logarithm of the quotient in a round, less that of the ratio, is as often positive as negative
    whatever its size is; then no bet on its sign wins in the mean. What is staked is larger where the
    quotient is large compared with those before it, so that it is a Wilcoxon signed-rank test made
    sequential; what is owned exceeds 1/alpha ever with probability alpha at most (Ville). The interval holds
    the ratios at which it never did. No other assumption is made: tails may be heavy, and noise that both
    share in a round cancels. Quotients that are not positive leave it without bounds.
    """
    n = int(baseline.size)
    if n < 2 or (baseline <= 0).any() or (other <= 0).any():
        return LookInterval(name, n, None, None, None, 1 - alpha, "typical")
    logs = np.log(other / baseline)
    estimate = _find_pseudomedian(logs)
    threshold = math.log(1 / alpha)
    low = _find_bound(logs, estimate, threshold, -1.0)
    high = _find_bound(logs, estimate, threshold, 1.0)
    return LookInterval(
        name,
        n,
        math.expm1(estimate),
        None if low is None else math.expm1(low),
        None if high is None else math.expm1(high),
        1 - alpha,
        "typical",
    )


def estimate_typical(baseline: FloatArray, other: FloatArray) -> float:
    """Return the estimate of `bound_typical_ratio` of values that are all positive."""
    return math.expm1(_find_pseudomedian(np.log(other / baseline)))


def bound_typical_below(baseline: FloatArray, other: FloatArray, alpha: float) -> float | None:
    """Return the lower bound of `bound_typical_ratio` of values that are all positive; None without bound.

    It is exact to a hundredth of its distance from the estimate: many of them are found one after the other.
    """
    logs = np.log(other / baseline)
    threshold = math.log(1 / alpha)
    low = _find_bound(logs, _find_pseudomedian(logs), threshold, -1.0, halvings=_FEW_HALVINGS)
    return None if low is None else math.expm1(low)


def bound_value_range(
    baseline: FloatArray,
    other: FloatArray,
    name: str,
    alpha: float,
    *,
    steps: tuple[float, float] = (0.0, 0.0),
) -> LookInterval | None:
    """Bound typical values by the least and the largest quotient of any two values; None for few rounds.

    Arguments as for `bound_typical_ratio`; `steps` are those of the values of either that hide how much they
    vary (`Rounds.steps`), by which each may be too low or too high, else 0. The middle of all quotients lies
    outside those of n rounds with probability 2^(1 - n), and ever with twice that from a first n on: the
    interval is given from the n on for which that is `alpha` at most.
    """
    n = int(baseline.size)
    if n < 2 or 2.0 ** (2 - n) > alpha or (baseline <= steps[0]).any() or (other <= 0).any():
        return None
    low = max(0.0, float(other.min()) - steps[1]) / (float(baseline.max()) + steps[0])
    high = (float(other.max()) + steps[1]) / (float(baseline.min()) - steps[0])
    estimate = math.exp(_find_pseudomedian(np.log(other / baseline)))
    return LookInterval(name, n, estimate - 1, low - 1, high - 1, 1 - alpha, "typical")


def widen_by_steps(interval: LookInterval, baseline: FloatArray, steps: tuple[float, float]) -> LookInterval:
    """Return an interval of typical values wider by the steps in which values come, if these hide anything.

    Every value may be too high or too low by a step; `steps` are those of baseline and other, else 0.
    """
    if not any(steps) or interval.low is None or interval.high is None or interval.estimate is None:
        return interval
    least = float(baseline.min())
    coarse = (steps[1] + (1 + interval.estimate) * steps[0]) / least
    # No value is below zero, however wide its steps are.
    return msgspec.structs.replace(
        interval, low=max(-1.0, interval.low - coarse), high=interval.high + coarse
    )


def tell_typical_apart(baseline: FloatArray, other: FloatArray, alpha: float) -> bool:
    """Tell whether the interval of `bound_typical_ratio` excludes equality, without finding its bounds."""
    if baseline.size < 2 or (baseline <= 0).any() or (other <= 0).any():
        return False
    return measure_evidence(np.log(other / baseline), 0.0) >= math.log(1 / alpha)


def measure_evidence(logs: FloatArray, shift: float) -> float:
    """Return the logarithm of the most that was ever owned by betting against a shift of `logs` (R)."""
    departures = logs - shift
    sizes = np.abs(departures)
    # Rank of each among those up to it, as a share: known before its sign is.
    ranks = np.tril(sizes[None, :] <= sizes[:, None]).sum(axis=1) / np.arange(1, sizes.size + 1)
    bets = np.sign(departures) * ranks
    owned = np.concatenate(
        [np.cumsum(np.log1p(np.outer(side * _STAKES, bets)), axis=1) for side in (1.0, -1.0)]
    )
    most = owned.max(axis=0)
    total = most + np.log(np.exp(owned - most).mean(axis=0))
    return float(total.max())


def _find_pseudomedian(logs: FloatArray) -> float:
    """The median of the means of all pairs (Hodges and Lehmann 1963)."""
    taken = logs[-_MOST_AVERAGED:]
    rows, columns = np.triu_indices(taken.size)
    return float(np.median((taken[rows] + taken[columns]) / 2))


def _find_bound(
    logs: FloatArray, estimate: float, threshold: float, side: float, *, halvings: int = _HALVINGS
) -> float | None:
    """The shift farthest from the estimate, on one side, that the evidence does not exclude."""
    step = float(np.median(np.abs(logs - estimate))) or 1e-9
    inside = 0.0
    for _ in range(_DOUBLINGS):
        if measure_evidence(logs, estimate + side * step) >= threshold:
            break
        inside, step = step, 2 * step
    else:
        return None
    outside = step
    for _ in range(halvings):
        middle = (inside + outside) / 2
        if measure_evidence(logs, estimate + side * middle) >= threshold:
            outside = middle
        else:
            inside = middle
    return estimate + side * outside

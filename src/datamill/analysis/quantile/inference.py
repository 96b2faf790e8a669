"""From covariances or draws of coefficients to intervals, p-values and joint tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.special import chdtri, fdtrc, ndtr, ndtri, stdtr, stdtrit

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray

#: Draws for each coefficient that a joint test needs.
_DRAWS_FOR_EACH = 2
#: Quantiles of draws that tell how wide their tails are.
_REACH = (0.005, 0.995)
#: Shares below this are no normal doubles.
_LEAST = 1e-300
#: Share of the largest draw below which a number is zero but for rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Inferred:
    """A linear combination of coefficients: interval, standard error, and p-value of being zero."""

    value: Interval
    standard_error: float | None
    p: float | None


class Inference(Protocol):
    """What is known about the error of p coefficients."""

    def infer(self, estimate: float, weights: FloatArray) -> Inferred:
        """Return the interval of a combination of coefficients (weights p) with this estimate."""

    def at(self, confidence: float) -> Inference:
        """Return the same with intervals at another level, where the method can tell that."""

    def test(self, estimates: FloatArray, columns: slice) -> float | None:
        """Return the p-value of all these coefficients (as many estimates as columns) being zero."""


@dataclass(frozen=True, slots=True, eq=False)
class CovarianceInference:
    """Student's intervals from a covariance (p × p) with `df` degrees of freedom."""

    covariance: FloatArray
    df: float
    confidence: float

    def at(self, confidence: float) -> CovarianceInference:
        """Return the same with Student's quantile of another level."""
        return replace(self, confidence=confidence)

    def infer(self, estimate: float, weights: FloatArray) -> Inferred:
        """Return estimate ± t times the standard error."""
        variance = float(weights @ self.covariance @ weights)
        if not np.isfinite(variance):
            return Inferred(Interval(estimate, -np.inf, np.inf), None, None)
        error = float(np.sqrt(max(variance, 0.0)))
        half = float(-stdtrit(self.df, (1 - self.confidence) / 2)) * error
        p = None if error == 0 else float(2 * stdtr(self.df, -abs(estimate) / error))
        return Inferred(Interval(estimate, estimate - half, estimate + half), error, p)

    def test(self, estimates: FloatArray, columns: slice) -> float | None:
        """Return Wald's test, as F with the covariance's degrees of freedom."""
        block = self.covariance[columns, columns]
        if not np.all(np.isfinite(block)) or np.linalg.matrix_rank(block) < block.shape[0]:
            return None
        statistic = float(estimates @ np.linalg.solve(block, estimates)) / estimates.size
        return float(fdtrc(estimates.size, self.df, statistic))


@dataclass(frozen=True, slots=True, eq=False)
class LimitInference:
    """Limits of the coefficients (p each) as a method gives them by itself.

    p-values come from tests at other levels: `p_values` (p).
    """

    low: FloatArray
    high: FloatArray
    p_values: FloatArray

    def at(self, confidence: float) -> LimitInference:  # noqa: ARG002
        """Return the same: limits are of one level."""
        return self

    def infer(self, estimate: float, weights: FloatArray) -> Inferred:
        """Return the limits of one coefficient; combinations of several have none."""
        chosen = np.flatnonzero(weights)
        if chosen.size != 1:
            return Inferred(Interval(estimate, -np.inf, np.inf), None, None)
        column, factor = int(chosen[0]), float(weights[chosen[0]])
        low, high = float(self.low[column]), float(self.high[column])
        if np.isnan(low) or np.isnan(high):
            return Inferred(Interval(estimate, -np.inf, np.inf), None, None)
        ends = sorted((factor * low, factor * high))
        return Inferred(Interval(estimate, ends[0], ends[1]), None, float(self.p_values[column]))

    def test(self, estimates: FloatArray, columns: slice) -> float | None:
        """Return the smallest p-value of these coefficients, times their number (Bonferroni)."""
        smallest = float(np.min(self.p_values[columns]))
        return None if np.isnan(smallest) else min(1.0, estimates.size * smallest)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnInference:
    """Percentile intervals from draws of the coefficients (R × p).

    With `df` (p), from clusters, percentiles lie as far out as Student's distribution asks compared
    with the normal one. Where that is beyond all draws, ends are those of a normal tail as wide as theirs.
    Draws of exactly zero, as ties give them, count for both sides, so that p is below 1 - confidence just
    where the interval leaves out zero. p-values below 2 / (R + 1), the least that draws can show, are those
    of a normal tail as wide as the draws on the side of zero. `sizes` (p) are what a coefficient is
    multiplied by, at most, to give a value of the response: 1 unless it is a slope. Values of the response
    may be `resolution` apart by their own rounding, beside a large offset.
    """

    draws: FloatArray
    confidence: float
    df: FloatArray | None = None
    sizes: FloatArray | None = None
    resolution: float = 0.0
    _largest: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Find how large a value of the response each draw speaks of (R), once for all effects."""
        parts = np.abs(self.draws)
        if self.sizes is not None:
            parts *= self.sizes
        object.__setattr__(self, "_largest", np.max(parts, axis=1))

    def at(self, confidence: float) -> DrawnInference:
        """Return the same with percentiles of another level."""
        return replace(self, confidence=confidence)

    def infer(self, estimate: float, weights: FloatArray) -> Inferred:
        """Return the percentiles of the combination, and the share of draws beyond zero, doubled."""
        chosen = np.flatnonzero(weights)
        drawn = np.sort(self._snap(self.draws[:, chosen] @ weights[chosen], chosen))
        estimate = float(self._snap(np.array(estimate), chosen))
        df = None if self.df is None else float(np.min(self.df[chosen]))
        # As many draws left out as leave p just not below 1 - confidence: where draws tie, no fewer do.
        tail = _widen((1 - self.confidence) / 2, df)
        place = max(0, min(math.ceil(tail * (drawn.size + 1) - 1e-9) - 2, (drawn.size - 1) // 2))
        low, high = float(drawn[place]), float(drawn[-1 - place])
        if tail * (drawn.size + 1) - 1e-9 <= 1:
            ends = _reach_beyond(drawn, _find_critical((1 - self.confidence) / 2, df))
            low, high = min(low, ends[0]), max(high, ends[1])
        error = float(np.std(drawn))
        value = Interval(estimate, min(low, estimate), max(high, estimate))
        if drawn[-1] - drawn[0] <= self._bound_rounding(chosen):
            return Inferred(value, error, 1.0 if estimate == 0 and low == 0 else None)
        if value.low <= 0 <= value.high and not low <= 0 <= high:
            # Estimate and draws lie on different sides: the data do not even tell the sign.
            return Inferred(value, error, 1.0)
        count = min(int(np.sum(drawn <= 0)), int(np.sum(drawn >= 0)))
        p = _narrow((count + 1) / (drawn.size + 1), df)
        if count == 0:
            p = min(p, _judge(_extrapolate(drawn), df))
        return Inferred(value, error, p)

    def _snap(self, values: FloatArray, columns: IntArray | slice) -> FloatArray:
        """Values with those set to zero that are so but for rounding: half of what ties is exactly zero.

        `values` are of each draw (R, or R × some), or an estimate. Rounding is that of the response, in the
        draw itself since others may be far away: a slope is small where its covariate is in small units.
        """
        nothing = self._list_rounding(columns)
        if values.shape[:1] != nothing.shape:
            return np.where(np.abs(values) <= np.median(nothing), 0.0, values)
        return np.where(np.abs(values.T) <= nothing, 0.0, values.T).T

    def _list_rounding(self, columns: IntArray | slice) -> FloatArray:
        """What rounding may make of a combination of these coefficients that is zero, in each draw (R)."""
        size = 1.0 if self.sizes is None else float(np.max(self.sizes[columns]))
        return np.maximum(self._largest * _ROUNDING, self.resolution) / size

    def _bound_rounding(self, columns: IntArray | slice) -> float:
        """How far apart rounding may set draws that are the same."""
        return float(np.median(self._list_rounding(columns)))

    def test(self, estimates: FloatArray, columns: slice) -> float | None:
        """Return the share of draws that are as far from their centre as zero is, by their covariance.

        With `df` it is that of F with these degrees of freedom, as of Wald's test.
        """
        drawn = self.draws[:, columns]
        if drawn.shape[0] < _DRAWS_FOR_EACH * estimates.size:
            return None
        if estimates.size == 1:
            return self.infer(float(estimates[0]), _unit(self.draws.shape[1], columns.start)).p
        drawn = self._snap(drawn, columns)
        if not np.any(self._snap(estimates, columns)):
            return 1.0
        centre = np.mean(drawn, axis=0)
        root = np.asarray(np.linalg.qr(drawn - centre, mode="r"), dtype=np.float64)
        nothing = self._bound_rounding(columns) * math.sqrt(drawn.shape[0])
        if np.min(np.abs(np.diag(root))) <= max(1e-12 * float(np.max(np.abs(root))), nothing):
            return None
        away = np.linalg.solve(root.T, np.vstack([drawn - centre, -centre]).T)
        distances = np.sum(away**2, axis=0)
        # A draw's distance by the covariance of the others, as zero has no part in the covariance either.
        own = distances[:-1] / np.maximum(1 - distances[:-1], 1e-12)
        beyond = int(np.sum(own >= distances[-1]))
        share = (1 + beyond) / distances.size
        if beyond == 0:
            size, df = estimates.size, drawn.shape[0] - estimates.size
            statistic = float(distances[-1]) * drawn.shape[0] / distances.size * df / size
            share = min(share, float(fdtrc(size, df, statistic)))
        if self.df is None:
            return float(min(1.0, share))
        # As an F of so many coefficients: Student's tail of one would make p too small, the more so the more.
        squares = float(chdtri(estimates.size, max(share, _LEAST)))
        df = float(np.min(self.df[columns]))
        return float(fdtrc(estimates.size, df, squares / estimates.size))


def _extrapolate(drawn: FloatArray) -> float:
    """Standard deviations to zero in a normal tail as wide as that of the draws towards zero."""
    middle, low, high = np.quantile(drawn, [0.5, *_REACH])
    spread = (middle - low if middle > 0 else high - middle) / -ndtri(_REACH[0])
    return float(abs(middle) / spread) if spread > 0 else math.inf


def _reach_beyond(drawn: FloatArray, critical: float) -> tuple[float, float]:
    """Ends so many standard deviations out in the normal tails of `_extrapolate`."""
    middle, low, high = np.quantile(drawn, [0.5, *_REACH])
    further = critical / -ndtri(_REACH[0])
    return float(middle - (middle - low) * further), float(middle + (high - middle) * further)


def _find_critical(tail: float, df: float | None) -> float:
    """Standard deviations that Student's distribution, or the normal one, asks for."""
    return -float(ndtri(tail) if df is None else stdtrit(df, tail))


def _widen(tail: float, df: float | None) -> float:
    """The share of draws to leave in a tail, so that the interval is Student's."""
    return tail if df is None else float(ndtr(-_find_critical(tail, df)))


def _narrow(tail: float, df: float | None) -> float:
    """The two-sided p-value of what leaves this share of the draws in one tail."""
    # Through deviations only where Student asks for them: a share of draws is exact.
    return min(1.0, 2 * tail) if df is None else _judge(-float(ndtri(min(max(tail, _LEAST), 0.5))), df)


def _judge(deviations: float, df: float | None) -> float:
    """The two-sided p-value of what lies so many standard deviations from zero."""
    return min(1.0, 2 * float(ndtr(-deviations) if df is None else stdtr(df, -deviations)))


def _unit(size: int, place: int) -> FloatArray:
    weights = np.zeros(size)
    weights[place] = 1.0
    return weights

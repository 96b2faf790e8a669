"""Thresholds of indicators."""

from __future__ import annotations

import math

import msgspec

from datamill.selection.predictors.case import Case


class Threshold(msgspec.Struct, frozen=True):
    """An indicator that is true at `least` or above.

    `price` is how many unchanged cases of the history it then runs.
    """

    indicator: str
    least: float
    price: int


class Perphecy(msgspec.Struct, frozen=True, tag="perphecy"):
    """A predictor that runs a benchmark where any indicator reaches its threshold.

    `thresholds` are in the order in which they were chosen; an indicator that occurs twice is true at the
    lower one, one that does not occur never is.
    """

    thresholds: tuple[Threshold, ...]
    warnings: tuple[str, ...] = ()

    def decides(self, case: Case) -> bool:
        """Whether any indicator is true."""
        return any(case.readings.get(item.indicator, -math.inf) >= item.least for item in self.thresholds)

    def score(self, case: Case) -> float:
        """1 where the benchmark must run, 0 where not: Perphecy knows nothing between."""
        return float(self.decides(case))

    def fired(self, case: Case) -> tuple[Threshold, ...]:
        """Return the thresholds that the case reaches, each indicator once, by its lowest."""
        lowest = {item.indicator: item for item in sorted(self.thresholds, key=lambda item: -item.least)}
        return tuple(
            item for item in lowest.values() if case.readings.get(item.indicator, -math.inf) >= item.least
        )

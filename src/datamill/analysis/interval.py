"""An estimate with its interval, and a ratio with its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

#: Ratios beyond e to this are no help.
_LARGEST_EXPONENT = 100.0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval, in the response's unit unless said otherwise."""

    estimate: float
    low: float
    high: float

    @classmethod
    def join(cls, estimate: float | None, low: float | None, high: float | None) -> Interval | None:
        """The interval that three numbers of a record make; None where one of them is missing."""
        return None if estimate is None or low is None or high is None else cls(estimate, low, high)

    @property
    def excludes_zero(self) -> bool:
        """Whether all of it lies on one side of zero."""
        return self.low > 0 or self.high < 0

    def scaled(self, factor: float) -> Interval:
        """The interval of values that are `factor` times as large, which is above zero."""
        return Interval(self.estimate * factor, self.low * factor, self.high * factor)

    def negated(self) -> Interval:
        """The interval of a difference taken the other way round."""
        return Interval(-self.estimate, -self.high, -self.low)

    def unsigned(self) -> Interval:
        """The interval of a difference's size where its sign is known, else as it is."""
        if not self.excludes_zero:
            return self
        return Interval(abs(self.estimate), *sorted((abs(self.low), abs(self.high))))

    def raised(self, base: float) -> Interval | None:
        """The interval of the ratio whose logarithm to this base it bounds; None where that is huge."""
        ends = [number * math.log(base) for number in (self.estimate, self.low, self.high)]
        if max(abs(end) for end in ends) > _LARGEST_EXPONENT:
            return None
        return Interval(*(math.exp(end) for end in ends))

    def inverted(self) -> Interval:
        """The interval of a ratio taken the other way round; all of it is above zero."""
        return Interval(1 / self.estimate, 1 / self.high, 1 / self.low)

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """The interval of an increasing function of the value."""
        return Interval(function(self.estimate), function(self.low), function(self.high))

    def to_percent(self) -> Interval:
        """A ratio as a change in percent: 1.05 is +5%."""
        return Interval(*(100 * (end - 1) for end in (self.estimate, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with its confidence set by Fieller's theorem.

    `low` and `high` bound the set; both are None when it is unbounded, which `note` puts in words.
    """

    estimate: float
    low: float | None
    high: float | None
    note: str

    @property
    def interval(self) -> Interval | None:
        """The ratio with its bounds; None where it has none."""
        if self.low is None or self.high is None:
            return None
        return Interval(self.estimate, self.low, self.high)

    def to_percent(self) -> Interval | None:
        """The ratio as a change in percent; None where it has no bounds."""
        found = self.interval
        return None if found is None else found.to_percent()

"""Candidate machines from the fastest for an application to the slowest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from datamill.platforms.prediction.platform_prediction import MachinePrediction, PlatformPrediction


@dataclass(frozen=True, slots=True)
class RankedMachine:
    """A candidate in its place.

    `measured` says that its time was measured and not predicted. `best` is the probability that it is the
    fastest of all candidates; `before_next` that it is faster than the next one (NaN for the last).
    `price` is NaN where nobody gave one; `value` is speed per price relative to the best such (1: the best).
    """

    prediction: MachinePrediction
    measured: bool
    best: float
    before_next: float
    price: float
    value: float


@dataclass(frozen=True, slots=True)
class MisorderedPair:
    """Two candidates that the suite's mean orders the other way round (thesis 2015, Figure 7.1).

    The prediction has `faster` ahead with `probability`; `ratio` is the time of `slower` over that of
    `faster` for the application, `suite_ratio` the same for the suite's geometric mean (below 1).
    """

    faster: str
    slower: str
    ratio: float
    suite_ratio: float
    probability: float


@dataclass(frozen=True, slots=True)
class MachineRanking:
    """Candidates from the fastest to the slowest; refused ones stand at the end, in `refused`.

    `right_order` is the probability that the whole order is right, `pair_order` the mean probability that
    two candidates are in the right order.
    """

    prediction: PlatformPrediction
    machines: tuple[RankedMachine, ...]
    refused: tuple[MachinePrediction, ...]
    misordered: tuple[MisorderedPair, ...]
    right_order: float
    pair_order: float

    def find_middle_ratio(self, suite_means: Mapping[str, float]) -> float:
        """Geometric mean of the candidates' values over what the suite's mean says of them; NaN without any.

        Of scores the mean says its inverse.
        """
        sign = 1 if self.prediction.kind == "seconds" else -1
        logarithms = [
            math.log(told.seconds) - sign * math.log(mean)
            for told in (item.prediction for item in self.machines)
            if math.isfinite(mean := suite_means.get(told.machine, math.nan))
            and math.isfinite(told.seconds)
            and told.seconds > 0
        ]
        return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan

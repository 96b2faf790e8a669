"""How large a change is, if there is one, by the changes of the history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from datamill.selection.predictors.case import Case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

METHOD = "regression on the weighted edit, jackknife interval"
#: The share of executed instructions in changed functions, weighted by how far these were edited.
FEATURE = "own.edit_weight"
#: Added to it before its logarithm is taken: an edit that replaces instructions one by one has a weight of 0.
LEAST_EDIT = 1e-4
CONFIDENCE = 0.9
#: Fewest changes of which the interval's ends are two: k = ⌊(1 - confidence)(n + 1) / 2⌋ is then 1.
FEWEST = 19


class Magnitude(msgspec.Struct, frozen=True):
    """The size of a change, |new / old - 1|, if there is one: what is expected, with its interval.

    `n` are the changes that it was learnt from.
    """

    size: float
    low: float
    high: float
    confidence: float
    n: int
    method: str = METHOD


class LearnedMagnitude(msgspec.Struct, frozen=True):
    """The logarithm of a change's size as a line over that of `own.edit_weight`.

    `low` and `high` are what is added for the ends of the interval.
    """

    n: int
    intercept: float
    slope: float
    low: float
    high: float
    confidence: float = CONFIDENCE

    def tell(self, features: Mapping[str, float]) -> Magnitude:
        """Return the size of a change with these features, if it is one."""
        middle = self.intercept + self.slope * _read_edit(features)
        size, low, high = (math.exp(middle + step) for step in (0.0, self.low, self.high))
        return Magnitude(size, low, high, self.confidence, self.n)


def learn_magnitude(cases: Iterable[Case]) -> LearnedMagnitude | None:
    """Fit the line to the changes of a history; None where these are fewer than 19.

    Least squares with a penalty of 1 on the slope, which is at least 0. The interval is that of the
    jackknife: from the residuals of each change against the line of all others the k-th smallest and largest,
    k = ⌊(1 - confidence)(n + 1) / 2⌋ (Barber, Candès, Ramdas and Tibshirani 2021, section 1.1). It holds for
    changes like those of the history; there is no promise where the code moves on.
    """
    import numpy as np

    changed = [case for case in cases if case.changed and case.ratio is not None and case.ratio != 1]
    if len(changed) < FEWEST:
        return None
    edits = np.asarray([_read_edit(case.features) for case in changed])
    sizes = np.log([abs((case.ratio or 1.0) - 1.0) for case in changed])
    n, center = len(changed), float(edits.mean())
    apart = edits - center
    spread = float(apart @ apart) + 1.0
    slope = max(0.0, float(apart @ sizes) / spread)
    intercept = float(sizes.mean()) - slope * center
    leverage = 1 / n + (apart**2 / spread if slope > 0 else 0.0)
    left_out: NDArray[np.float64] = np.sort((sizes - intercept - slope * edits) / (1 - leverage))
    place = math.floor((1 - CONFIDENCE) * (n + 1) / 2 + 1e-9)
    return LearnedMagnitude(n, intercept, slope, float(left_out[place - 1]), float(left_out[n - place]))


def _read_edit(features: Mapping[str, float]) -> float:
    return math.log(features.get(FEATURE, 0.0) + LEAST_EDIT)

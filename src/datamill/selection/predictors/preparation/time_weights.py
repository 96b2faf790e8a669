"""How much a case counts in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamill.selection.predictors.case import Case

#: Days between two versions after which a pair counts half.
HALF_DAYS = 30.0


def weigh_by_time(cases: Sequence[Case]) -> NDArray[np.float64]:
    """Return weights with mean 1: pairs of versions close in time count more (thesis 2019, 1.6).

    The text gives no formula: here 1 / (1 + days / 30). A case that does not know its days counts as one of
    0 days.
    """
    days = np.asarray([case.features.get("commit.days", 0.0) for case in cases], dtype=np.float64)
    weights = 1 / (1 + np.maximum(days, 0.0) / HALF_DAYS)
    scaled: NDArray[np.float64] = weights / weights.mean() if len(weights) else weights
    return scaled

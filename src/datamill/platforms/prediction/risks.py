"""How probable it is that a prediction errs by more than a limit."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from datamill.platforms.ensemble.inference import FEWEST_TAKEN, EnsembleInference
from datamill.platforms.prediction.platform_prediction import LIMIT
from datamill.platforms.scores.score_matrix import FloatArray


def find_risks(found: EnsembleInference, *, limit: float = LIMIT) -> FloatArray:
    """Return for each target the probability of an error above the limit (m, 0 to 1).

    It is the share of errors of the suite's benchmarks, each taken for the application, that would be above
    it if they were of the size that is expected of the application on this target. Where the suite has too
    few benchmarks, Student's t of the machines that measured the application takes their place; NaN where
    one machine did. docs/performance.md has how often errors were above the limit at a stated risk.

    Args:
        found: the inference.
        limit: an error, as a share; on the logarithm it is ln(1 + limit).
    """
    bound = float(np.log1p(limit))
    if len(found.taken) < FEWEST_TAKEN:
        freedom = found.by_machine.shape[1] - 1
        if freedom < 1:
            return np.full(len(found.sizes), np.nan)
        tail: FloatArray = 2 * stdtr(freedom, -bound / np.maximum(found.sizes, np.finfo(float).tiny))
        return tail
    spread = np.abs(found.spread[np.isfinite(found.spread)])
    sizes = np.hypot(spread[None] * found.sizes[:, None], found.noise[:, None])
    # Of n errors of which none is above the limit, the next one may be: it is any of n + 1.
    risks: FloatArray = np.maximum((sizes > bound).mean(axis=1), 1 / (len(spread) + 1))
    return risks

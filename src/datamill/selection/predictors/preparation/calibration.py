"""Scores turned into probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit


def fit_platt(scores: NDArray[np.float64], changed: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and shift of the logit that fit Platt's targets (1999) best, by Newton's method.

    A slope below 0 is taken as 0: all cases then have the same probability.
    """
    hits = changed.sum()
    targets = np.where(changed > 0, (hits + 1) / (hits + 2), 1 / (len(changed) - hits + 2))
    slope, shift = 1.0, 0.0
    for _ in range(100):
        probability = expit(shift + slope * scores)
        weight = probability * (1 - probability) + 1e-9
        wrong = probability - targets
        gradient = np.array([wrong @ scores, wrong.sum()])
        hessian = np.array(
            [[weight @ scores**2, weight @ scores], [weight @ scores, weight.sum()]]
        ) + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        slope, shift = slope - float(np.clip(step[0], -1, 1)), shift - float(np.clip(step[1], -1, 1))
        if float(np.abs(gradient).max()) < 1e-8:
            break
    if slope < 0:
        share = float(targets.mean())
        return 0.0, float(logit(share))
    return slope, shift

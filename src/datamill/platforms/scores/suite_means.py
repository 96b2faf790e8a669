"""The suite's mean time on each machine, by which people order machines."""

from __future__ import annotations

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, ScoreMatrix


def average_suite(matrix: ScoreMatrix) -> FloatArray:
    """Geometric means over the benchmarks that all machines have, one a machine.

    Where no benchmark is on all machines, over each machine's own deviations from the benchmarks' means. NaN
    where a machine has no value.
    """
    logs = np.log(matrix.seconds)
    full = np.isfinite(logs).all(axis=0)
    if full.any():
        return np.asarray(np.exp(logs[:, full].mean(axis=1)))
    known = np.isfinite(logs)
    counts = known.sum(axis=1)
    middles = np.array([column[some].mean() for column, some in zip(logs.T, known.T, strict=True)])
    deviations = np.where(known, logs - middles, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.exp(middles.mean() + deviations / counts))

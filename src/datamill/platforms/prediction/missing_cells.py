"""Scores that a machine lacks, filled in from what similar machines have."""

from __future__ import annotations

import numpy as np

from datamill.platforms.methods.centred import center_applications
from datamill.platforms.methods.shared_covariance import share_covariance
from datamill.platforms.scores.score_matrix import FloatArray

#: Passes over all benchmarks that have gaps; each uses what the one before filled in.
_PASSES = 4


def fill_cells(logs: FloatArray) -> FloatArray:
    """Return logarithms of a suite (n × p) with gaps (NaN) filled in; each row and column has some value.

    Gaps begin as sums of a machine's and a benchmark's level. Then each benchmark with gaps is predicted, as
    an application, on the machines that lack it from those that have it (`share_covariance`).
    """
    known = np.isfinite(logs)
    if known.all():
        return logs
    filled = np.where(known, logs, _add_levels(logs, known))
    predict = share_covariance(1.0, 1.0)
    gaps = np.flatnonzero(~known.all(axis=0) & (known.sum(axis=0) > 1)) if logs.shape[1] > 1 else ()
    for _ in range(_PASSES):
        for column in gaps:
            have = np.flatnonzero(known[:, column])
            lack = np.flatnonzero(~known[:, column])
            others = np.delete(filled, column, axis=1)[np.concatenate([have, lack])]
            given = center_applications(others[None], filled[have, column][None])
            filled[lack, column] = predict(given)[0]
    return filled


def _add_levels(logs: FloatArray, known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    """Fit a level of each machine and of each benchmark to what is known, by turns."""
    values = np.where(known, logs, 0.0)
    machines = np.zeros(len(logs))
    benchmarks = np.zeros(logs.shape[1])
    for _ in range(50):
        machines = (values - np.where(known, benchmarks, 0)).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        left = values - np.where(known, machines[:, None], 0)
        benchmarks = left.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    found: FloatArray = machines[:, None] + benchmarks
    return found

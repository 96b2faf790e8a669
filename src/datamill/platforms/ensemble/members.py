"""The methods that stand together in the ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamill.platforms.methods.centred import Centred
from datamill.platforms.methods.gaussian_process import relate_benchmarks
from datamill.platforms.methods.mixture import follow_level, mix_benchmarks
from datamill.platforms.methods.shared_covariance import share_covariance
from datamill.platforms.methods.transposed_ridge import Method, transpose_ridge
from datamill.platforms.scores.score_matrix import FloatArray

#: Members differ in what they believe: proportions or nearness, little noise or much. Which of them an
#: application needs is learned from the suite's own benchmarks (`prediction/stacking.py`).
MEMBERS: Mapping[str, Method] = {
    "transposed ridge": transpose_ridge(0.5),
    "gaussian process": relate_benchmarks(0.3, 1.0),
    "gaussian process, near": relate_benchmarks(0.3, 0.5),
    "gaussian process, near and noisy": relate_benchmarks(1.0, 0.5),
    "gaussian process, nearest": relate_benchmarks(0.1, 0.35),
    "shared covariance": share_covariance(1.0, 1.0, nearest=1.0),
    "shared covariance, nearest": share_covariance(1.0, 1.0, nearest=0.5),
    "shared covariance, short": share_covariance(1.0, 0.5),
    "mixture": mix_benchmarks(0.1),
    "suite mean": follow_level,
}


def predict_members(given: Centred, methods: Sequence[Method]) -> FloatArray:
    """Return what each method predicts (B × J × m): logarithms of times on the targets."""
    return np.array([predict(given) for predict in methods])

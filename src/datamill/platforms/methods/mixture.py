"""A mixture of benchmarks: the application takes its time in parts that act as benchmarks do."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from datamill.platforms.methods.centred import Centred
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray


def mix_benchmarks(penalty: float) -> Method:
    """Return the method of weights that are not negative, in time.

    Times are relative: each benchmark to its geometric mean over the trained machines, the application to
    its own. Relative errors are least squares; `penalty` draws weights towards equal shares.
    """

    def predict(given: Centred) -> FloatArray:
        trained = given.trained
        times = given.levels[..., None] + given.patterns
        relative = np.exp(times - times[:, :trained].mean(axis=1)[:, None])
        own = given.times + given.levels[: len(given.times), :trained]
        own_mean = own.mean(axis=1)[:, None]
        count = given.patterns.shape[2]
        goal = np.concatenate([np.ones(trained), np.full(count, np.sqrt(penalty) / count)])
        weights = np.empty((len(own), count))
        for index, row in enumerate(weights):
            rows = relative[index, :trained] / np.exp(own[index] - own_mean[index])[:, None]
            row[:] = nnls(np.vstack([rows, np.sqrt(penalty) * np.eye(count)]), goal)[0]
        mixed = (relative[:, trained:] @ weights[..., None])[..., 0]
        found: FloatArray = np.log(np.maximum(mixed, np.finfo(float).tiny)) + own_mean
        return found

    return predict


def follow_level(given: Centred) -> FloatArray:
    """Predict that the application keeps its ratio to the suite's geometric mean."""
    return given.levels[:, given.trained :] + given.mean[:, None]

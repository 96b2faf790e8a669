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
        found = np.empty((len(given.mean), given.patterns.shape[1] - trained))
        for index, row in enumerate(found):
            times = given.levels[index][:, None] + given.patterns[index]
            times = times - times[:trained].mean(axis=0)
            own = given.times[index] + given.levels[index, :trained]
            count = times.shape[1]
            relative = np.exp(times)
            rows = relative[:trained] / np.exp(own - own.mean())[:, None]
            rows = np.vstack([rows, np.sqrt(penalty) * np.eye(count)])
            goal = np.concatenate([np.ones(trained), np.full(count, np.sqrt(penalty) / count)])
            weights, _ = nnls(rows, goal)
            row[:] = np.log(np.maximum(relative[trained:] @ weights, np.finfo(float).tiny)) + own.mean()
        return found

    return predict


def follow_level(given: Centred) -> FloatArray:
    """Predict that the application keeps its ratio to the suite's geometric mean."""
    return given.levels[:, given.trained :] + given.mean[:, None]

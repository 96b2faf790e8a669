"""Best subsets for every benchmark of a suite as the application, from one search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.platforms.scores.score_matrix import FloatArray, IntArray
from datamill.platforms.strategies.linear.least_squares import adjust_r2, fit_many
from datamill.platforms.strategies.many_tasks import ManyForecasts
from datamill.platforms.subsets.best_subsets import best_of_each_column

#: Strategies whose searches for all applications are one.
SHARED_SEARCH = ("adjusted-r2", "mallows-cp")


def forecast_whole_suite(
    suite: FloatArray, sets: IntArray, held_out: Sequence[int], names: Sequence[str], limit: int
) -> list[list[ManyForecasts]]:
    """Forecasts as of `AdjustedR2` and `MallowsCp`, by name and by held-out column of `suite`.

    `limit` as theirs. A model is fitted to the times on its set's machines alone.
    """
    columns = suite.shape[1]
    found = best_of_each_column(suite, list(sets), largest=limit or columns)
    subsets = {"adjusted-r2": found.by_adjusted_r2, "mallows-cp": found.by_cp}
    forecasts = []
    for name in names:
        members = subsets[name].members.reshape(len(sets), columns, -1)
        row = []
        for column in held_out:
            times = suite[:, column][sets]
            fits = fit_many(suite, sets, times, members[:, column])
            row.append(
                ManyForecasts(fits.predicted, adjust_r2(fits, sets.shape[1]), fits.size.astype(np.float64))
            )
        forecasts.append(row)
    return forecasts

"""What few benchmarks cannot tell: which predictions are easy, and how large rare errors are."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from datamill.platforms.ensemble.error_scale import LEAST_ERROR, add_target_errors, fit_error_scale
from datamill.platforms.scores.score_matrix import FloatArray

#: Up to so many benchmarks sizes of error are doubted wholly, from so many on not at all.
_FEW, _MANY = 10, 20


def allow_for_few(taken: int, level: float) -> float:
    """Return by what factor errors at a level may be larger than few benchmarks show; 1 for twenty or more.

    The ratio of Student's t of so many benchmarks to that of twenty.
    """
    one_sided = (1 + level) / 2
    return max(1.0, float(stdtrit(taken - 1, one_sided) / stdtrit(_MANY - 1, one_sided)))


def doubt_small_sizes(
    sizes: FloatArray, own_sizes: FloatArray, difficulty: FloatArray, errors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return sizes of error of the application (m) and of the pseudo-applications (P × m), small ones raised.

    A scale that was fitted to few benchmarks calls some predictions easy by chance, and these are the ones
    that are not refused. Where a scale fitted to the others alone tells each pseudo-application's sizes, the
    slope of its errors on them (logarithms, at most 1) says how much of the differences between sizes is
    real. Small sizes are drawn towards the middle by that slope; large ones stay, as they may be right. Half
    of this is done for fifteen benchmarks, nothing for twenty or more.

    Args:
        sizes: sizes that are expected of the application's errors.
        own_sizes: those of the pseudo-applications, by a scale fitted to all of them.
        difficulty: difficulties of the pseudo-applications (P × m × f), without errors on the targets.
        errors: their errors (P × m), NaN where unknown.
    """
    share = float(np.clip((_MANY - len(errors)) / (_MANY - _FEW), 0, 1))
    if share == 0:
        return sizes, own_sizes
    told = expect_from_others(difficulty, errors)
    known = np.isfinite(errors)
    logs = np.log(told[known])
    middle = float(logs.mean())
    apart = logs - middle
    slope = float(apart @ np.log(np.abs(errors[known]) + LEAST_ERROR)) / max(float(apart @ apart), 1e-12)
    slope = min(max(slope, 0.0), 1.0)

    def raise_small(given: FloatArray) -> FloatArray:
        return np.maximum(given, np.exp(middle + slope * (np.log(given) - middle)))

    return (
        raise_small(sizes) ** share * sizes ** (1 - share),
        raise_small(told) ** share * own_sizes ** (1 - share),
    )


def expect_from_others(difficulty: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the sizes of each pseudo-application's errors (P × m) that the others alone let expect."""
    found = np.empty_like(errors)
    for row in range(len(errors)):
        rest = np.arange(len(errors)) != row
        theirs = add_target_errors(difficulty[rest], errors[rest], own=True)
        own = add_target_errors(difficulty[[row]], errors[rest], own=False)
        found[row] = fit_error_scale(theirs, errors[rest]).expect(own)[0]
    return found

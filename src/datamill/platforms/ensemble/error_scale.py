"""The size of error that is expected for an application on a target, learned from pseudo-applications."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.platforms.ensemble.difficulty import APPLICATION_DIFFICULTIES
from datamill.platforms.scores.score_matrix import FloatArray

#: Draws slopes towards 0: of a few benchmarks not much can be learned.
_SHRINKAGE = 0.03
#: Errors below a thousandth are as good as none.
LEAST_ERROR = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class ErrorScale:
    """ln(expected size of error) = intercept + slopes · (difficulty − middle); slopes from 0 to 1."""

    intercept: float
    slopes: FloatArray
    middle: FloatArray

    def expect(self, difficulty: FloatArray) -> FloatArray:
        """Sizes of error that are expected where difficulties (… × f) are these."""
        found: FloatArray = np.exp(self.intercept + (difficulty - self.middle) @ self.slopes)
        return found


def fit_error_scale(difficulty: FloatArray, errors: FloatArray) -> ErrorScale:
    """Fit sizes of errors (P × m, NaN left out) to difficulties (P × m × f) by ridge regression."""
    known = np.isfinite(errors)
    rows = difficulty[known]
    goal = np.log(np.abs(errors[known]) + LEAST_ERROR)
    middle = rows.mean(axis=0)
    design = np.column_stack([np.ones(len(rows)), rows - middle])
    penalty = _SHRINKAGE * np.diag(np.concatenate([[0.0], rows.var(axis=0) + 1e-6]))
    found = np.linalg.solve(design.T @ design / len(rows) + penalty, design.T @ goal / len(rows))
    return ErrorScale(float(found[0]), np.clip(found[1:], 0, 1), middle)


def exceed_pseudo_applications(scale: ErrorScale, own: FloatArray, ahead: FloatArray) -> float:
    """Return the factor (1 or more) for an application that is harder than every pseudo-application.

    Two difficulties are the application's own: its errors where each trained machine is predicted from the
    others, and the size of its pattern. Up to the largest of the pseudo-applications the slopes were
    learned; beyond, where nothing was, errors are taken to grow in proportion.

    Args:
        scale: the scale.
        own: difficulties of the pseudo-applications (P × m × f).
        ahead: difficulties of the application (1 × m × f).
    """
    columns = list(APPLICATION_DIFFICULTIES)
    beyond = ahead[0, 0, columns] - own[:, 0, columns].max(axis=0)
    growth = max(0.0, 1.0 - float(scale.slopes[columns].sum()))
    return float(np.exp(growth * max(0.0, float(beyond.max()))))


def add_target_errors(difficulty: FloatArray, errors: FloatArray, *, own: bool) -> FloatArray:
    """Append to difficulties the root mean square of pseudo-applications' errors on each target, as a log.

    Args:
        difficulty: difficulties (J × m × f).
        errors: errors of the pseudo-applications (P × m), NaN where unknown.
        own: the rows of `difficulty` are the pseudo-applications themselves, each of which is left out of
            its own mean.
    """
    size = average_errors(errors, leave_out=own)
    column = np.broadcast_to(np.log(size + LEAST_ERROR), difficulty.shape[:-1])
    return np.concatenate([difficulty, column[..., None]], axis=-1)


def average_errors(errors: FloatArray, *, leave_out: bool = False) -> FloatArray:
    """Root mean squares of errors (P × m, NaN left out) on each target: m, or P × m with each row left out.

    Where no error on a target is known, it has the mean of all.
    """
    known = np.isfinite(errors)
    squares, counts = np.where(known, errors, 0.0) ** 2, known.astype(float)
    total, number = squares.sum(axis=0), counts.sum(axis=0)
    everywhere = float(total.sum()) / max(float(number.sum()), 1.0)
    if leave_out:
        total, number = total - squares, number - counts
    found: FloatArray = np.sqrt(
        np.where(number > 0, np.maximum(total, 0) / np.maximum(number, 1), everywhere)
    )
    return found

"""How hard an application is to predict on a target, told from what is known before."""

from __future__ import annotations

import numpy as np

from datamill.platforms.methods.centred import LEAST_VARIANCE, Centred
from datamill.platforms.methods.shared_covariance import find_covariance
from datamill.platforms.scores.score_matrix import FloatArray

#: Which of the five numbers are the application's own, the same on all targets.
APPLICATION_DIFFICULTIES = (1, 3)
#: Keep logarithms of what is exactly predicted finite: a hundredth of a percent.
_LEAST_ERROR = 1e-4


def describe_difficulty(given: Centred, members: FloatArray) -> FloatArray:
    """Return five numbers for each application and target (J × m × 5), logarithms of sizes.

    The deviation that the shared covariance expects of the target; the root mean square of the application's
    errors where each trained machine is predicted from the others; the spread of what members predict; the
    size of the application's pattern in units of what the covariance expects; the distance to the nearest
    trained machine.

    Args:
        given: the applications.
        members: what each member predicts (B × J × m).
    """
    covariance = find_covariance(given, 1.0, 1.0)
    trained = given.trained
    inverse = np.linalg.inv(covariance.trained)
    reach = inverse.sum(axis=2)
    precision = np.maximum(reach.sum(axis=1), LEAST_VARIANCE)
    projected = inverse - reach[:, :, None] * reach[:, None] / precision[:, None, None]
    held = (projected @ given.pattern[..., None])[..., 0]
    diagonal = np.maximum(np.diagonal(projected, axis1=1, axis2=2), LEAST_VARIANCE)
    left_out = np.sqrt(((held / diagonal) ** 2).mean(axis=1))
    across = covariance.across
    explained = np.einsum("jmk,jkl,jml->jm", across, inverse, across)
    unmatched = 1 - (across @ reach[..., None])[..., 0]
    variance = covariance.own - explained + unmatched**2 / precision[:, None]
    size = np.sqrt(np.maximum((given.pattern * held).sum(axis=1), 0) / max(trained - 1, 1))
    nearest = np.sqrt(covariance.distances.min(axis=2))
    wide = np.ones_like(variance)
    return np.stack(
        [
            0.5 * np.log(np.maximum(variance, LEAST_VARIANCE)),
            np.log(left_out + _LEAST_ERROR)[:, None] * wide,
            np.log(members.std(axis=0) + _LEAST_ERROR),
            np.log(size + 1e-2 * _LEAST_ERROR)[:, None] * wide,
            np.log(nearest + 10 * _LEAST_ERROR),
        ],
        axis=-1,
    )

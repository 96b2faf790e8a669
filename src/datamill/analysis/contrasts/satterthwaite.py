"""Degrees of freedom of a sum of variances that were each estimated."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def combine_freedom(parts: ArrayLike, df: ArrayLike) -> float:
    """Return the degrees of freedom of the sum of independent variances (G), each with its own `df` (G).

    Where none of them varies, all degrees of freedom count. Source: Satterthwaite 1946.
    """
    variances, freedom = np.asarray(parts, dtype=np.float64), np.asarray(df, dtype=np.float64)
    total = float(np.sum(variances))
    if total == 0:
        return float(np.sum(freedom))
    # Shares, not squares of variances, so that no unit makes this under- or overflow.
    return 1.0 / float(np.sum((variances / total) ** 2 / freedom))

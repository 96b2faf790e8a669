"""Effects without replicates: what is error is seen from the smallest of them (Lenth 1989)."""

from __future__ import annotations

import functools

import numpy as np

from datamill.analysis.model_data.cells import FloatArray

#: Fewest effects among which most may be taken for nothing.
FEWEST_EFFECTS = 5
#: Draws of the null distribution.
_DRAWS = 20_000


def estimate_pseudo_error(effects: FloatArray) -> float:
    """Return Lenth's pseudo standard error of effects (m) that all have the same variance.

    1.5 times the median of those magnitudes that lie below 2.5 times a first such estimate: as if most of the
    effects were nothing but error.
    """
    return float(_estimate_rows(np.abs(effects)[None, :])[0])


def judge_effects(effects: FloatArray) -> FloatArray:
    """Return two-sided p-values of effects (m), each for itself, from the simulated null distribution."""
    error = estimate_pseudo_error(effects)
    if error == 0:
        return np.full(effects.size, np.nan)
    null = _draw_null(effects.size)
    above = null.size - np.searchsorted(null, np.abs(effects) / error, side="left")
    return np.asarray((above + 1.0) / (null.size + 1.0), dtype=np.float64)


def find_pseudo_critical(count: int, confidence: float) -> float:
    """Return the two-sided quantile of an effect over the pseudo standard error, among `count` effects."""
    return float(np.quantile(_draw_null(count), confidence))


def _estimate_rows(magnitudes: FloatArray) -> FloatArray:
    """Pseudo standard error of each row."""
    first = 1.5 * np.median(magnitudes, axis=1, keepdims=True)
    small = np.where(magnitudes < 2.5 * first, magnitudes, np.nan)
    with np.errstate(all="ignore"):
        # Where all are zero, none lies below.
        return np.where(first[:, 0] > 0, 1.5 * np.nanmedian(np.where(first > 0, small, 0.0), axis=1), 0.0)


@functools.lru_cache(maxsize=8)
def _draw_null(count: int) -> FloatArray:
    """Magnitudes over the pseudo standard error where all effects are nothing, in ascending order.

    Lenth's own quantiles, Student's with m/3 degrees of freedom, are far off for few effects (Ye and
    Hamada 2000).
    """
    drawn = np.abs(np.random.default_rng(1989).standard_normal((_DRAWS, count)))
    found: FloatArray = np.sort((drawn / _estimate_rows(drawn)[:, None]).ravel())
    return found

"""Which slowdowns a gate finds, from the noise that it saw."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr, ndtri

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.boundaries import find_anytime_critical
from datamill.analysis.sequential.pairs import shows_means
from datamill.analysis.sequential.rounds import Rounds

#: Probability with which a slowdown is found that is said to be detectable.
POWER = 0.8
#: Slowdowns of which it is said how likely they are found.
SLOWDOWNS = (0.01, 0.03, 0.05, 0.1)
#: Parts into which the error rate of a benchmark is shared (`compare_pairs`).
_PARTS = 3


def find_detectable_share(base: FloatArray, head: FloatArray, alpha: float) -> float | None:
    """Return the slowdown, as a share, that so many rounds tell from none with probability `POWER`.

    Args:
        base: one value a round (R).
        head: those of head in the same rounds.
        alpha: error rate of this benchmark.

    It is that of the interval of means: (c + z) s / √R with the critical value c that holds at all looks, the
    quantile z of the power, and the spread s of differences relative to base. Typical values may show less.
    None for rounds too few for any interval.
    """
    error = _find_error(base, head)
    if error is None:
        return None
    critical = _find_critical(base.size, alpha)
    return None if not math.isfinite(critical) else (critical + float(ndtri(POWER))) * error


def find_power(base: FloatArray, head: FloatArray, alpha: float, share: float) -> float:
    """Return the probability with which so many rounds tell a slowdown by `share` from none.

    Arguments as for `find_detectable_share`; 0 for rounds too few for any interval.
    """
    error = _find_error(base, head)
    if error is None:
        return 0.0
    critical = _find_critical(base.size, alpha)
    if not math.isfinite(critical):
        return 0.0
    return 1.0 if error == 0 else float(ndtr(share / error - critical))


def average_power(rounds: Mapping[str, Rounds], alpha: float) -> dict[float, float]:
    """Return the probability with which each of `SLOWDOWNS` is found, in the mean over benchmarks.

    Args:
        rounds: of each benchmark by its name.
        alpha: error rate of all of them together, of which each has an equal part.
    """
    share = alpha / max(1, len(rounds))
    return {
        slowdown: sum(_find_power_of(item, share, slowdown) for item in rounds.values()) / max(1, len(rounds))
        for slowdown in SLOWDOWNS
    }


def _find_power_of(rounds: Rounds, alpha: float, slowdown: float) -> float:
    base, head = rounds.of_pair(*rounds.packages)
    # So few rounds say nothing of means, whatever the interval is.
    return find_power(base, head, alpha, slowdown) if shows_means(rounds, base.size) else 0.0


def _find_error(base: FloatArray, head: FloatArray) -> float | None:
    if base.size < 2 or base.mean() <= 0:
        return None
    ratio = head.mean() / base.mean()
    return float((head - ratio * base).std(ddof=1) / base.mean() / math.sqrt(base.size))


def _find_critical(n: int, alpha: float) -> float:
    return float(find_anytime_critical(np.array([n]), alpha / _PARTS)[0])

"""P-values adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

#: How: to the familywise error (Holm), to the false discovery rate (Benjamini and Hochberg), or not.
Adjustment = Literal["holm", "bh", "none"]


def share_confidence(confidence: float, count: int) -> float:
    """Level of each of so many intervals that together hold with `confidence` (Bonferroni).

    What each may miss is rounded down to three figures, so that the level can be read and is never too low.
    """
    return confidence if count == 1 else 1 - share_alpha(1 - confidence, count)


def share_alpha(alpha: float, count: int) -> float:
    """Level of each of so many tests that together err at `alpha` (Bonferroni), to three figures, down."""
    if count == 1:
        return alpha
    digits = 3 - math.ceil(math.log10(alpha / count))
    return math.floor(alpha / count * 10.0**digits * (1 + 1e-9)) / 10.0**digits


def adjust_holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """P-values adjusted for their number by Holm's step-down procedure (1979); None stays None."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[index] = running
    return tuple(adjusted)


def adjust_benjamini_hochberg(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """P-values adjusted to the false discovery rate (Benjamini and Hochberg 1995); None stays None."""
    known = sorted(((p, index) for index, p in enumerate(p_values) if p is not None), reverse=True)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 1.0
    for place, (p, index) in enumerate(known):
        running = min(running, len(known) / (len(known) - place) * p)
        adjusted[index] = running
    return tuple(adjusted)


def adjust_p_values(p_values: Sequence[float | None], adjustment: Adjustment) -> tuple[float | None, ...]:
    """P-values adjusted for their number in the way named; None, no test, stays None and does not count."""
    if adjustment == "none":
        return tuple(p_values)
    return adjust_holm(p_values) if adjustment == "holm" else adjust_benjamini_hochberg(p_values)

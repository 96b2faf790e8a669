"""P-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

#: How: to the familywise error (Holm), to the false discovery rate (Benjamini and Hochberg), or not.
Adjustment = Literal["holm", "bh", "none"]


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

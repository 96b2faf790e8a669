"""Intervals as lines of characters, on one logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence


def draw_interval_lines(intervals: Sequence[tuple[float, float, float]], width: int) -> list[str]:
    """A line for each low end, value and high end, all of them above zero; none where nothing differs."""
    ends = [end for low, _, high in intervals for end in (low, high)]
    if len(intervals) < 2 or min(ends) <= 0 or not all(map(math.isfinite, ends)):
        return []
    low, high = math.log(min(ends)), math.log(max(ends))
    if high <= low:
        return []

    def place(value: float) -> int:
        share = (math.log(value) - low) / (high - low)
        return min(width - 1, max(0, round(share * (width - 1))))

    lines = []
    for left, middle, right in intervals:
        cells = [" "] * width
        for index in range(place(left), place(right) + 1):
            cells[index] = "─"
        cells[place(middle)] = "●"
        lines.append("".join(cells))
    return lines

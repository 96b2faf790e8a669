"""Whole numbers so large that a double rounds their differences away."""

from __future__ import annotations

import math

from datamill.experiment.errors import InputError

#: Whole numbers beyond 2⁵³ must spread over so many steps of a double.
_FEWEST_STEPS = 1e6


def may_lose_digits(low: float, high: float) -> bool:
    """Whether numbers in this range differ by little more than what doubles of their size tell apart."""
    step = math.ulp(max(abs(low), abs(high)))
    return step > 1 and high - low < _FEWEST_STEPS * step


def describe_lost_digits(name: str, example: int, least: int, source: str) -> InputError:
    """Return the error about a column of such numbers, of which one and the least are given."""
    return InputError(
        f"the whole numbers of {name} are so large ({example}) that their differences would be rounded away",
        where=source,
        remedy=f"Subtract a constant from them, such as {least}.",
    )

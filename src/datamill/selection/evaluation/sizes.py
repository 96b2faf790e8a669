"""How often sizes and directions of changes were told rightly."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.selection.evaluation.rates import Rate


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """Changes of which a size, and those of which a direction was told, by what was known before them.

    `within`: their size lay in the interval of that `confidence`; `right`: the direction was the one told.
    """

    confidence: float
    within: Rate
    right: Rate

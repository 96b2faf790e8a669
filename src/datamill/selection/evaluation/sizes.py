"""How often sizes and directions of changes were told rightly."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.selection.evaluation.rates import Rate


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """Changes of which a size, and those of which a direction was told, by what was known before them.

    `within`: their size lay in the interval of that `confidence`. `told`: changes of which a direction was
    told, and `right` those of them that had it. `by_sign`: changes that had the direction of the sign of the
    edit, of those where it has one: what would be right if it always were told.
    """

    confidence: float
    within: Rate
    told: Rate
    right: Rate
    by_sign: Rate

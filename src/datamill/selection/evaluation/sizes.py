"""How often sizes and directions of changes were told rightly."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.selection.evaluation.rates import Rate


@dataclass(frozen=True, slots=True)
class SizeCoverage:
    """Changes that were told when the own history had `least` to `most` changes; None is any number.

    `told`: those with an interval, of all. `within`: those whose size lay in it, of these. `versions`:
    versions of which all changes did, which is what the interval promises.
    """

    least: int
    most: int | None
    told: Rate
    within: Rate
    versions: Rate


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """Sizes and directions of changes as they were told by what was known before them.

    `every` is over all changes, `by_history` by how many changes were known. `told`: changes of which a
    direction was told, and `right` those of them that had it. `by_sign`: changes that had the direction of
    the sign of the edit, of those where it has one: what would be right if it always were told;
    `by_sign_versions`: versions of which all changes had it.
    """

    confidence: float
    every: SizeCoverage
    by_history: tuple[SizeCoverage, ...]
    told: Rate
    right: Rate
    by_sign: Rate
    by_sign_versions: Rate

"""Whether a change makes a benchmark slower or faster, where the history says that this can be told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from datamill.selection.predictors.case import Case

Direction = Literal["slower", "faster", "unknown"]
#: The weighted change of length, with its sign.
FEATURE = "own.signed_edit"
#: A direction is told where it will be right in at least this share of versions.
LEAST_RIGHT = 0.9
#: Least chance, with that share, of as many right versions: only what is rarer is believed.
ALPHA = 0.05


class LearnedDirection(msgspec.Struct, frozen=True):
    """In how many versions the sign of `own.signed_edit` was that of each change: `right` of `n`.

    `holds`: more often than a share of `LEAST_RIGHT` would be with a probability of 5% (exact binomial test,
    one-sided), which takes 29 versions without a mistake.
    """

    n: int
    right: int
    holds: bool

    def tell(self, features: dict[str, float]) -> Direction:
        """Return the direction of a change with these features."""
        edit = features.get(FEATURE, 0.0)
        if not self.holds or edit == 0:
            return "unknown"
        return "slower" if edit > 0 else "faster"


def learn_direction(cases: Iterable[Case]) -> LearnedDirection:
    """Count in how many versions of the history the sign of the edit was right.

    Of versions with a change whose edit has a sign. Benchmarks of one version change alike: counted one by
    one, a few versions would make guesses look like knowledge.
    """
    from scipy.stats import binomtest

    found: dict[int, bool] = {}
    for case in cases:
        edit = case.features.get(FEATURE, 0.0)
        if case.changed and case.ratio is not None and case.ratio != 1 and edit:
            is_right = (case.ratio > 1) == (edit > 0)
            found[case.new_order] = found.get(case.new_order, True) and is_right
    n, right = len(found), sum(found.values())
    holds = bool(n) and binomtest(right, n, LEAST_RIGHT, alternative="greater").pvalue < ALPHA
    return LearnedDirection(n, right, bool(holds))

"""Whether a change makes a benchmark slower or faster, where the history says that this can be told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from datamill.selection.predictors.case import Case

Direction = Literal["slower", "faster", "unknown"]
#: The weighted change of length, with its sign.
FEATURE = "own.signed_edit"
#: A direction is told where more than this share will be right. More than half is not enough: benchmarks of
#: one commit change alike, so that a few commits make guesses look like knowledge.
LEAST_RIGHT = 2 / 3
#: Least chance, with that share, of as many right directions: only what is rarer is believed.
ALPHA = 0.05


class LearnedDirection(msgspec.Struct, frozen=True):
    """How often the sign of `own.signed_edit` was that of the change: in `right` of `n` changes.

    `holds`: more often than a share of `LEAST_RIGHT` would be with a probability of 5% (exact binomial test,
    one-sided).
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
    """Count in how many changes of the history the sign of the edit was right."""
    from scipy.stats import binomtest

    told = [
        (case.ratio > 1) == (case.features[FEATURE] > 0)
        for case in cases
        if case.changed and case.ratio is not None and case.ratio != 1 and case.features.get(FEATURE)
    ]
    right = sum(told)
    holds = bool(told) and binomtest(right, len(told), LEAST_RIGHT, alternative="greater").pvalue < ALPHA
    return LearnedDirection(len(told), right, bool(holds))

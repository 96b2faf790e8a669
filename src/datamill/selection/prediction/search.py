"""The search for the version that introduced a change, by how likely each is and what looking costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SuspectVersion:
    """A version that may have introduced a change.

    `probability` is that it did, given that one of the candidates did; `cost_s` what it takes to build and
    measure it. `score` is what the predictor said of it alone.
    """

    commit: str
    subject: str
    program: str
    score: float
    probability: float
    cost_s: float


#: What a score of 0 counts as: nothing is impossible but equal programs.
LEAST_SCORE = 1e-3


def share_probability(scores: Sequence[float], is_identical: Sequence[bool]) -> list[float]:
    """Return the probability of each version, given that exactly one introduced the change.

    The odds of each that it did and no other: s / (1 - s). A program that equals the one before it cannot.
    """
    odds = [
        0.0 if same else max(score, LEAST_SCORE) / (1 - min(score, 1 - LEAST_SCORE))
        for score, same in zip(scores, is_identical, strict=True)
    ]
    total = sum(odds)
    return [value / total for value in odds] if total else [0.0 for _ in odds]


def choose_split(candidates: Sequence[SuspectVersion]) -> int:
    """Return which candidate to measure next: the one that rules out most for its cost.

    Measuring a version tells whether the change came with it or before, or after it: the smaller of both
    probabilities is what is ruled out at least, and is divided by the cost. The last one needs no
    measurement: it has the change.
    """
    best, gain = 0, -1.0
    before = 0.0
    for place, item in enumerate(candidates[:-1]):
        before += item.probability
        worth = min(before, 1 - before) / max(item.cost_s, 1e-6)
        if worth > gain + 1e-12:
            best, gain = place, worth
    return best


def narrow(candidates: Sequence[SuspectVersion], place: int, *, has_change: bool) -> list[SuspectVersion]:
    """Return the candidates that are left after one was measured, with their probabilities anew."""
    left = list(candidates[: place + 1] if has_change else candidates[place + 1 :])
    total = sum(item.probability for item in left)
    return [
        SuspectVersion(
            item.commit,
            item.subject,
            item.program,
            item.score,
            item.probability / total if total else 1 / len(left),
            item.cost_s,
        )
        for item in left
    ]

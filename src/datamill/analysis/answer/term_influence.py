"""What each factor does to a response: its share and its largest change."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.coding import Term


@dataclass(frozen=True, slots=True)
class TermInfluence:
    """How much one term matters.

    `share` is its part of the total sum of squares, `partial` its sum of squares over itself plus
    error, `p` adjusted by Holm over all terms and None where nothing varies. `largest` is the
    largest deviation from the grand mean at `levels` that the term by itself is answerable for, and
    `largest_percent` the same in percent of that mean (None when the mean may be zero).
    """

    term: Term
    share: float
    partial: float
    p: float | None
    detected: bool
    levels: tuple[str, ...]
    largest: Interval
    largest_percent: Interval | None


@dataclass(frozen=True, slots=True)
class Influence:
    """The terms of a model, the most influential first; `warnings` say where the search is weak."""

    terms: tuple[TermInfluence, ...]
    n: int
    confidence: float
    alpha: float
    method: str
    warnings: tuple[str, ...] = ()

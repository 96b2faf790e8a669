"""Predictions as a page of the coordinator shows them: sentences, and a line for each machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownMachine:
    """A machine with its value and interval in words, and where these lie on the picture's axis.

    `low`, `middle` and `high` are per cent of the axis' length from its left end; of a machine that
    measured the application all three are one.
    """

    machine: str
    measured: bool
    value: str
    interval: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class ShownPrediction:
    """A prediction in words: the answer, a row for each machine (best first), refusals, what it rests on.

    `head` and `level` name the columns of values and intervals; `axis` says what the picture's axis is, and
    is empty without machines.
    """

    lead: tuple[str, ...]
    head: str
    level: str
    axis: str
    machines: tuple[ShownMachine, ...]
    refusals: tuple[str, ...]
    basis: tuple[str, ...]
    warnings: tuple[str, ...]

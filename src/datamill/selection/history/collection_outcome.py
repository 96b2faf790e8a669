"""What a store holds after collecting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CollectionOutcome:
    """What the store holds after collecting.

    `walked` counts the commits that were asked for, `fresh` those that were built now; `reasons` are those
    of failed versions with their numbers, `failing` benchmarks that fail with some programs. `warnings` are
    sentences. `machine` is the one of a fleet that built and measured; empty for the one that collects.
    """

    walked: int
    fresh: int
    built: int
    failed: int
    programs: int
    profiled: int
    observations: int
    finished: bool
    reasons: tuple[tuple[str, int], ...]
    failing: tuple[tuple[str, str, int], ...]
    warnings: tuple[str, ...]
    machine: str = ""

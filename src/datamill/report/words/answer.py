"""The answer that a report gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the question of an experiment, in plain sentences.

    `headline` answers; `details` give means, intervals and n; `mattered` says what else moved the
    response and what did not; `warnings` limit what was said.
    """

    question: str
    headline: str
    details: tuple[str, ...]
    mattered: tuple[str, ...]
    warnings: tuple[str, ...]
    n: int
    confidence: float
    method: str

    def lines(self) -> tuple[str, ...]:
        """The answer as lines for a terminal."""
        warnings = tuple(f"Warning: {warning}" for warning in self.warnings)
        question = (self.question,) if self.question else ()
        return (*question, self.headline, *self.details, *self.mattered, *warnings)

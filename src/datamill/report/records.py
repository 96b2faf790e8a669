"""What a report is told about the trials, and the answer that it gives."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.results.decisions import Decision


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that ran trials."""

    worker: str
    arch: str
    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """How the trials went and where.

    Trials are `planned`, and of these `completed`, `failed`, `timed_out` or `lost`; the rest has
    not run yet. `excluded` counts completed trials whose observations are not used. `warnings`
    are whole sentences from the judgement of validity. With `builds_shared` the replicates of a
    design point measured the same build; with `builds_repeated` there are several builds of it, each with
    executions of its own. A sequential experiment has its `decisions`, and planned trials
    that a decision to stop made needless: `not_needed`, not counted in `planned`.
    """

    planned: int
    completed: int
    failed: int
    timed_out: int
    lost: int
    excluded: int
    machines: tuple[Machine, ...]
    isolation_kind: str
    isolation_reason: str
    builds_shared: bool
    warnings: tuple[str, ...] = ()
    not_needed: int = 0
    decisions: tuple[Decision, ...] = ()
    builds_repeated: bool = False

    @property
    def ended(self) -> int:
        """Trials that have ended, one way or another."""
        return self.completed + self.failed + self.timed_out + self.lost


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

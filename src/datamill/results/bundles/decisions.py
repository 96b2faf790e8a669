"""The decisions of a sequential experiment: a JSON line after each batch, on disk before the next begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from datamill.design.batches import list_batches
from datamill.design.design import Design, PlannedTrial
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.results.trials.log import append_lines

if TYPE_CHECKING:
    from datamill.experiment.experiment import Experiment

DECISION_SCHEMA = 1
#: The file of a bundle that holds them.
DECISIONS_FILE = "decisions.jsonl"
#: Why an experiment goes on or stops: "changed" and "no difference" answer `detect`, "precise" answers
#: `half_width`, "supported" and "refuted" a hypothesis, the others are bounds, or the user who ended it.
Cause = Literal[
    "not yet", "changed", "no difference", "precise", "supported", "refuted", "max_trials", "max_time",
    "interrupted",
]  # fmt: skip

_DAMAGED = (
    f"Keep a copy and remove the line and all behind it: {argument('resume', verb='run')} decides again from "
    "the log."
)


class LookInterval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one look saw: an estimate and its interval, which is unbounded where `low` and `high` are None.

    Of `detect` it is the relative difference of a package from the baseline, of `half_width` the mean of a
    package in the response's unit. `rounds` are the independent replicates behind it. The `estimate`
    is None where the baseline's mean is zero. `of` tells a ratio of means from one of typical values.
    """

    name: str
    rounds: int
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    of: Literal["mean", "typical"] = "mean"

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval over the size of the estimate; None where there is none."""
        if self.low is None or self.high is None or not self.estimate:
            return None
        return (self.high - self.low) / 2 / abs(self.estimate)


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided after a batch, and on what grounds.

    `look` counts batches; `trials` and `elapsed_s` are what the experiment has taken so far, without
    interruptions. `rule` is the rule in words, `reason` the decision. `warnings` limit it. `means` are the
    packages' and `pairs` their ratios, less 1, where `intervals` hold others.
    """

    schema: int
    look: int
    trials: int
    elapsed_s: float
    response: str
    rule: str
    intervals: tuple[LookInterval, ...]
    decision: Literal["go on", "stop"]
    cause: Cause
    reason: str
    warnings: tuple[str, ...] = ()
    means: tuple[LookInterval, ...] = ()
    pairs: tuple[LookInterval, ...] = ()


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """Return all decisions in the order of looks; a torn last line is passed over, to be decided again.

    Raises:
        InputError: when a whole line is not a decision, or looks do not follow each other.
    """
    if not path.exists():
        return ()
    decisions: list[Decision] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            break
        where = f"{path}:{number}"
        try:
            decision = msgspec.json.decode(line, type=Decision)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"not a decision: {error}", where=where, remedy=_DAMAGED) from None
        if decision.schema != DECISION_SCHEMA or decision.look != len(decisions) + 1:
            raise InputError(
                f"look {len(decisions) + 1} was to follow, in schema {DECISION_SCHEMA}",
                where=where,
                remedy=_DAMAGED,
            )
        decisions.append(decision)
    return tuple(decisions)


def append_decision(path: Path, decision: Decision) -> None:
    """Add a decision and return when it is on disk; a torn last line is cut off first.

    Raises:
        OSError: when the disk is full or fails.
    """
    append_lines(path, msgspec.json.Encoder().encode_lines([decision]))


def list_needed_trials(
    experiment: Experiment, design: Design, decisions: Sequence[Decision]
) -> tuple[PlannedTrial, ...]:
    """Return the planned trials in run order, less those that a decision to stop made needless."""
    if not decisions or decisions[-1].decision != "stop":
        return design.trials
    batches = list_batches(experiment, design)
    seen = [trial for batch in batches[: decisions[-1].look] for trial in batch]
    # Where the time was over within a batch, the rest of it is not needed either.
    return tuple(seen[: decisions[-1].trials])

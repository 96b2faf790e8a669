"""The plan of a submission: shown before it runs, with its number when it was accepted, or with a refusal."""

from __future__ import annotations

import msgspec

from datamill.protocol.api.problems import Problem


class PlannedWorker(msgspec.Struct, frozen=True):
    """A worker that takes part, and what it brings."""

    name: str
    why: str


class ExcludedWorker(msgspec.Struct, frozen=True):
    """A worker that cannot take part, and why."""

    name: str
    reason: str


class CoveredLevels(msgspec.Struct, frozen=True):
    """Levels of a dimension that are in the design, of all that the fleet has."""

    chosen: tuple[str, ...]
    of: tuple[str, ...]


class PlannedFactor(msgspec.Struct, frozen=True):
    """A factor of the design with its levels; `treatment` is empty where the design varies it."""

    name: str
    levels: tuple[str, ...]
    treatment: str


class SubmissionPlan(msgspec.Struct, frozen=True):
    """The plan of a submission; `finish_s` is from now, null when no trial of its packages was ever timed.

    `growth` says of an experiment with `until` how it grows and when it stops; its numbers are then the most.
    It is empty for others. `digest` stands for what a user confirms of it: machines, levels, trials, reboots,
    debug trials, profiles. `profiled` are the packages whose builds are profiled before they are measured.
    """

    name: str
    workers: tuple[PlannedWorker, ...]
    spares: tuple[str, ...]
    ineligible: tuple[ExcludedWorker, ...]
    coverage: dict[str, CoveredLevels]
    factors: tuple[PlannedFactor, ...]
    points: int
    replicates: int
    trials: int
    growth: str
    debug_trials: int
    reboot: str
    debug: str
    profiled: tuple[str, ...]
    finish_s: float | None
    warnings: tuple[str, ...]
    missing_files: tuple[str, ...]
    digest: str


class AcceptedSubmission(SubmissionPlan, frozen=True):
    """The plan of an experiment that was accepted, and its number."""

    id: int


class RefusedSubmission(Problem, frozen=True):
    """Why a submission was refused: files that are not there, or another plan than the one confirmed.

    `missing_files` are SHA-256; `plan` is the plan that it has now.
    """

    missing_files: tuple[str, ...] = ()
    plan: SubmissionPlan | None = None

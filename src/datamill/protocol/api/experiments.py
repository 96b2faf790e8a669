"""Experiments of the fleet, how far they are, and their trials."""

from __future__ import annotations

import msgspec

from datamill.protocol.api.fleet.stages import StageLine


class ExperimentLine(msgspec.Struct, frozen=True):
    """An experiment in a list."""

    id: int
    name: str
    owner: str
    public: bool
    state: str
    state_reason: str
    submitted_unix_s: float
    ended_unix_s: float | None


class StoppedTrials(msgspec.Struct, frozen=True):
    """A package whose first trials failed alike: its other trials are cancelled."""

    package: str
    sha256: str
    reason: str
    stopped_unix_s: float


class ExperimentStatus(msgspec.Struct, frozen=True):
    """An experiment; `trials` counts those of its design by state, `workers` the same for each worker.

    `stopped` are the packages that get no more leases in it, since their first trials failed alike. `stages`
    are its builds, profiles and measuring trials, where it has more than one of these.
    """

    id: int
    name: str
    owner: str
    public: bool
    state: str
    state_reason: str
    reboot: str
    submitted_unix_s: float
    ended_unix_s: float | None
    trials: dict[str, int]
    debug_trials: dict[str, int]
    workers: dict[str, dict[str, int]]
    finish_s: float | None
    stopped: tuple[StoppedTrials, ...]
    stages: tuple[StageLine, ...] = ()


class AnswerHead(msgspec.Struct, frozen=True):
    """What an experiment says; the first sentence of `answer` answers its question.

    Besides these keys it has all others of `datamill report --json`: responses with their figures, drift,
    uncertainty, quantiles, screening.
    """

    experiment: str
    question: str
    answer: tuple[str, ...]
    mattered: tuple[str, ...]
    n: int
    confidence: float
    method: str
    warnings: tuple[str, ...]
    missing: tuple[str, ...]


class AnalysisHead(msgspec.Struct, frozen=True):
    """An analysis of an experiment's trials; the first sentence of `answer` says what was found.

    Besides these keys it has all others of `datamill analyze VERB --json`.
    """

    answer: tuple[str, ...]
    warnings: tuple[str, ...]


class ComparedExperiment(msgspec.Struct, frozen=True):
    """An experiment of a comparison: its versions, and the `bundle` that some of them are called after.

    `datamill fetch` calls the folder of its bundle so.
    """

    experiment: int
    bundle: str
    versions: tuple[str, ...]


class ComparisonHead(msgspec.Struct, frozen=True):
    """Results of experiments compared; the first sentence of `answer` says what changed.

    `where` has the package and the levels that were compared, given or chosen; `choices` has all that each of
    these could have been, where there were several. `worse` names versions that
    changed for the worse by more than the threshold, null where it was not said which way is better. `text`
    is the statement as it was asked for. Besides these keys it has all others of `datamill compare --json`.
    """

    answer: tuple[str, ...]
    response: str
    experiments: tuple[ComparedExperiment, ...]
    where: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    worse: tuple[str, ...] | None
    text: str
    warnings: tuple[str, ...]


class TrialLine(msgspec.Struct, frozen=True):
    """A trial; `failure` says why its latest attempt did not count, or why none was made.

    Debug trials, builds and profiles end `done`. `needs` is the trial that must be done before.
    """

    trial_id: str
    purpose: str
    position: int
    worker: str
    package: str
    levels: dict[str, str]
    state: str
    attempts: int
    outcome: str
    failure: str
    needs: str = ""


class TrialList(msgspec.Struct, frozen=True):
    """Some trials in their order; ask for the rest with `after=next`."""

    trials: tuple[TrialLine, ...]
    next: int | None

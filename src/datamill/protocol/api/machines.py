"""What is known of machines by the fingerprint suite, and predictions that rest on it."""

from __future__ import annotations

import msgspec


class MachineScore(msgspec.Struct, frozen=True):
    """What a member of the fingerprint suite took on a machine, and the experiment that measured it."""

    machine: str
    benchmark: str
    replicate: int
    seconds: float
    experiment_id: int


class ScoreList(msgspec.Struct, frozen=True):
    """The newest scores of machines that the caller may know; `warnings` say what was left out."""

    scores: tuple[MachineScore, ...]
    warnings: tuple[str, ...] = ()


class MachineTime(msgspec.Struct, frozen=True):
    """What a package took on a machine in one trial: `seconds`, or a `score` of which more is better."""

    machine: str
    replicate: int
    seconds: float | None
    score: float | None


class PackageTimes(msgspec.Struct, frozen=True):
    """What a package of an experiment took on the machines that ran it, a row for each valid trial.

    At several levels of factors each combination is an application of its own, called
    `PACKAGE FACTOR=LEVEL`; `applications` names all of the experiment, `responses` those that it measured.
    """

    experiment: int
    application: str
    response: str
    applications: tuple[str, ...]
    responses: tuple[str, ...]
    times: tuple[MachineTime, ...]
    warnings: tuple[str, ...] = ()


class PredictedMachine(msgspec.Struct, frozen=True):
    """An application on a machine that did not run it; null where nothing can be computed.

    Of a response that is no time, the key is `score` instead of `seconds`.
    """

    machine: str
    low: float | None
    high: float | None
    refused: bool
    reasons: tuple[str, ...]
    seconds: float | None = None
    score: float | None = None


class PredictionHead(msgspec.Struct, frozen=True):
    """An application on machines that did not run it; `confidence` is the level of intervals.

    `expected_error` is a share: how far predictions that are not refused are typically off; `suite_error`
    the same of the suite's own benchmarks, on all machines.

    Besides these keys it has all others of `datamill platforms predict --json`: what carries the
    predictions, where it was measured, the size of the suite.
    """

    answer: tuple[str, ...]
    predictions: tuple[PredictedMachine, ...]
    application: str
    kind: str
    confidence: float
    method: str
    verdict: str
    expected_error: float | None
    suite_error: float | None
    n: int
    warnings: tuple[str, ...]

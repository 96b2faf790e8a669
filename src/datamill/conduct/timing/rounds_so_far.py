"""The values of timed commands, round by round, as they come in."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from statistics import fmean

import numpy as np

from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.design.batches import number_round, repeats_builds
from datamill.design.design import PlannedTrial
from datamill.experiment.experiment import Experiment
from datamill.protocol.trial import TrialRecord
from datamill.results.trials.responses import evaluate_response, list_built_in_values, list_wanted_responses


class RoundsSoFar:
    """Takes the record of each execution, and hands out the rounds that are measured."""

    def __init__(self, experiment: Experiment) -> None:
        self._packages = tuple(package.name for package in experiment.packages)
        self._wanted = list_wanted_responses(experiment)[0]
        self._experiment = experiment
        self._values: dict[int, list[list[float]]] = {}

    def add(self, trial: PlannedTrial, record: TrialRecord) -> float | None:
        """Take note of an execution and return its value; None where it has none."""
        number = number_round(self._experiment, trial)
        row = self._values.setdefault(number, [[] for _ in self._packages])
        if record.outcome != "completed" or record.run is None:
            return None
        value = evaluate_response(self._wanted, list_built_in_values(record.run), {})[0]
        if isinstance(value, str):
            return None
        row[self._packages.index(trial.package)].append(value)
        return value

    def gather(self, last: int) -> Rounds:
        """Return the rounds up to one of them, of which no execution is still to come."""
        numbers = tuple(number for number in sorted(self._values) if number <= last)
        values = np.array(
            [[fmean(cell) if cell else nan for cell in self._values[number]] for number in numbers]
        ).reshape(len(numbers), -1)
        steps = tuple(
            _find_step([value for number in numbers for value in self._values[number][column]])
            for column in range(values.shape[1])
        )
        replication = self._experiment.replication
        executions = replication.executions if replication and repeats_builds(self._experiment) else 1
        return Rounds(self._packages, numbers, values, steps, executions)


def _find_step(values: Sequence[float]) -> float:
    known = np.array(values)
    return find_hiding_step(known, np.zeros(known.size, dtype=np.int64)) if known.size else 0.0


def list_failures(records: Sequence[TrialRecord]) -> dict[str, list[TrialRecord]]:
    """Return the executions that failed, by command."""
    failed: dict[str, list[TrialRecord]] = {}
    for record in records:
        if record.outcome != "completed":
            failed.setdefault(record.package, []).append(record)
    return failed

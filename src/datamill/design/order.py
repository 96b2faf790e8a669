"""In which order trials run, and which of them share a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from datamill.design.coverage import rank_by_seed
from datamill.design.records import PlannedTrial
from datamill.experiment.records import Experiment

#: The nuisance condition shared by all trials of an experiment that runs here, in one go.
LOCAL_BLOCK = "here"


def order_trials(experiment: Experiment, trials: Sequence[PlannedTrial]) -> tuple[PlannedTrial, ...]:
    """Return the trials in the order in which they run, drawn from the experiment's seed."""
    ranked = sorted(trials, key=lambda trial: rank_by_seed(experiment.seed, "order", trial.trial_id))
    return tuple(replace(trial, order=order) for order, trial in enumerate(ranked, start=1))

"""In which order trials run, and which of them share a block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from datamill.design.design import PlannedTrial
from datamill.design.seeds import rank_by_seed

if TYPE_CHECKING:
    from datamill.experiment.experiment import Experiment

#: The nuisance condition shared by all trials of an experiment that runs here, in one go.
LOCAL_BLOCK = "here"


def phrase_order(experiment: Experiment) -> str:
    """Return the order of trials in words, such as `random order`."""
    return "random order" if experiment.order == "random" else "random order within replicates (interleaved)"


def order_trials(experiment: Experiment, trials: Sequence[PlannedTrial]) -> tuple[PlannedTrial, ...]:
    """Return the trials in the order in which they run, drawn from the experiment's seed.

    With `order = "interleaved"` the trials of a replicate are a block: all of one run, in random order,
    before those of the next (a randomised complete block design). Where replicates are nested in builds, the
    order of replicates is drawn as well, so that no build is early in all of its executions.
    """

    def rank(trial: PlannedTrial) -> bytes:
        return rank_by_seed(experiment.seed, "order", trial.trial_id)

    if experiment.order == "random":
        ranked = sorted(trials, key=rank)
        return tuple(trial.put(order, trial.block) for order, trial in enumerate(ranked, start=1))
    nested = experiment.replication is not None

    def place(trial: PlannedTrial) -> tuple[bytes, int]:
        drawn = rank_by_seed(experiment.seed, "block", str(trial.replicate)) if nested else b""
        return drawn, trial.replicate

    ranked = sorted(trials, key=lambda trial: (*place(trial), rank(trial)))
    ordered: list[PlannedTrial] = []
    for block, (_, members) in enumerate(groupby(ranked, key=place), start=1):
        for trial in members:
            ordered.append(trial.put(len(ordered) + 1, str(block)))
    return tuple(ordered)

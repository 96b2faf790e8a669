"""Full factorial designs in random order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from datamill.design.coverage import choose_levels, rank_by_seed
from datamill.design.records import Design, DesignFactor, PlannedTrial
from datamill.experiment.factors import FACTORS
from datamill.experiment.records import Experiment

#: The nuisance condition shared by all trials of an experiment that runs here, in one go.
LOCAL_BLOCK = "here"


def choose_factors(experiment: Experiment) -> tuple[DesignFactor, ...]:
    """Return the design's factors with their levels; the package is one when there are several."""
    factors = []
    if len(experiment.packages) > 1:
        names = tuple(package.name for package in experiment.packages)
        factors.append(DesignFactor("package", names, len(names), build=True))
    for choice in experiment.factors:
        factor = FACTORS[choice.name]
        levels = choice.levels
        if choice.coverage is not None:
            levels = choose_levels(choice.name, factor.levels, choice.coverage, experiment.seed)
        available = max(len(factor.levels), len(levels))
        factors.append(DesignFactor(choice.name, levels, available, factor.build))
    return tuple(factors)


def count_trials(experiment: Experiment) -> int:
    """Return the number of trials of the full factorial design without building it."""
    count = experiment.replicates
    for factor in choose_factors(experiment):
        count *= len(factor.levels)
    return count


def count_parameters(levels: Sequence[int], order: int) -> int:
    """Return how many parameters a linear model has: the mean, main effects, interactions up to `order`.

    Args:
        levels: number of levels of each factor.
        order: most factors in one interaction; 1 for main effects alone.
    """
    by_order = [1] + [0] * min(order, len(levels))
    for count in levels:
        for size in range(len(by_order) - 1, 0, -1):
            by_order[size] += by_order[size - 1] * (count - 1)
    return sum(by_order)


def build_design(experiment: Experiment) -> Design:
    """Return the full factorial design: every combination of levels, replicated, in random order.

    The order is drawn over all trials, replicates included, from the experiment's seed; the same
    seed gives the same order everywhere (ICPE 2013 section 5.1; thesis 2015 section 1).
    """
    factors = choose_factors(experiment)
    names = [factor.name for factor in factors]
    width = len(str(count_trials(experiment)))
    planned = []
    number = 0
    for point, combination in enumerate(itertools.product(*(factor.levels for factor in factors)), start=1):
        levels = dict(zip(names, combination, strict=True))
        package = levels.get("package", experiment.packages[0].name)
        for replicate in range(1, experiment.replicates + 1):
            number += 1
            trial_id = f"t{number:0{width}d}"
            planned.append((trial_id, point, replicate, package, levels))
    planned.sort(key=lambda entry: rank_by_seed(experiment.seed, "order", entry[0]))
    trials = tuple(
        PlannedTrial(
            trial_id=trial_id,
            order=order,
            point=point,
            replicate=replicate,
            package=package,
            levels=levels,
            block=LOCAL_BLOCK,
            seed=int.from_bytes(rank_by_seed(experiment.seed, "trial", trial_id)[:6], "big"),
        )
        for order, (trial_id, point, replicate, package, levels) in enumerate(planned, start=1)
    )
    return Design(
        kind="full factorial",
        seed=experiment.seed,
        replicates=experiment.replicates,
        factors=factors,
        trials=trials,
    )

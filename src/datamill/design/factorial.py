"""Full factorial designs in random order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from datamill.design.coverage import choose_levels, rank_by_seed
from datamill.design.records import Design, DesignFactor, PlannedTrial, Role
from datamill.experiment.errors import InputError
from datamill.experiment.factors import FACTORS
from datamill.experiment.levels import NumberRange
from datamill.experiment.offers import NO_OFFERS, Offers, list_available_levels
from datamill.experiment.records import Experiment, FactorChoice

#: The nuisance condition shared by all trials of an experiment that runs here, in one go.
LOCAL_BLOCK = "here"


def choose_factors(experiment: Experiment, offers: Offers = NO_OFFERS) -> tuple[DesignFactor, ...]:
    """Return the design's factors with their levels; the package is one when there are several.

    A coverage counts the levels that the host offers; without an offer, those of the catalogue.

    Raises:
        InputError: when a coverage finds no level to choose from.
    """
    factors = []
    if len(experiment.packages) > 1:
        names = tuple(package.name for package in experiment.packages)
        factors.append(DesignFactor("package", names, len(names), build=True))
    factors += [_choose_factor(choice, experiment, offers) for choice in experiment.choices]
    # Stable: what is crossed keeps its order, with nuisances that vary after the question's factors.
    return tuple(sorted(factors, key=lambda factor: factor.role == "nuisance"))


def _choose_factor(choice: FactorChoice, experiment: Experiment, offers: Offers) -> DesignFactor:
    build = choice.name in FACTORS and FACTORS[choice.name].build
    if choice.span is not None:
        return DesignFactor(choice.name, (), choice.span.size, build, "nuisance", choice.span.text)
    available = list_available_levels(choice.name, experiment, offers)
    levels = choice.levels
    if choice.coverage is not None:
        levels = choose_levels(choice.name, available, choice.coverage, experiment.seed)
    if not levels:
        raise InputError(
            f'factor "{choice.name}" has no levels to choose from',
            where=choice.where,
            remedy="Name the levels that it is to have.",
        )
    role: Role = "factor" if choice.treatment == "vary" else "nuisance"
    drawn_from = ", ".join(levels) if choice.treatment == "randomise" else ""
    return DesignFactor(choice.name, levels, max(len(available), len(levels)), build, role, drawn_from)


def count_trials(experiment: Experiment, factors: Sequence[DesignFactor]) -> int:
    """Return the number of trials of the full factorial design without building it."""
    crossed = (len(factor.levels) for factor in factors if factor.role == "factor")
    return experiment.replicates * math.prod(crossed)


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


def build_design(experiment: Experiment, offers: Offers = NO_OFFERS) -> Design:
    """Return the full factorial design: every combination of levels, replicated, in random order.

    The order is drawn over all trials, replicates included, from the experiment's seed; the same
    seed gives the same order everywhere (ICPE 2013 section 5.1; thesis 2015 section 1). Levels of
    randomised nuisances are drawn for each trial from the trial's own seed.

    Raises:
        InputError: when a coverage finds no level to choose from.
    """
    factors = choose_factors(experiment, offers)
    crossed = [factor for factor in factors if factor.role == "factor"]
    names = [factor.name for factor in crossed]
    ranges = {choice.name: choice.span for choice in experiment.choices if choice.span is not None}
    nuisances = [
        (factor.name, ranges.get(factor.name, factor.levels))
        for factor in factors
        if factor.role == "nuisance"
    ]
    width = len(str(count_trials(experiment, factors)))
    planned = []
    number = 0
    for point, combination in enumerate(itertools.product(*(factor.levels for factor in crossed)), start=1):
        levels = dict(zip(names, combination, strict=True))
        package = levels.get("package", experiment.packages[0].name)
        for replicate in range(1, experiment.replicates + 1):
            number += 1
            trial_id = f"t{number:0{width}d}"
            planned.append((trial_id, point, replicate, package, levels))
    planned.sort(key=lambda entry: rank_by_seed(experiment.seed, "order", entry[0]))
    trials = []
    for order, (trial_id, point, replicate, package, levels) in enumerate(planned, start=1):
        seed = int.from_bytes(rank_by_seed(experiment.seed, "trial", trial_id)[:6], "big")
        drawn = {name: draw_level(name, source, seed) for name, source in nuisances}
        trials.append(
            PlannedTrial(
                trial_id=trial_id,
                order=order,
                point=point,
                replicate=replicate,
                package=package,
                levels={**levels, **drawn} if drawn else levels,
                block=LOCAL_BLOCK,
                seed=seed,
            )
        )
    return Design(
        kind="full factorial",
        seed=experiment.seed,
        replicates=experiment.replicates,
        factors=factors,
        trials=tuple(trials),
    )


def draw_level(factor: str, source: tuple[str, ...] | NumberRange, seed: int) -> str:
    """Draw a level uniformly from a trial's seed, independently of what is drawn for other factors."""
    size = source.size if isinstance(source, NumberRange) else len(source)
    # 256 bits: what the remainder favours is beyond any measuring.
    index = int.from_bytes(rank_by_seed(seed, "draw", factor), "big") % size
    return source.level(index) if isinstance(source, NumberRange) else source[index]


def name_build(design: Design, trial: PlannedTrial) -> tuple[str, ...]:
    """Return what tells the build of a trial from others: package, build factors, and its own seed if drawn.

    At a level such as `random` each trial has a build of its own, however builds are shared.
    """
    names = [factor.name for factor in design.factors if factor.build and factor.name != "package"]
    levels = tuple(trial.levels[name] for name in names)
    drawn = any(level in FACTORS[name].drawn for name, level in zip(names, levels, strict=True))
    return (trial.package, *levels, *((str(trial.seed),) if drawn else ()))

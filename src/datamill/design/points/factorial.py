"""Factors with their levels, and how large the design over them is."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.design.batches import grow_replication
from datamill.design.design import DesignFactor, Role
from datamill.design.nesting import count_calibration_trials
from datamill.design.points.coverage import choose_levels
from datamill.design.points.points import count_points
from datamill.design.reference_trials import count_reference_trials
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, FactorChoice
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.offers import NO_OFFERS, Offers, list_available_levels


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


def count_trials(experiment: Experiment, factors: Sequence[DesignFactor], *, machines: int = 1) -> int:
    """Return the number of trials of the design on one of so many machines: the most, with `until`."""
    points = count_points(experiment, factors)
    replicates = grow_replication(experiment, points, machines=machines).replicates
    count = replicates * points + count_calibration_trials(experiment)
    return count + count_reference_trials(experiment, count)


def find_missing_error(experiment: Experiment, factors: Sequence[DesignFactor], trials: int) -> str:
    """Say that so few trials leave nothing to estimate the error from; empty when they are enough."""
    levels = [len(factor.levels) for factor in factors if factor.role == "factor"]
    # A design that leaves points out is mostly for main effects: what it cannot tell is not in the model.
    parameters = count_parameters(
        levels, experiment.interaction_order if experiment.design.kind == "full" else 1
    )
    if trials > parameters:
        return ""
    return (
        f"{trials} trials leave nothing to estimate the error from ({parameters} means and effects): "
        "there will be no intervals. Raise replicates."
    )


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

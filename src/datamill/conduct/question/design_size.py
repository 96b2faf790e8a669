"""How large the design of an experiment is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.conduct.question.read_files import FoundExperiment
from datamill.design.design import DesignFactor
from datamill.design.nesting import count_calibration_trials
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.points.points import ChosenPoints, choose_points, count_points
from datamill.design.reference_trials import count_among
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_count

#: Designs beyond this size must be confirmed.
MOST_UNCONFIRMED_TRIALS = 100_000


@dataclass(frozen=True, slots=True)
class SizedDesign:
    """A design whose size is known: its factors, its points out of all `combinations` of levels, its trials.

    With `until` there are so many trials at most. `calibrations` and `references` of them are not for the
    question. `chosen` are the points where a design leaves some out.
    """

    factors: tuple[DesignFactor, ...]
    points: int
    combinations: int
    trials: int
    calibrations: int = 0
    references: int = 0
    chosen: ChosenPoints | None = None

    @property
    def crossed(self) -> tuple[DesignFactor, ...]:
        """The factors that the question is about."""
        return tuple(factor for factor in self.factors if factor.role == "factor")


def size_design(experiment: Experiment, factors: tuple[DesignFactor, ...], trials: int) -> SizedDesign:
    """Return how large a design of so many trials is, and which points it chooses.

    Raises:
        InputError: when the design cannot be made of these factors.
    """
    return SizedDesign(
        factors=factors,
        points=count_points(experiment, factors),
        combinations=math.prod(len(factor.levels) for factor in factors if factor.role == "factor"),
        trials=trials,
        calibrations=count_calibration_trials(experiment),
        references=count_among(experiment, trials) if experiment.reference is not None else 0,
        chosen=None if experiment.design.kind == "full" else choose_points(experiment, factors),
    )


def count_design(file: FoundExperiment) -> tuple[tuple[DesignFactor, ...], int]:
    """Return the factors of an experiment's design and the number of its trials.

    Raises:
        InputError: when there is no such design, naming the file.
    """
    try:
        factors = choose_factors(file.experiment, file.offers)
        return factors, count_trials(file.experiment, factors)
    except InputError as problem:
        # The design knows sections and keys, and nothing of files.
        if not problem.where.startswith("["):
            raise
        where = f"{file.path}: {problem.where}"
        raise problem.moved(where) from problem


def check_design_size(file: FoundExperiment, allowed_trials: int) -> tuple[tuple[DesignFactor, ...], int]:
    """Count the design; refuse one that nobody confirmed and that is too large to be meant.

    Raises:
        InputError: with the size and how it comes about.
    """
    factors, count = count_design(file)
    if count <= max(MOST_UNCONFIRMED_TRIALS, allowed_trials):
        return factors, count
    product = " x ".join(
        f"{len(factor.levels)} ({factor.name})" for factor in factors if factor.role == "factor"
    )
    if file.experiment.design.kind != "full":
        product = f"{format_count(count_points(file.experiment, factors))} points"
    raise InputError(
        f"the design has {format_count(count)} trials: {product} x {file.experiment.replicates} replicates",
        where=str(file.path),
        remedy="Name fewer levels, lower a coverage or the replicates; or confirm with "
        f"{argument('allow_trials', count, verb='run')}.",
    )

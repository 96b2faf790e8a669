"""How large the design of an experiment is."""

from __future__ import annotations

from datamill.conduct.question.read_files import ExperimentFile
from datamill.design.design import DesignFactor
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.points.points import count_points
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_count

#: Designs beyond this size must be confirmed.
MOST_UNCONFIRMED_TRIALS = 100_000


def size_design(file: ExperimentFile) -> tuple[tuple[DesignFactor, ...], int]:
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


def check_design_size(file: ExperimentFile, allowed_trials: int) -> None:
    """Refuse a design that nobody confirmed and that is too large to be meant.

    Raises:
        InputError: with the size and how it comes about.
    """
    factors, count = size_design(file)
    if count <= max(MOST_UNCONFIRMED_TRIALS, allowed_trials):
        return
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

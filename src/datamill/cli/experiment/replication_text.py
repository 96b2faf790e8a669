"""Nested replication in words: builds, executions, measurements, and the trials that show what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.design.design import DesignFactor
from datamill.design.nesting import count_calibration_trials, is_drawn_build
from datamill.design.reference_trials import count_among
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns


def phrase_replicates(experiment: Experiment) -> str:
    """Return how often a design point is measured, such as `50 = 10 builds x 5 executions of each`."""
    nested = experiment.replication
    if nested is None:
        return f"{experiment.replicates}"
    text = f"{experiment.replicates} = {count_nouns(nested.builds, 'build')} x "
    text += f"{count_nouns(nested.executions, 'execution')}{' of each' if nested.builds > 1 else ''}"
    if nested.measurements:
        text += f", {count_nouns(nested.measurements, 'measurement')} in each execution"
        text += f" after {format_count(nested.warmup)} to warm up" if nested.warmup else ""
    return text


def list_extra_trials(experiment: Experiment, trials: int) -> list[str]:
    """Return which of so many trials are not for the question, a line each."""
    extra = count_calibration_trials(experiment)
    lines = [f"{extra} of them show what a measurement costs"] if extra else []
    references = count_among(experiment, trials)
    if experiment.reference is not None and references:
        lines.append(f"{references} of them show drift (package {experiment.reference.package})")
    return lines


def phrase_nested_builds(experiment: Experiment, factors: Sequence[DesignFactor], packages: int) -> str:
    """Return how many builds there are and what chance has to do with them.

    Args:
        experiment: with `[replication]`.
        factors: of the design.
        packages: how many of the packages have a `setup.sh`.
    """
    nested = experiment.replication
    assert nested is not None
    crossed = [
        factor for factor in factors if factor.build and factor.role == "factor" and factor.name != "package"
    ]
    count = packages * nested.builds * math.prod(len(factor.levels) for factor in crossed)
    drawn = [factor.name for factor in factors if is_drawn_build(factor)]
    chance = f"each with its own {' and '.join(drawn)}" if drawn else "all made in the same way"
    names = " and ".join(["package", *(factor.name for factor in crossed)])
    where = f", {format_count(nested.builds)} for each {names}" if count > nested.builds else ""
    return f"{format_count(count)}{where}, {chance}"

"""Repetition in words: builds, executions, measurements, and the trials that show what they cost."""

from __future__ import annotations

from datamill.conduct.question.design_size import SizedDesign
from datamill.conduct.question.needed_builds import NeededBuilds
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


def list_extra_trials(experiment: Experiment, size: SizedDesign) -> list[str]:
    """Return which trials are not for the question, a line each."""
    lines = [f"{size.calibrations} of them show what a measurement costs"] if size.calibrations else []
    if experiment.reference is not None and size.references:
        lines.append(f"{size.references} of them show drift (package {experiment.reference.package})")
    return lines


def phrase_builds(builds: NeededBuilds | None) -> str:
    """Return how many builds there are, how many trials share one, and what chance has to do with them."""
    if builds is None:
        return "none: no package has a setup.sh"
    count = format_count(builds.count)
    if builds.kind == "nested":
        chance = (
            f"each with its own {' and '.join(builds.drawn)}" if builds.drawn else "all made in the same way"
        )
        names = " and ".join(builds.factors)
        where = f", {format_count(builds.each)} for each {names}" if builds.count > builds.each else ""
        return f"{count}{where}, {chance}"
    if builds.kind == "fresh":
        return f"{count}, a fresh one in each trial"
    if builds.most == 1:
        return f"{count}, one for each trial"
    shared = format_count(builds.fewest)
    if builds.fewest < builds.most:
        shared += f" to {format_count(builds.most)}"
    return f"{count}, each shared by {shared} trials (variation between builds is not measured)"

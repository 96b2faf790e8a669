"""What the form of an analysis offers."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment

#: What each verb of `datamill analyze` answers, as the form calls it.
QUESTIONS = {
    "anova": "What moves the mean (analysis of variance)",
    "quantiles": "What moves the median and the slow tail (quantile regression)",
    "tests": "Which levels differ (tests of groups)",
    "variability": "Where it varies more (spread of like trials)",
    "summary": "How it is distributed (five numbers and pictures)",
}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the form offers: responses, and the names of what can be a factor."""

    responses: tuple[str, ...]
    factors: tuple[str, ...]


def list_choices(text: str) -> Choices:
    """Return what an experiment file offers; of one that this version no longer reads, nothing."""
    try:
        experiment = parse_experiment(text, name="experiment.toml")
    except InputError:
        return Choices((), ())
    packages = ("package",) if len(experiment.packages) > 1 else ()
    varied = tuple(
        choice.name
        for choice in experiment.choices
        if choice.treatment == "vary" and not (choice.coverage is None and len(choice.levels) == 1)
    )
    responses = tuple(response.name for response in experiment.responses)
    return Choices(responses, (*packages, *varied, MACHINE_FACTOR))

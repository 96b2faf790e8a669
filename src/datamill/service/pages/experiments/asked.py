"""What the form of an analysis asks, read from an address, and what it offers."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.service.answers.analyses import VERBS, AskedAnalysis

#: What each verb of `datamill analyze` answers, as the form calls it.
QUESTIONS = {
    "anova": "What moves the mean (analysis of variance)",
    "quantiles": "What moves the median and the slow tail (quantile regression)",
    "tests": "Which levels differ (tests of groups)",
    "variability": "Where it varies more (spread of like trials)",
    "summary": "How it is distributed (five numbers and pictures)",
}
#: Characters of one field that are looked at.
_MOST_CHARACTERS = 4096
_MOST_QUANTILES = 20


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


def read_asked(sent: QueryDict) -> AskedAnalysis | None:
    """Return what is asked, None when nothing is yet.

    Raises:
        InputError: a field does not hold what it should.
    """
    verb = sent.get("verb", "")
    if not verb:
        return None
    if verb not in VERBS:
        raise InputError(
            f'there is no analysis "{verb[:60]}"', remedy=f"Choose one of: {', '.join(QUESTIONS)}."
        )
    return AskedAnalysis(
        verb,
        _take(sent, "response"),
        tuple(name[:_MOST_CHARACTERS] for name in sent.getlist("factor") if name),
        _read_quantiles(_take(sent, "quantiles")) if verb == "quantiles" else (),
        _read_conditions(_take(sent, "where")),
        _take(sent, "by"),
    )


def _take(sent: QueryDict, name: str) -> str:
    return sent.get(name, "")[:_MOST_CHARACTERS].strip()


def _read_quantiles(text: str) -> tuple[float, ...]:
    words = text.replace(",", " ").split()
    if len(words) > _MOST_QUANTILES:
        raise InputError(
            f"{len(words)} quantiles are too many", remedy=f"Name up to {_MOST_QUANTILES} of them."
        )
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise InputError(
            f'"{text[:60]}" is not a list of quantiles', remedy="Write numbers between 0 and 1: 0.5, 0.9."
        ) from None


def _read_conditions(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read `factor=level` from each line; several levels of a factor are all let in."""
    levels: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, equals, level = line.partition("=")
        if not (equals and name.strip() and level.strip()):
            raise InputError(
                f'"{line.strip()[:60]}" is not a condition',
                remedy="Write factor=level, each on a line of its own, such as machine=m1.",
            )
        levels.setdefault(name.strip(), []).append(level.strip())
    return tuple((name, tuple(values)) for name, values in levels.items())

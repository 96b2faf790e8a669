"""`screen = "auto"`: the question of the small screening that comes before an experiment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from datamill.conduct.question.read_files import FoundExperiment
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, FACTORS
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.messages.phrases import list_first

#: Trials of each design point of the screening: the fewest that show an error.
REPLICATES = 2
#: What names the screening after its experiment.
SUFFIX = "-screening"
_LONGEST_NAME = 64
#: Keys of `[experiment]` that belong to the experiment itself.
_OWN_KEYS = (
    "screen",
    "replicates",
    "resolution",
    "max_points",
    "strength",
    "interaction_order",
    "hypothesis",
)
#: Names that a sentence lists.
_MOST_NAMED = 12


def write_screening(text: str, *, name: str) -> str:
    """Return the file of the screening that comes before an experiment with `screen = "auto"`.

    It has the packages, responses, machines and limits of the experiment. The factors of its question stay at
    their first levels, so that only hidden factors vary; what `[nuisance]` names stays as it says there, but
    for its policy.

    Raises:
        InputError: when the text is no experiment.
    """
    tables = Source(name, text).parse()
    head = tables["experiment"]
    for key in _OWN_KEYS:
        head.pop(key, None)
    head["name"] = head["name"][: _LONGEST_NAME - len(SUFFIX)] + SUFFIX
    head["question"] = f"Which hidden factors move what is measured here, before: {head.get('question', '')}"
    head |= {"design": "screening", "replicates": REPLICATES}
    for section in ("replication", "reference"):
        tables.pop(section, None)
    tables.get("nuisance", {}).pop("policy", None)
    tables["factors"] = {
        factor: held
        for factor, given in tables.get("factors", {}).items()
        if (held := _hold(given)) is not None
    }
    if BACKGROUND_LOAD not in {*tables["factors"], *tables.get("nuisance", {})}:
        tables.pop("load", None)
    # The digest tells screenings before experiments apart that differ in what the screening has not.
    digest = hashlib.sha256(text.encode()).hexdigest()
    comment = f'# The screening that comes first, by screen = "auto", of experiment file {digest}.\n\n'
    written = comment + format_toml(tables)
    # What is wrong with it is known before anything is measured.
    parse_experiment(written, name=f"the screening before {name}")
    return written


def read_screening_question(file: FoundExperiment) -> FoundExperiment:
    """Return the screening that comes before an experiment, with what that brings along.

    Raises:
        InputError: when it cannot be.
    """
    text = write_screening(file.text, name=str(file.path))
    experiment = parse_experiment(text, name=f"the screening before {file.path}")
    return replace(file, text=text, experiment=experiment, loads=file.loads if experiment.loads else ())


def _hold(given: object) -> object | None:
    """Return the first level of a factor of the question; None where a coverage chooses it."""
    if isinstance(given, dict):
        levels = given.get("levels")
        return {**given, "levels": levels[:1]} if isinstance(levels, list) else given
    if isinstance(given, list):
        return given[:1]
    return None if isinstance(given, str) and "%" in given else given


def list_unscreened(
    experiment: Experiment, screened: Mapping[str, object], *, machines: int
) -> tuple[str, ...]:
    """Return in sentences what a screening that comes first does not look at, whatever it finds.

    Args:
        experiment: the one that follows.
        screened: the factors that were screened.
        machines: on how many machines.
    """
    named = {choice.name for choice in experiment.choices if not choice.by_policy}
    cheap = [
        item.name for item in FACTORS.values() if item.screening and item.name not in {*screened, *named}
    ]
    costly = [item.name for item in FACTORS.values() if not item.screening and item.name not in named]
    sentences = [
        "It looked at two levels of each factor and at main effects: what only other levels, or several "
        "factors together, do is missed."
    ]
    if experiment.factors:
        held = list_first([choice.name for choice in experiment.factors], _MOST_NAMED)
        sentences.append(f"It held {held} at the first level: what matters only at others is missed.")
    where = "here" if machines == 1 else "on all machines"
    if cheap:
        sentences.append(f"Not screened since not available {where}: {list_first(cheap, _MOST_NAMED)}.")
    if costly:
        sentences.append(
            "Not screened since slow, intrusive or your own choice (name them to have them varied): "
            f"{list_first(costly, 40)}."
        )
    return tuple(sentences)

"""Names in formulas that packages must report, and whether they can."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.formula import parse_formula
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.responses import BUILT_IN_UNITS


def list_needed_metrics(experiment: Experiment) -> list[tuple[str, str]]:
    """Return each response with each name in its formula that is not built in: packages must report it."""
    return [
        (response.name, name)
        for response in experiment.responses
        for name in parse_formula(response.formula, where=response.name).names
        if name not in BUILT_IN_UNITS
    ]


def list_unchecked_metrics(experiment: Experiment, shown_by: str) -> list[str]:
    """Return a sentence about names in formulas that only a trial can show to be right, if there are some.

    `shown_by` says which trials show it.
    """
    names = list(dict.fromkeys(name for _, name in list_needed_metrics(experiment)))
    if not names:
        return []
    which, are = ("it", "is a metric") if len(names) == 1 else ("them", "are metrics")
    return [
        f"{' and '.join(names)} {are} that packages must report, which is not checked here: {shown_by} "
        f"whether they report {which}."
    ]


def list_near_names(experiment: Experiment) -> list[str]:
    """Return which needed metrics may be meant for a built-in response, one sentence each."""
    needed = {name: response for response, name in list_needed_metrics(experiment)}
    return [
        f'response "{response}" needs "{name}", which packages must report, unless the built-in "{near}" is '
        "meant."
        for name, response in needed.items()
        for near in get_close_matches(name, BUILT_IN_UNITS, n=1, cutoff=0.75)
    ]


def check_metrics_can_come(experiment: Experiment, silent: Sequence[str], *, where: str) -> None:
    """Refuse a response that needs a metric where a package has nothing that could report it.

    `silent` are the packages without a `collect.sh`.

    Raises:
        InputError: with the response, the name and the package.
    """
    for response, name in list_needed_metrics(experiment) if silent else ():
        raise InputError(
            f'response "{response}" needs "{name}", which package "{silent[0]}" cannot report: '
            "it has no collect.sh",
            where=f"{where}: [responses.{response}] formula",
            remedy=suggest_name(name, sorted(BUILT_IN_UNITS))
            + " Packages report metrics by a collect.sh, which built-in responses do not need.",
        )

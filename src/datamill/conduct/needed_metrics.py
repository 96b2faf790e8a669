"""Names in formulas that packages must report, and whether they can."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.experiment.errors import InputError
from datamill.experiment.formula import parse_formula
from datamill.experiment.records import Experiment
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.experiment.suggestions import suggest_name
from datamill.packing.packages import PackageFacts


def list_needed_metrics(experiment: Experiment) -> list[tuple[str, str]]:
    """Return each response with each name in its formula that is not built in: packages must report it."""
    return [
        (response.name, name)
        for response in experiment.responses
        for name in parse_formula(response.formula, where=response.name).names
        if name not in BUILT_IN_UNITS
    ]


def check_metrics_can_come(experiment: Experiment, packages: Sequence[PackageFacts], *, where: str) -> None:
    """Refuse a response that needs a metric where a package has nothing that could report it.

    Raises:
        InputError: with the response, the name and the package.
    """
    silent = [package.name for package in packages if not package.has_collect]
    for response, name in list_needed_metrics(experiment) if silent else ():
        raise InputError(
            f'response "{response}" needs "{name}", which package "{silent[0]}" cannot report: '
            "it has no collect.sh",
            where=f"{where}: [responses.{response}] formula",
            remedy=suggest_name(name, sorted(BUILT_IN_UNITS))
            + " Packages report metrics by a collect.sh, which built-in responses do not need.",
        )

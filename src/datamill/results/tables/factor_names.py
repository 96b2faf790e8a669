"""Whether names of an experiment's own factors are free."""

from __future__ import annotations

from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse_factors import check_user_names
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.results.tables.columns import TABLE_COLUMNS


def check_factor_names(experiment: Experiment, names: tuple[str, ...]) -> None:
    """Refuse the names of an experiment's own factors where something else bears them already.

    Raises:
        InputError: for such a name, and for a factor that the experiment names and nobody knows.
    """
    taken = dict.fromkeys(TABLE_COLUMNS, "column of the table of results")
    taken["machine"] = "factor of a fleet"
    taken |= dict.fromkeys(BUILT_IN_UNITS, "built-in response")
    taken |= {response.name: "response of the experiment" for response in experiment.responses}
    check_user_names(experiment.choices, names, taken)

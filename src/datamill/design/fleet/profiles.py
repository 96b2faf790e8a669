"""Whether the profiles that `[fleet] profile` asks for can be made."""

from __future__ import annotations

from collections.abc import Collection

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment


def check_profiles_can_come(experiment: Experiment, profiled: Collection[str], *, where: str) -> None:
    """Refuse an experiment that asks for profiles which nothing could make.

    `profiled` are the packages with a `profile.sh`; `where` names the experiment file.

    Raises:
        InputError: when no package has one, or each trial has a build of its own.
    """
    if not experiment.fleet.profile:
        return
    if not profiled:
        raise InputError(
            "[fleet] profile asks for profiles, and no package has a profile.sh",
            where=where,
            remedy="Put an executable profile.sh in the root of a package, or remove profile.",
        )
    if experiment.build == "fresh":
        raise InputError(
            '[fleet] profile asks for profiles of builds, and with build = "fresh" each trial has its own',
            where=where,
            remedy='Write build = "shared" under [experiment], or remove profile.',
        )

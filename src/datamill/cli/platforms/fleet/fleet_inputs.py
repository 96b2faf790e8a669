"""Scores and times of a coordinator in place of files: `--experiment`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.protocol.api.machines import PackageTimes, ScoreList


def fleet_or_files(verb: Callable[..., None]) -> Callable[..., None]:
    """Add SCORES and what names an experiment of a fleet in its place.

    The verb gets `scores` and `application` (paths, or tables of a coordinator), `response`, and `told`: what
    the coordinator says of its data.
    """

    @wraps(verb)
    def with_fleet(
        scores: tuple[Path, ...],
        application: Path | None,
        response: str,
        experiment: int | None,
        package: str,
        url: str | None,
        key: str | None,
        **rest: Any,
    ) -> None:
        files = scores[0] if len(scores) == 1 else list(scores)
        if experiment is None:
            if package:
                raise InputError("--package is of an experiment", remedy="Name that with --experiment.")
            if not scores:
                raise DataArgument.refuse(click.get_current_context(), "SCORES...")
            verb(scores=files, application=application, response=response, told=(), **rest)
            return
        if application is not None or rest.get("fingerprint") is not None:
            raise InputError(
                "an experiment of the fleet has the application's times already",
                where="--experiment",
                remedy="Leave out --application and --fingerprint.",
            )
        # Imported late: tables and statistics take a second to load.
        from datamill.verbs.platforms.fleet_tables import tabulate_fleet

        with connect(url, key) as coordinator:
            times = fetch_times(coordinator, experiment, package, response)
            found = None if scores else coordinator.get("/scores", ScoreList)
        tables = tabulate_fleet(found, times)
        measured = tables.scores if tables.scores is not None else files
        verb(scores=measured, application=tables.times, response="", told=tables.notes, **rest)

    argument = click.argument(
        "scores", metavar="[SCORES...]", nargs=-1, type=click.Path(path_type=Path), required=False
    )
    options = (
        argument,
        click.option(
            "--experiment",
            type=click.IntRange(min=1),
            metavar="ID",
            help="Predict a package of this experiment of the fleet; without SCORES by the scores that its "
            "machines have there.",
        ),
        click.option(
            "--package",
            metavar="NAME",
            default="",
            help="Which package of the experiment, where it has several; of several levels of factors "
            '"NAME FACTOR=LEVEL".',
        ),
        coordinator_options,
    )
    added: Any = with_fleet
    for option in reversed(options):
        added = option(added)
    return added  # type: ignore[no-any-return]


def fetch_times(coordinator: CoordinatorClient, number: int, package: str, response: str) -> PackageTimes:
    """Return what a package of an experiment took on the machines that ran it."""
    asked = {"package": package, "response": response}
    given = {name: value for name, value in asked.items() if value}
    return coordinator.get(f"/experiments/{number}/times", PackageTimes, **given)

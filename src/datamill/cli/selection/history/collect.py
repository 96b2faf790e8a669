"""`datamill selection collect`: build, profile and measure versions of a project."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.cli.timing.time_options import parse_seconds
from datamill.conduct.selection.collecting.collect import CollectionQuestion, collect_history
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.selection.collection_statement import summarize_collection
from datamill.selection.history.collection_outcome import CollectionOutcome


@click.command()
@click.argument("repository", metavar="[REPO]", type=click.Path(path_type=Path), required=False)
@click.option("--range", "revisions", default="HEAD", metavar="RANGE", help="Commits, as for git log [HEAD].")
@click.option("--stride", type=click.IntRange(1), default=1, metavar="N", help="Every N-th of them [1].")
@click.option(
    "--first-parent/--all",
    "first_parent",
    default=True,
    help="Along first parents, or all commits [first parents].",
)
@click.option("--touching", multiple=True, metavar="PATH", help="Only commits that change it; repeatable.")
@click.option("--no-profile", is_flag=True, help="Only build and measure.")
@click.option("--no-measure", is_flag=True, help="Only build and profile: truth is counted instructions.")
@click.option(
    "--retry-failed", is_flag=True, help="Try again what failed: builds, on this machine also benchmarks."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Programs profiled at the same time [1]; servers on one port need 1.",
)
@click.option("--fleet", is_flag=True, help="On a machine of the fleet: build, profile and measure there.")
@click.option(
    "--machine",
    metavar="NAME",
    help="Which one, the first time [the coordinator chooses]; a store has one.",
)
@click.option("--within", metavar="DURATION", help="How long it may take; the next time goes on from there.")
@click.option("--json", "as_json", is_flag=True, help="Print what the store holds as JSON.")
@coordinator_options
@project_options
def collect(
    repository: Path | None,
    revisions: str,
    stride: int,
    first_parent: bool,
    touching: tuple[str, ...],
    no_profile: bool,
    no_measure: bool,
    retry_failed: bool,
    jobs: int,
    fleet: bool,
    machine: str | None,
    within: str | None,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
    url: str | None,
    key: str | None,
) -> None:
    """Build versions of REPO in clean checkouts, profile each program once, measure its benchmarks.

    What is there is not done again: a command that was interrupted goes on when it is typed again, and
    versions whose binaries hold the same are measured once. Executions of all programs are in one random
    order. Ends with status 1 where no version builds.

    With --fleet all of this happens on one machine of the fleet, in experiments that go on when the command
    is interrupted: typed again, it takes them home and goes on. Nothing is asked before they are submitted.
    """
    if fleet and (jobs > 1 or within):
        raise click.UsageError("--fleet has neither --jobs nor --within: its experiments go on without you")
    if machine is not None and not fleet:
        raise click.UsageError("--machine is one of the fleet: give --fleet as well")
    project = find_project(repo, file, store, repository)
    if project.history is None:
        raise InputError("is in no repository", where=str(repository or repo or "."))
    question = CollectionQuestion(
        range=revisions,
        stride=stride,
        first_parent=first_parent,
        touching=touching,
        profile=not no_profile,
        measure=not no_measure,
        retry_failed=retry_failed,
        jobs=jobs,
        within_s=parse_seconds(within, "within") if within else None,
    )
    outcome = (
        _collect_on_fleet(question, project, project.history, machine, (url, key))
        if fleet
        else collect_history(
            question,
            project.settings,
            project.history,
            project.store,
            project.here,
            lambda line: print_clean(line, err=True),
        )
    )
    sentences = summarize_collection(outcome)
    if as_json:
        click.echo(
            spell_answer(*sentences, warnings=map(finish_sentence, outcome.warnings), collection=outcome)
        )
    else:
        print_clean("\n".join([*sentences, *(f"Note: {line}" for line in outcome.warnings)]))
    if not outcome.built:
        raise click.exceptions.Exit(1)


def _collect_on_fleet(
    question: CollectionQuestion,
    project: Project,
    history: GitHistory,
    machine: str | None,
    coordinator: tuple[str | None, str | None],
) -> CollectionOutcome:
    # Imported late: what is collected here asks no coordinator.
    from datamill.cli.console import make_console
    from datamill.cli.coordinator.coordinator_client import connect
    from datamill.cli.selection.fleet.asked_fleet import AskedFleet
    from datamill.conduct.selection.fleet.collect_on_fleet import collect_on_fleet

    with connect(*coordinator) as client:
        fleet = AskedFleet(client, make_console(stderr=True))
        return collect_on_fleet(question, project, history, fleet, machine)

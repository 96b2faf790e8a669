"""`datamill selection collect`: build, profile and measure versions of a project."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.json_answer import spell_answer
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.cli.timing.time_options import parse_seconds
from datamill.conduct.selection.collecting.collect import CollectionQuestion, collect_history
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import finish_sentence
from datamill.report.selection.collection_statement import summarize_collection


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
@click.option("--retry-failed", is_flag=True, help="Build versions again that did not build.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Programs profiled at the same time [1]; servers on one port need 1.",
)
@click.option("--within", metavar="DURATION", help="How long it may take; the next time goes on from there.")
@click.option("--json", "as_json", is_flag=True, help="Print what the store holds as JSON.")
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
    within: str | None,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """Build versions of REPO in clean checkouts, profile each program once, measure its benchmarks.

    What is there is not done again: a command that was interrupted goes on when it is typed again, and
    versions whose binaries hold the same are measured once. Executions of all programs are in one random
    order. Ends with status 1 where no version builds.
    """
    project = find_project(repo, file, store, repository)
    if project.history is None:
        raise InputError("is in no repository", where=str(repository or repo or "."))
    outcome = collect_history(
        CollectionQuestion(
            range=revisions,
            stride=stride,
            first_parent=first_parent,
            touching=touching,
            profile=not no_profile,
            measure=not no_measure,
            retry_failed=retry_failed,
            jobs=jobs,
            within_s=parse_seconds(within, "within") if within else None,
        ),
        project.settings,
        project.history,
        project.store,
        project.here,
        lambda line: click.echo(line, err=True),
    )
    sentences = summarize_collection(outcome)
    if as_json:
        click.echo(
            spell_answer(*sentences, warnings=map(finish_sentence, outcome.warnings), collection=outcome)
        )
    else:
        click.echo("\n".join([*sentences, *(f"Note: {line}" for line in outcome.warnings)]))
    if not outcome.built:
        raise click.exceptions.Exit(1)

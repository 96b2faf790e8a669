"""`datamill selection bisect`: which commit introduced a change of a benchmark?"""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.json_answer import spell_answer
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.conduct.selection.deciding.bisect_change import bisect_change
from datamill.experiment.messages.numbers import format_fixed, format_share
from datamill.experiment.messages.phrases import count_nouns, finish_sentence

_MOST_CANDIDATES = 10


@click.command()
@click.argument("benchmark")
@click.argument("good")
@click.argument("bad", default="HEAD")
@click.option("--no-measure", is_flag=True, help="Only say how likely each commit is.")
@click.option("--json", "as_json", is_flag=True, help="Print candidates and steps as JSON.")
@project_options
def bisect(
    benchmark: str,
    good: str,
    bad: str,
    no_measure: bool,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """Find the commit after GOOD, up to BAD, that changed BENCHMARK: by prediction, then by measuring.

    Each commit between is built and predicted; then the version whose measurement rules out most for its cost
    is measured together with both ends, until one is left. Ends with status 1 where none was found.
    """
    project = find_project(repo, file, store)
    found = bisect_change(
        project, benchmark, good, bad, measure=not no_measure, tell=lambda line: click.echo(line, err=True)
    )
    likely = sorted(found.candidates, key=lambda item: -item.probability)
    if found.found is not None:
        subject = next(item.subject for item in found.candidates if item.commit == found.found)
        sentences = [
            finish_sentence(f"Commit {found.found[:9]} changed {benchmark}: {subject}"),
            f"From good to bad × {format_fixed(found.ratio or 0.0, 4)}, found with "
            f"{count_nouns(len(found.steps), 'measurement')} among "
            f"{count_nouns(len(found.candidates), 'commit')}.",
        ]
    else:
        sentences = [f"{count_nouns(len(found.candidates), 'commit')}, the likeliest first."]
        sentences += [
            f"{item.commit[:9]} {format_share(item.probability)} {item.subject}"
            for item in likely[:_MOST_CANDIDATES]
        ]
    warnings = [finish_sentence(line) for line in found.warnings]
    if as_json:
        click.echo(
            spell_answer(
                *sentences,
                warnings=warnings,
                benchmark=benchmark,
                good=found.good,
                bad=found.bad,
                ratio=found.ratio,
                candidates=list(found.candidates),
                steps=list(found.steps),
                found=found.found,
            )
        )
    else:
        click.echo("\n".join([*sentences, *(f"Note: {line}" for line in warnings)]))
    if not no_measure and found.found is None:
        raise click.exceptions.Exit(1)

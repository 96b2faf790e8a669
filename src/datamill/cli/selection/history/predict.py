"""`datamill selection predict`: which benchmarks must run for a commit?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from datamill.cli.selection.history.project_options import find_project, project_options

#: With --check: some benchmark must run.
EXIT_RUN = 1


@click.command()
@click.argument("commit")
@click.option("--against", metavar="COMMIT", help="The older version [the closest profiled ancestor].")
@click.option(
    "--built",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Where COMMIT is built already [a clean checkout is built].",
)
@click.option(
    "--check", is_flag=True, help="End with status 1 where a benchmark must run, with 0 where none."
)
@click.option("--json", "as_json", is_flag=True, help="Print the prediction as JSON.")
@project_options
def predict(
    commit: str,
    against: str | None,
    built: Path | None,
    check: bool,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """Say for each benchmark whether it must run for COMMIT, with the indicators and functions behind it.

    COMMIT is compared with the closest ancestor that was profiled. A commit that was not collected is built,
    and its tables are kept: the second time takes a fraction of a second.
    """
    from datamill.conduct.selection.deciding.predict_revision import predict_revision
    from datamill.report.selection.prediction_json import spell_prediction

    found = predict_revision(find_project(repo, file, store), commit, against, built)
    if as_json:
        click.echo(spell_prediction(found))
    else:
        # Imported late: what draws terminals takes a while to load.
        from datamill.cli.console import make_console
        from datamill.report.selection.prediction_statement import state_prediction
        from datamill.report.tables.text import render_text

        make_console().print(render_text(state_prediction(found)), markup=False, soft_wrap=True)
    if check and found.runs:
        sys.stdout.flush()
        raise click.exceptions.Exit(EXIT_RUN)

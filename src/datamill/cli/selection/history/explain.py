"""`datamill selection explain`: why is a commit predicted to change a benchmark?"""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.json_answer import spell_answer
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.conduct.selection.deciding.predict_revision import predict_revision
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import finish_sentence
from datamill.experiment.messages.suggestions import suggest_name
from datamill.report.selection.prediction_json import summarize_prediction
from datamill.report.selection.prediction_statement import explain_prediction
from datamill.report.tables.text import render_text


@click.command()
@click.argument("commit")
@click.argument("benchmark", required=False)
@click.option("--against", metavar="COMMIT", help="The older version [the closest profiled ancestor].")
@click.option("--json", "as_json", is_flag=True, help="Print features and changes as JSON.")
@project_options
def explain(
    commit: str,
    benchmark: str | None,
    against: str | None,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """List what changed in COMMIT, the indicators that fired with all their functions, and all features."""
    project = find_project(repo, file, store)
    names = [item.name for item in project.settings.benchmark]
    if benchmark is not None and benchmark not in names:
        raise InputError(
            f'there is no benchmark "{benchmark}"',
            where=str(project.settings_file),
            remedy=suggest_name(benchmark, names),
        )
    found = predict_revision(project, commit, against)
    if as_json:
        changes = found.changes.functions if found.changes is not None else ()
        click.echo(
            spell_answer(
                *summarize_prediction(found),
                warnings=map(finish_sentence, found.warnings),
                commit=found.commit,
                against=found.against,
                functions=[{"name": item.name, "fate": item.fate} for item in changes],
                benchmarks=[
                    {
                        "benchmark": item.benchmark,
                        "run": item.run,
                        "probability": item.probability,
                        "features": [
                            {"name": name, "value": value} for name, value in (item.features or {}).items()
                        ],
                    }
                    for item in found.predictions
                    if benchmark in (None, item.benchmark)
                ],
            )
        )
        return
    text = render_text(explain_prediction(found, benchmark))
    make_console().print(text, markup=False, soft_wrap=True)

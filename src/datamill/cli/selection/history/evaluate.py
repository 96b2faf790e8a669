"""`datamill selection evaluate`: how well do predictors do on what was collected?"""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding.evaluate_store import DEFAULTS, EVALUATIONS, evaluate_store
from datamill.experiment.quantities import parse_share
from datamill.report.selection.evaluation_json import spell_evaluation
from datamill.report.selection.evaluation_statement import state_evaluation
from datamill.report.tables.text import render_text
from datamill.selection.history.settings import RULES
from datamill.selection.predictors.registry import PREDICTORS

_PREDICTORS = ("perphecy", "logistic", "boosting", "always", "never")


@click.command(context_settings={"max_content_width": 100})
@click.argument("repository", metavar="[REPO]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--evaluation",
    "names",
    multiple=True,
    type=click.Choice([*EVALUATIONS, "all"]),
    metavar="NAME",
    help=f"One of {', '.join(EVALUATIONS)}, or all; repeatable [{', '.join(DEFAULTS)}].",
)
@click.option(
    "--predictor",
    "predictors",
    multiple=True,
    type=click.Choice([*(item.name for item in PREDICTORS), "all"]),
    metavar="NAME",
    help=f"One of {', '.join(item.name for item in PREDICTORS)}, or all; repeatable "
    f"[{', '.join(_PREDICTORS)}].",
)
@click.option("--truth", type=click.Choice(RULES), help="What counts as a change [as the settings say].")
@click.option("--miss-cost", type=click.FloatRange(0, min_open=True), default=19.0, help="As for train [19].")
@click.option("--hit-rate", metavar="SHARE", help="As for train.")
@click.option(
    "--other",
    "others",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="STORE",
    help="Packed store of another project, for cross-project; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print rates, curves and intervals as JSON.")
@project_options
def evaluate(
    repository: Path | None,
    names: tuple[str, ...],
    predictors: tuple[str, ...],
    truth: str | None,
    miss_cost: float,
    hit_rate: str | None,
    others: tuple[Path, ...],
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """Predict known changes that were not learnt from: hit and dismiss rates, areas under the curve.

    The columns 50%, 80% and 90% are hit rates where that share of unchanged cases is dismissed; saved is the
    share of cases that need not run. A packed store (--store) needs no repository.
    """
    project = find_project(repo, file, store, repository)
    every = [name for name in EVALUATIONS if name != "cross-project" or others]
    wanted = every if "all" in names else list(dict.fromkeys(names or DEFAULTS))
    chosen = [item.name for item in PREDICTORS] if "all" in predictors else list(predictors or _PREDICTORS)
    found = evaluate_store(
        project,
        wanted,
        chosen,
        truth,
        miss_cost,
        parse_share(hit_rate, where="--hit-rate") if hit_rate is not None else None,
        [open_project(other, None, other) for other in others],
        lambda line: click.echo(line, err=True),
    )
    if as_json:
        click.echo(spell_evaluation(found))
        return
    make_console().print(render_text(state_evaluation(found)), markup=False, soft_wrap=True)

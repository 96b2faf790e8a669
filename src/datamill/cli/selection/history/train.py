"""`datamill selection train`: learn which changes of programs changed performance."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.json_answer import spell_answer
from datamill.cli.selection.history.project_options import find_project, project_options
from datamill.conduct.selection.deciding.train_model import train_model
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.experiment.quantities import parse_share
from datamill.selection.history.settings import RULES
from datamill.selection.predictors.registry import DEFAULT, PREDICTORS


@click.command()
@click.argument("repository", metavar="[REPO]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--predictor",
    type=click.Choice([item.name for item in PREDICTORS]),
    default=DEFAULT,
    metavar="NAME",
    help=f"What learns [{DEFAULT}]: {', '.join(item.name for item in PREDICTORS)}.",
)
@click.option("--truth", type=click.Choice(RULES), help="What counts as a change [as the settings say].")
@click.option(
    "--miss-cost",
    type=click.FloatRange(0, min_open=True),
    default=19.0,
    metavar="N",
    help="What a missed change costs, in executions of its benchmark [19].",
)
@click.option("--hit-rate", metavar="SHARE", help="Share of changes that is to be found, in place of a cost.")
@click.option("--json", "as_json", is_flag=True, help="Print what was learnt as JSON.")
@project_options
def train(
    repository: Path | None,
    predictor: str,
    truth: str | None,
    miss_cost: float,
    hit_rate: str | None,
    as_json: bool,
    repo: Path | None,
    file: Path | None,
    store: Path | None,
) -> None:
    """Learn from each version of REPO against its closest ancestor; write the model into the store."""
    project = find_project(repo, file, store, repository)
    share = parse_share(hit_rate, where="--hit-rate") if hit_rate is not None else None
    found = train_model(project, predictor, truth, miss_cost, share)
    model = found.model
    sentences = [
        f"{model.predictor} has learnt from {count_nouns(model.cases, 'case')} of "
        f"{count_nouns(found.versions, 'version')}, of which {format_count(model.changes)} changed "
        f"({model.truth.rule}).",
    ]
    if found.pairing.identical:
        sentences.append(f"{count_nouns(found.pairing.identical, 'pair')} of equal programs left out.")
    if found.pairing.unprofiled:
        sentences.append(f"{count_nouns(found.pairing.unprofiled, 'case')} without a profile left out.")
    if found.pairing.unsure:
        sentences.append(
            f"{count_nouns(found.pairing.unsure, 'case')} could not be judged with certainty and count as "
            "unchanged."
        )
    direction = model.direction
    if direction.n:
        sentences.append(
            "Direction: the sign of the edit was that of all changes in "
            f"{direction.right} of {count_nouns(direction.n, 'version')}"
            + ("." if direction.holds else ", which is too few to tell directions with an error of 10%.")
        )
    warnings = [finish_sentence(line) for line in model.warnings]
    if as_json:
        click.echo(
            spell_answer(
                *sentences,
                warnings=warnings,
                predictor=model.predictor,
                cases=model.cases,
                changes=model.changes,
                identical=found.pairing.identical,
                unprofiled=found.pairing.unprofiled,
                unsure=found.pairing.unsure,
                truth=model.truth,
                direction=direction,
                thresholds=[
                    {"indicator": item.indicator, "least": item.least, "price": item.price}
                    for item in model.perphecy.thresholds
                ],
            )
        )
        return
    click.echo("\n".join([*sentences, *(f"Note: {line}" for line in warnings)]))

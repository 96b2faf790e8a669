"""`datamill platforms scores`: what the fingerprint suite took on the machines of a fleet."""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.conduct.fleet.score_table import spell_scores
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.machines import ScoreList

NO_SCORES = (
    "No experiment that you may see has run the fingerprint suite: datamill platforms suite makes one."
)


@click.command(short_help="Fetch the scores that a fleet's machines have.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
def scores(file: Path | None, as_json: bool, url: str | None, key: str | None) -> None:
    """Fetch what the fingerprint suite took on the machines of the fleet as a table (CSV).

    It goes to FILE, or without one to standard output, and stands wherever SCORES are asked for. Of each
    machine and member of the suite it has the trials of the newest experiment that you may see.

    \b
      datamill platforms scores scores.csv
      datamill platforms predict scores.csv --application times.csv
    """  # noqa: D301 - click needs the backspace itself
    if file is not None and not file.parent.is_dir():
        raise InputError("there is no such folder", where=str(file.parent), remedy="Make it first.")
    with connect(url, key) as coordinator:
        found = coordinator.get("/scores", ScoreList)
    machines, members = ({getattr(item, name) for item in found.scores} for name in ("machine", "benchmark"))
    told = (
        f"{count_nouns(len(found.scores), 'score')} of {count_nouns(len(machines), 'machine')} in "
        f"{count_nouns(len(members), 'benchmark')}"
    )
    if file is not None:
        file.write_text(spell_scores(found), encoding="utf-8")
    if as_json:
        warnings = [f"{warning[0].upper()}{warning[1:]}." for warning in found.warnings]
        click.echo(spell_answer(f"The fleet has {told}.", scores=found.scores, warnings=warnings))
        return
    click.echo(spell_scores(found) if file is None else f"{file} has {told}.", nl=file is not None)
    for warning in found.warnings:
        print_clean(f"Warning: {warning}.", err=True)
    if not found.scores:
        print_clean(NO_SCORES, err=True)

"""`datamill trials`: the trials of an experiment on the fleet."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.experiments import TrialLine, TrialList

#: Debug trials, builds and profiles are done and never count.
_STATES = ("waiting", "planned", "leased", "counted", "done", "given_up", "cancelled")
_STYLES = {"counted": "green", "done": "blue", "leased": "cyan", "given_up": "red", "cancelled": "dim"}


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option("--state", type=click.Choice(_STATES), help="Only those in this state.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
def trials(number: int, state: str | None, as_json: bool, url: str | None, key: str | None) -> None:
    """List the trials of experiment ID: where each is to run, how far it is, and what went wrong.

    A trial of the design ends counted; a debug trial, a build or a profile is done. One that needs another
    waits until that is done.
    """
    with connect(url, key) as coordinator:
        found = list_trials(coordinator, number, state)
        if as_json:
            told = tuple(found)
            where = f" in the state {state}" if state else ""
            counted = count_nouns(len(told), "trial")
            click.echo(spell_answer(f"Experiment {number} has {counted}{where}.", trials=told))
            return
        table = Table(box=box.SIMPLE, pad_edge=False)
        for header in ("trial", "worker", "package", "levels", "state", "attempts", "outcome", "needs"):
            table.add_column(header, no_wrap=header != "levels", overflow="fold")
        table.add_column("what went wrong", overflow="fold")
        for trial in found:
            levels = "  ".join(
                f"{name}={level}"
                for name, level in trial.levels.items()
                if name not in ("package", "machine")
            )
            table.add_row(
                Text(trial.trial_id),
                Text(trial.worker),
                Text(trial.package),
                Text(levels),
                Text(trial.state.replace("_", " "), style=_STYLES.get(trial.state, "")),
                Text(str(trial.attempts)),
                Text(trial.outcome.replace("_", " ")),
                Text(trial.needs),
                Text(trial.failure),
            )
        make_table_console().print(table)


def list_trials(coordinator: CoordinatorClient, number: int, state: str | None) -> Iterator[TrialLine]:
    """Yield trials in their order, a page at a time."""
    after: int | None = 0
    while after is not None:
        parameters: dict[str, str | int] = {"after": after}
        if state is not None:
            parameters["state"] = state
        page = coordinator.get(f"/experiments/{number}/trials", TrialList, **parameters)
        yield from page.trials
        after = page.next

"""`datamill rerun`: an experiment of the fleet once more on the machines of today, and its verdicts."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec
from msgspec.structs import asdict
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_console, make_table_console, name_command, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.fleet.submission.show_plan import confirm, print_plan
from datamill.cli.json_answer import spell_answer
from datamill.experiment.messages.numbers import format_level
from datamill.experiment.messages.phrases import count_nouns
from datamill.experiment.quantities import parse_share
from datamill.protocol.api.plans import SubmissionPlan
from datamill.protocol.api.publications import AcceptedRerun, RerunLine, RerunRequest
from datamill.protocol.api.submissions import ExperimentSource, SubmissionRequest

#: Re-runs in one answer of the API.
_PAGE = 1000


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option(
    "--margin",
    metavar="SHARE",
    default="5%",
    show_default=True,
    help="By how much a ratio may differ and still be the same result; it cannot be changed later.",
)
@click.option("--verdicts", is_flag=True, help="Submit nothing: list the re-runs of ID with their verdicts.")
@click.option("--yes", is_flag=True, help="Submit without asking. Needed without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print the number, or the verdicts, as JSON.")
@coordinator_options
def rerun(
    number: int,
    margin: str,
    verdicts: bool,
    yes: bool,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Run experiment ID, which has ended, again: the same file and packages on the machines of today.

    When the re-run has ended, --verdicts says whether the result of ID was reproduced, by equivalence of
    effects within the margin.
    """
    share = parse_share(margin, where="--margin")
    with connect(url, key) as coordinator:
        if verdicts:
            _print_verdicts(number, coordinator, as_json=as_json)
            return
        if not yes:
            source = coordinator.get(f"/experiments/{number}/source", ExperimentSource)
            body = SubmissionRequest(source.text, source.packages)
            plan = coordinator.post("/experiments/plan", SubmissionPlan, body)
            print_plan(plan, make_console(stderr=as_json))
            confirm(plan)
        made = coordinator.post_once(f"/experiments/{number}/rerun", AcceptedRerun, RerunRequest(share))
    if as_json:
        click.echo(spell_answer(f"Submitted as experiment {made.id}, a re-run of {number}.", rerun=made))
        return
    trials = count_nouns(made.trials, "trial")
    print_clean(f"Submitted as experiment {made.id}: {trials}, margin {format_level(made.margin)}")
    print_clean(f"{name_command()} rerun {number} --verdicts")


def _list_reruns(number: int, coordinator: CoordinatorClient) -> Iterator[RerunLine]:
    """Yield all re-runs of an experiment, the latest first, a page at a time."""
    before = 0
    while True:
        page = coordinator.get(f"/experiments/{number}/reruns", list[RerunLine], before=before)
        yield from page
        if len(page) < _PAGE:
            return
        before = page[-1].id


def _print_verdicts(number: int, coordinator: CoordinatorClient, *, as_json: bool) -> None:
    found = list(_list_reruns(number, coordinator))
    done = [item for item in found if item.verdict]
    same = sum(item.verdict == "reproduced" for item in done)
    told = f"Experiment {number} has {count_nouns(len(found), 're-run')}"
    told += f"; its result was reproduced in {same} of {len(done)} that were judged" if done else ""
    if as_json:
        shown = [asdict(item) | {"judgement": msgspec.json.decode(item.judgement)} for item in found]
        click.echo(spell_answer(f"{told}.", reruns=shown))
        return
    print_clean(f"{told}.")
    if not found:
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("ID", "user", "state", "margin", "verdict"):
        table.add_column(header)
    for item in found:
        verdict = item.verdict or "none yet"
        table.add_row(str(item.id), Text(item.owner), item.state, format_level(item.margin), verdict)
    make_table_console().print(table)

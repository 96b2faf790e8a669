"""`datamill submit`: from an experiment file to an experiment that a fleet runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from click.core import ParameterSource
from msgspec.structs import replace
from rich.text import Text

from datamill.cli.console import make_console, name_command
from datamill.cli.coordinator.coordinator_client import ChangedPlanError, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.fleet.submission.send_submission import send
from datamill.cli.fleet.submission.show_plan import confirm, print_plan
from datamill.cli.json_answer import spell_answer
from datamill.conduct.fleet.pack_submission import (
    naming_file,
    pack_submission,
    refuse_local_folders,
    request_submission,
)
from datamill.conduct.question.read_files import read_experiment_file
from datamill.protocol.api.plans import SubmissionPlan
from datamill.protocol.api.submissions import DebugPolicy, RebootPolicy, SubmissionOptions


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--reboot",
    type=click.Choice(["auto", "never", "block", "trial"]),
    help="When machines are rebooted [as the file says, else before each trial where they may be].",
)
@click.option(
    "--debug",
    type=click.Choice(["first", "only", "never"]),
    help="One trial of each package on each architecture before the design, instead of it, or not.",
)
@click.option("--redundancy", type=click.IntRange(0, 1000), metavar="K", help="Spare workers that stand by.")
@click.option("--public", is_flag=True, default=None, help="Show it to every user of the fleet.")
@click.option("--hold", is_flag=True, help="Wait for datamill release after the debug trials.")
@click.option(
    "--yes", is_flag=True, help="Submit without asking, however large it is. Needed without a terminal."
)
@click.option(
    "--again", is_flag=True, help="Submit it even if the same was submitted just now or is running."
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan and the number as JSON.")
@coordinator_options
def submit(
    file: Path,
    reboot: RebootPolicy | None,
    debug: DebugPolicy | None,
    redundancy: int | None,
    public: bool | None,
    hold: bool,
    yes: bool,
    again: bool,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Run the experiment FILE on the fleet.

    FILE is an experiment file, or a folder with an experiment.toml. The plan is shown first: which workers
    and why, what they cover, how many trials, until when. Only files that the coordinator lacks are sent. A
    plan that changes before you have answered is shown again.

    Exit status: 0 when it was submitted, 1 when you answered no, 2 when it cannot be (with what is missing,
    and what excludes it), was not confirmed, or is the same as one that you submitted just before.
    """
    console = make_console(stderr=as_json)
    found = read_experiment_file(file)
    refuse_local_folders(found)
    options = SubmissionOptions(reboot, debug, redundancy, public, hold)
    with connect(url, key) as coordinator, tempfile.TemporaryDirectory(prefix="datamill-submit-") as folder:
        packed = pack_submission(found, Path(folder))
        body = request_submission(found, packed, options)
        with naming_file(found.path):
            preview = coordinator.post("/experiments/plan", SubmissionPlan, body)
        body = replace(body, options=replace(options, once=not again))
        submitted = None
        while submitted is None:
            print_plan(preview, console)
            for note in found.notes:
                console.print(Text(f"Note: {note}", style="dim"))
            if not yes:
                confirm(preview)
                body = replace(body, plan=preview.digest)
            try:
                with naming_file(found.path):
                    submitted = send(coordinator, body, preview.missing_files, packed.archives, console)
            except ChangedPlanError as problem:
                console.print(Text(f"Not submitted: {problem.message}. It is now:", style="yellow"))
                preview = problem.plan
    if as_json:
        answer = f"Submitted as experiment {submitted.id}."
        click.echo(spell_answer(answer, submission=submitted, warnings=(*found.notes, *submitted.warnings)))
        return
    number = submitted.id
    console.print(Text(f"Submitted as experiment {number}.", style="green"))
    typed = click.get_current_context().get_parameter_source("url") is ParameterSource.COMMANDLINE
    console.print(f"{name_command()} watch {number}{f' --url {url}' if typed else ''}")

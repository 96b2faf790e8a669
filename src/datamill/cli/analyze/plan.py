"""`datamill plan`: how many builds, executions and measurements a result takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from datamill.cli.signals import leave_to_kernel
from datamill.cli.tables.data import confidence_option, seed_option
from datamill.cli.tables.nested_options import nested_options
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.experiment.errors import InputError
from datamill.verbs import false_alarms as alarms_analysis
from datamill.verbs import plan as analysis
from datamill.verbs.inputs.nested_data import AskedNested

#: Options that a plan takes and the simulation of false alarms does not.
_OF_PLANS = (
    "half_width", "time", "detect", "hypothesis", "assurance", "variances", "mean", "build_time",
    "execution_time", "measurement_time", "costs", "builds", "executions", "measurements",
)  # fmt: skip


@click.command(short_help="How many builds, executions and measurements a result takes.")
@click.argument("file", metavar="[DATA]", required=False, type=click.Path(path_type=Path))
@nested_options
@click.option(
    "--half-width",
    metavar="SIZE",
    help="Reach an interval of this half-width: 1% of the mean, or a number in the unit [1%].",
)
@click.option("--time", metavar="TIME", help="Or: the narrowest interval within a time such as 2h.")
@click.option(
    "--detect",
    metavar="SIZE",
    help="Or: see a difference of this size between two versions, such as 5% or a number in the unit.",
)
@click.option(
    "--hypothesis",
    metavar="SENTENCE",
    help='Or: show what a sentence claims of two versions of DATA, such as "a at least 10% lower than b".',
)
@click.option(
    "--power", type=float, default=0.9, show_default=True, help="How surely the difference is to be seen."
)
@click.option(
    "--assurance",
    metavar="SHARE",
    help="How surely the plan is to suffice, such as 80%, given that the pilot tells variances with "
    "uncertainty [its estimates are taken as they are].",
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="How often none may be taken for one."
)
@click.option(
    "--only",
    metavar="VERSION",
    default="",
    help="Version to plan for [the one that varies most; for --false-alarms that with most builds].",
)
@click.option(
    "--variances",
    metavar="V,B,E",
    help="Instead of DATA: variances between builds, executions and measurements; ? if not known.",
)
@click.option("--mean", type=float, metavar="MEAN", help="With --variances: the mean of the response.")
@click.option("--build-time", metavar="TIME", help="What one more build takes [measured in a bundle].")
@click.option(
    "--execution-time", metavar="TIME", help="What one more execution takes, without its measurements [same]."
)
@click.option("--measurement-time", metavar="TIME", help="What one more measurement takes [same].")
@click.option(
    "--costs", metavar="b=…,w=…,q=…", help="The same in units of what is measured, as in the paper."
)
@click.option("--builds", metavar="N|FROM:TO", help="How many builds there may be.")
@click.option("--executions", metavar="N|FROM:TO", help="How many executions of a build.")
@click.option("--measurements", metavar="N|FROM:TO", help="How many measurements of an execution.")
@click.option(
    "--false-alarms",
    is_flag=True,
    help="Instead of a plan: how often a version seems to differ from itself, by the number of builds.",
)
@click.option(
    "--group-sizes", metavar="N,…", default="", help="With --false-alarms: builds of a version [1,10,…,30]."
)
@click.option(
    "--comparisons",
    type=click.IntRange(min=100, max=1_000_000),
    default=10_000,
    show_default=True,
    metavar="N",
    help="With --false-alarms: comparisons for each number of builds.",
)
@confidence_option
@seed_option
@output_options("Draw interval width against time, or false alarms by builds")
def plan(
    file: Path | None,
    asked: AskedNested,
    power: float,
    alpha: float,
    only: str,
    false_alarms: bool,
    group_sizes: str,
    comparisons: int,
    confidence: float | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Plan how many builds, executions of each and measurements in each a result takes.

    DATA is a pilot: a bundle, whose times are known, or a .csv or .parquet table with one row for each
    measurement and columns version, build, execution, measurement, value. The plan is the cheapest that
    reaches the goal, found among all whole numbers; the range is what the pilot's uncertainty leaves open.

    \b
      datamill plan my-bundle/ --half-width 1%
      datamill plan pilot.csv --time 2h --build-time 30s --execution-time 0.5s --measurement-time 2ms
      datamill plan --variances 0.04,0.01,0.2 --mean 10 --costs b=15000,w=250 --half-width 1%
      datamill plan my-bundle/ --detect 5% --power 0.9
      datamill plan my-bundle/ --hypothesis "new at least 10% lower than old"
      datamill plan my-bundle/ --false-alarms --figure alarms.svg
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    outputs: dict[str, Any] = {"figure_file": figure_file, "html_file": html_file, "as_json": as_json}
    if not false_alarms:
        if group_sizes:
            raise InputError("--group-sizes goes with --false-alarms", remedy="Leave it out, or add that.")
        planned = analysis.plan(
            file, alpha=alpha, power=power, only=only, confidence=confidence, seed=seed, **given, **asked
        )
        put_out(planned, **outputs)
        return
    # The kernel does not return to Python, which could not answer Ctrl-C; nothing needs undoing.
    leave_to_kernel()
    if file is None:
        raise InputError("--false-alarms needs DATA", remedy="Name a bundle or table with several builds.")
    for name in _OF_PLANS:
        if given[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is for a plan, and --false-alarms makes none",
                remedy="Leave one of them out.",
            )
    study = alarms_analysis.false_alarms(
        file,
        only=only,
        group_sizes=_parse_sizes(group_sizes),
        comparisons=comparisons,
        confidence=confidence,
        seed=seed,
        **asked,
    )
    put_out(study, **outputs)


def _parse_sizes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    bad = [part for part in parts if not part.isdigit() or int(part) < 1]
    if bad:
        raise InputError(
            f'"{bad[0]}" is not a number of builds',
            where="--group-sizes",
            remedy="Write numbers such as 1,10,20.",
        )
    return [int(part) for part in parts]

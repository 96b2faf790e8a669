"""`datamill compare`: has performance changed between versions?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from datamill.analysis.versions.version_comparison import VersionAdjustment
from datamill.cli.analyze.fleet.compared_experiments import (
    ask_comparison,
    build_question,
    find_unchosen,
    put_out_comparison,
    refuse_files_beside,
    refuse_unchosen,
    tell_unchosen,
)
from datamill.cli.console import print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.tables.data import confidence_option, seed_option
from datamill.cli.tables.nested_options import nested_options
from datamill.cli.tables.output import (
    choose_form,
    output_options,
    put_out,
    refuse_bad_files,
    refuse_two_forms,
)
from datamill.cli.verbs import DataArgument
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.experiment.quantities import parse_share
from datamill.verbs import compare as analysis
from datamill.verbs.inputs.nested_data import AskedNested

_EXIT_WORSE = 1


@click.command(short_help="Has performance changed between versions?")
@click.argument("files", metavar="[A B …]", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--experiment",
    "experiments",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="ID",
    help="Compare the results of this experiment of a coordinator and of others; give it two to eight times.",
)
@nested_options
@click.option("--baseline", metavar="NAME", default="", help="Version to compare with [the first].")
@click.option(
    "--series",
    is_flag=True,
    help="Versions in their order: compare each with the one before, and find where the series changes.",
)
@click.option(
    "--threshold",
    metavar="SHARE",
    default="1%",
    show_default=True,
    help="Relative change that is too small to matter, such as 1% or 0.01.",
)
@confidence_option
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Another way to give LEVEL, as 1 − LEVEL: verdicts rest on the intervals.",
)
@click.option(
    "--adjust",
    type=click.Choice(get_args(VersionAdjustment)),
    default="bonferroni",
    show_default=True,
    help="How several comparisons are accounted for.",
)
@click.option(
    "--direction",
    type=click.Choice(get_args(Direction)),
    help="Which way is better [that of the bundle's experiment].",
)
@click.option(
    "--where",
    "conditions",
    metavar="FACTOR=LEVEL",
    multiple=True,
    help="Keep these rows only; may be given several times.",
)
@click.option(
    "--check",
    type=click.Choice(["worse"]),
    help="Exit with status 1 when a version changed for the worse by more than the threshold.",
)
@seed_option
@output_options("Draw the changes, or with --series the history")
@coordinator_options
def compare(
    files: Sequence[Path],
    experiments: Sequence[int],
    asked: AskedNested,
    baseline: str,
    series: bool,
    threshold: str,
    confidence: float | None,
    alpha: float | None,
    adjust: VersionAdjustment,
    direction: Direction | None,
    conditions: Sequence[str],
    check: str | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
    url: str | None,
    key: str | None,
) -> None:
    """Compare versions by their means over builds: changed, unchanged, or too early to tell.

    A, B, … are bundles, whose packages are versions, or .csv or .parquet tables with one row for each
    measurement and columns version, build, execution, measurement, value; a file without versions is one,
    named after the file. Builds are the independent observations, never measurements.

    A version is unchanged where the whole interval of its change lies within ±SHARE, changed where the
    interval otherwise leaves out 0. Else the data cannot tell yet, and the output says how many builds
    would. The exit status is 0 whatever the verdict, unless --check is given.

    With --experiment the coordinator compares experiments that have ended, each a version, on the first
    response and package that all have, and of factors that vary at the first level that all have;
    --response and --where choose others. Where there were others, standard error says which these are,
    and --check is refused until they are chosen.

    \b
      datamill compare old.csv new.csv
      datamill compare my-bundle/ --baseline gcc-12 --threshold 2% --check worse
      datamill compare nightly.csv --series --figure history.svg
      datamill compare --experiment 12 --experiment 15 --where package=sort
    """  # noqa: D301 - click needs the backspace itself
    refuse_bad_files(figure_file, html_file)
    levels, share = _parse_conditions(conditions), parse_share(threshold, where="--threshold")
    if experiments:
        refuse_two_forms(as_json=as_json)
        refuse_files_beside(files, asked, figure_file, html_file)
        question = build_question(
            experiments,
            levels,
            response=asked.get("response", ""),
            series=str(series).lower(),
            baseline=baseline,
            threshold=share,
            confidence=confidence,
            alpha=alpha,
            adjust=adjust,
            direction=direction,
            seed=seed,
            form=choose_form(),
        )
        with connect(url, key) as coordinator:
            answered = ask_comparison(coordinator, question)
            unchosen = find_unchosen(answered.head, levels)
            if check:
                refuse_unchosen(answered.head, unchosen)
                if answered.head.worse is None:
                    raise _refuse_to_check(answered.head.response)
            tell_unchosen(unchosen)
            put_out_comparison(coordinator, answered, figure_file=figure_file, as_json=as_json)
        if check:
            _exit_where_worse(answered.head.worse or (), threshold)
        return
    if not files:
        raise DataArgument.refuse(click.get_current_context(), "A [B …]")
    result = analysis.compare(
        *files,
        baseline=baseline,
        series=series,
        threshold=share,
        confidence=confidence,
        alpha=alpha,
        adjust=adjust,
        direction=direction,
        where=levels,
        seed=seed,
        **asked,
    )
    if check and result.comparison.direction is None:
        raise _refuse_to_check(result.comparison.response)
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
    if check:
        _exit_where_worse(result.worse, threshold)


def _refuse_to_check(response: str) -> InputError:
    return InputError(
        f"it was not stated whether higher or lower {response} is worse",
        where="--check",
        remedy="Say which is better: --direction lower or --direction higher.",
    )


def _exit_where_worse(worse: Sequence[str], threshold: str) -> None:
    if worse:
        print_clean(f"datamill: worse by more than {threshold}: {', '.join(worse)}", err=True)
        click.get_current_context().exit(_EXIT_WORSE)


def _parse_conditions(conditions: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for condition in conditions:
        name, equals, level = (part.strip() for part in condition.partition("="))
        if not (name and equals and level):
            raise InputError(
                f'"{condition}" is not a condition',
                where="--where",
                remedy="Write FACTOR=LEVEL, such as aslr=on.",
            )
        if name in found:
            raise InputError(
                f"{name} is given twice", where="--where", remedy="One level of a factor can be chosen."
            )
        found[name] = level
    return found

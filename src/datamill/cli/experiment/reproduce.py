"""`datamill reproduce`: does an experiment that was run again have the same result?"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from datamill.cli.console import make_console
from datamill.cli.experiment.run_display import RunDisplay
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files, refuse_two_forms
from datamill.cli.verbs import DataArgument
from datamill.conduct.conduct_experiment import ConductedExperiment, NewRun, conduct_experiment
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_share
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.reading import check_archives, open_bundle_folder
from datamill.verbs.reproduction import reproduce as analysis

#: Not reproduced, or a setting of this host could not be put back as it was.
_EXIT_ATTENTION = 1


@click.command(short_help="Does an experiment that was run again have the same result?")
@click.argument("original", metavar="ORIGINAL", cls=DataArgument, type=click.Path(path_type=Path))
@click.argument("rerun", metavar="[RERUN]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--run",
    "run_first",
    is_flag=True,
    help="First run the experiment again on this machine, into the new folder RERUN [NAME-DATE-TIME].",
)
@click.option(
    "--margin",
    metavar="SHARE",
    default="5%",
    show_default=True,
    help="By how much a ratio may differ and still be the same result; choose it before the re-run.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    default=0.05,
    show_default=True,
    help="Rate of either mistake.",
)
@click.option("--check", is_flag=True, help="Exit with status 1 unless the result was reproduced.")
@output_options("Draw both effects, and the change against the margin")
def reproduce(
    original: Path,
    rerun: Path | None,
    run_first: bool,
    margin: str,
    alpha: float,
    check: bool,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say whether the bundle RERUN has the result of the bundle ORIGINAL, or that the data cannot tell yet.

    The result is what the experiment is about, its effects as ratios: of each package to the baseline, or
    with one package of each factor's levels to the first. Times may be others, as on other machines. An
    effect is reproduced where the interval of the ratio of both lies within ±SHARE, which is more than that
    two intervals overlap; it is not where the interval lies wholly outside. Otherwise the output says how
    many trials would tell. Either may be an RO-Crate as well.

    With --run the experiment runs here first, with the programs that ORIGINAL brings; what happens meanwhile
    goes to standard error. Exit status 1 when a setting of this host could not be put back as it was.

    \b
      datamill reproduce published.zip --run --margin 5%
      datamill reproduce published.zip again
    """  # noqa: D301 - click needs the backspace itself
    if rerun is None and not run_first:
        raise click.UsageError("RERUN is missing: name the bundle of the re-run, or have one made with --run")
    refuse_bad_files(figure_file, html_file)
    refuse_two_forms(as_json=as_json)
    share = parse_share(margin, where="--margin")
    unrestored: tuple[str, ...] = ()
    with ExitStack() as crates:
        given = original
        if run_first:
            # A crate is unpacked once for both.
            original = crates.enter_context(open_bundle_folder(given))
        try:
            if run_first:
                made = _run_again(original, rerun)
                rerun, unrestored = made.report.bundle.folder, made.unrestored
            assert rerun is not None
            result = analysis.reproduce(original, rerun, margin=share, alpha=alpha)
        except InputError as problem:
            # Where it was unpacked says nothing to a user.
            raise problem.moved(problem.where.replace(str(original), str(given))) from None
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)
    if unrestored or (check and result.found.verdict != "reproduced"):
        click.get_current_context().exit(_EXIT_ATTENTION)


def _run_again(original: Path, out: Path | None) -> ConductedExperiment:
    """Run the experiment of a bundle again, into a new folder.

    Raises:
        InputError: the bundle is damaged, there is nothing to compare with, or it may not run here.
        QuestionError: a trial showed that the question cannot be answered.
    """
    # Of what lies unpacked nobody has looked at the programs: others would give another result.
    check_archives(original)
    bundle = open_bundle(original)
    if not bundle.read_records():
        raise InputError(
            "nothing was measured in it", where=str(original), remedy="There is no result to reproduce."
        )
    # Its author confirmed a design of this size.
    asked = NewRun(original, out=out, allow_trials=len(bundle.design.trials))
    return conduct_experiment(asked, RunDisplay(make_console(stderr=True)))

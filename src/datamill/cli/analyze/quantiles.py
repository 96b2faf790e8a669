"""`datamill analyze quantiles`: quantile regression."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import click

from datamill.analysis.quantile.quantile_model import ERROR_METHODS
from datamill.cli.tables.data import by_option, confidence_option, data_options, seed_option
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.experiment.errors import InputError
from datamill.report.quantiles.figures import Coding
from datamill.verbs import quantiles as analysis
from datamill.verbs.analyses.analysis import Asked

#: The quantiles of ASPLOS 2013, section 6.
_USUAL = "0.1:0.9:0.1,0.99"
#: Quantiles that one call computes at most.
_MOST = 1000


@click.command(short_help="Quantile regression: effects on the median, the 99th percentile, any quantile.")
@data_options
@by_option
@click.option(
    "--quantiles",
    metavar="Q,…",
    default=_USUAL,
    show_default=True,
    help="Quantiles between 0 and 1, separated by commas, or ranges FROM:TO:STEP.",
)
@click.option(
    "--errors",
    type=click.Choice(list(ERROR_METHODS)),
    default="auto",
    show_default=True,
    help="Where intervals come from. "
    + "; ".join(f"{name}: {words}" for name, words in ERROR_METHODS.items())
    + ".",
)
@click.option(
    "--bandwidth",
    type=click.Choice(["hall-sheather", "bofinger"]),
    default="hall-sheather",
    show_default=True,
    help="How wide a window nid, kernel and iid errors take densities from.",
)
@confidence_option
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    metavar="ALPHA",
    help="Terms with a smaller p-value, adjusted for their number, count as detected "
    "[that of the bundle's experiment, else 0.05].",
)
@click.option("--replicates", type=click.IntRange(min=99), metavar="N", help="Draws of a method that draws.")
@seed_option
@click.option(
    "--block-length",
    type=click.IntRange(min=1),
    metavar="N",
    help="Successive observations in a block of --errors block [n to the power of 1/3].",
)
@click.option(
    "--stream",
    is_flag=True,
    help="Read a .parquet table in passes with bounded memory; by itself beyond 2 GB of numbers. "
    "Factors only, nid errors.",
)
@click.option(
    "--coding",
    type=click.Choice(get_args(Coding)),
    default="effect",
    show_default=True,
    help="What figure and extra table show: half the change between levels, or the change from the first "
    "level (0/1).",
)
@output_options("Also draw the effects by quantile")
def quantiles(
    file: Path,
    asked: Asked,
    by: str | None,
    quantiles: str,
    errors: str,
    bandwidth: str,
    confidence: float | None,
    alpha: float | None,
    replicates: int | None,
    seed: int,
    block_length: int | None,
    stream: bool,
    coding: Coding,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Fit quantiles of a response in DATA to factors and covariates.

    Where a mean hides it, this shows which factor acts on the tail: an effect is half the change of
    a quantile, such as the 99th percentile, from the low to the high level of a factor. DATA is as in
    `analyze anova`; the measurements of one trial are taken one by one, and the intervals know it.

    Low and high: `-` and `+`, numbers by size, other labels in reading order; a bundle's folder,
    unlike its table.parquet alone, gives levels in the order of the design, which may turn signs
    around. The output says which is which.

    \b
      datamill analyze quantiles table.csv --response latency_us --factors sched,machine
      datamill analyze quantiles my-bundle/ --quantiles 0.5,0.99 --figure effects.html
    """  # noqa: D301 - click needs the backspace itself
    wanted = parse_quantiles(quantiles)
    refuse_bad_files(figure_file, html_file)
    result = analysis.quantiles(
        file,
        quantiles=wanted,
        errors=errors,
        bandwidth=bandwidth,
        confidence=confidence,
        alpha=alpha,
        replicates=replicates,
        seed=seed,
        block_length=block_length,
        stream=stream,
        coding=coding,
        by=by,
        **asked,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)


def parse_quantiles(text: str) -> list[float]:
    """Read quantiles such as `0.5,0.99` or `0.1:0.9:0.1,0.99`.

    Raises:
        InputError: something in it is no number, no range, or there are too many.
    """
    if comma := re.fullmatch(r"0,(\d+)", text.strip()):
        raise InputError(
            f"{text.strip()} are two numbers, 0 and {comma[1]}",
            where="--quantiles",
            remedy=f"Write 0.{comma[1]} with a point.",
        )
    found: list[float] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        try:
            numbers = [float(number) for number in part.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            found += numbers
        elif len(numbers) == 3 and numbers[2] > 0 and numbers[0] <= numbers[1]:
            steps = round((numbers[1] - numbers[0]) / numbers[2], 6)
            if steps > _MOST:
                raise InputError(f"{part} is more than {_MOST} quantiles", where="--quantiles")
            # Rounded, so that 0.1:0.9:0.1 has 0.3 and not 0.30000000000000004.
            found += [round(numbers[0] + step * numbers[2], 9) for step in range(int(steps) + 1)]
        else:
            raise InputError(
                f'"{part}" is neither a quantile nor a range',
                where="--quantiles",
                remedy="Write 0.5,0.99 or a range FROM:TO:STEP such as 0.1:0.9:0.1.",
            )
    return found

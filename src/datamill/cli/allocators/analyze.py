"""`datamill allocators analyze`: do binned calls explain the slow ones?"""

from __future__ import annotations

from pathlib import Path

import click

from datamill.cli.analyze.quantiles import parse_quantiles
from datamill.cli.tables.data import confidence_option, parse_levels, seed_option, where_option
from datamill.cli.tables.output import output_options, put_out, refuse_bad_files
from datamill.verbs.allocations.analyze_allocations import analyze_allocations
from datamill.verbs.allocations.call_table import LATENCIES


@click.command(
    short_help="Say whether binned calls explain the slow ones.", context_settings={"max_content_width": 100}
)
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--latency",
    default="",
    metavar="COLUMN",
    help=f"Column of latencies [the first of {', '.join(LATENCIES)}].",
)
@click.option(
    "--index", default="", metavar="COLUMN", help="Column of the order of calls [index, else the rows]."
)
@click.option(
    "--binned",
    default="binned",
    show_default=True,
    metavar="COLUMN",
    help="Column that marks binned calls, or counts events.",
)
@where_option
@click.option(
    "--window",
    type=click.IntRange(3),
    metavar="N",
    help="Consecutive calls of which variability and skewness are taken [so many that 1 or 2 are binned].",
)
@click.option(
    "--quantiles", metavar="Q,…", default="0.05:0.95:0.05", show_default=True, help="Quantiles of the model."
)
@confidence_option
@seed_option
@output_options("Draw every call by its index")
def analyze(
    table: Path,
    latency: str,
    index: str,
    binned: str,
    where: tuple[str, ...],
    window: int | None,
    quantiles: str,
    confidence: float | None,
    seed: int,
    figure_file: Path | None,
    html_file: Path | None,
    as_json: bool,
) -> None:
    """Say whether binned calls explain the slow ones, from a table of calls.

    TABLE is a .csv or .parquet file with a row for each call: its latency, whether it was binned, and its
    index. `datamill allocators trace --latencies` writes one; any other program may. Compares both kinds of
    calls by Mann-Whitney and Games-Howell, sets variability and skewness of consecutive calls against the
    number of binned ones, and fits Q(tau) = b0 + b1 binned + b2 index.

    \b
      datamill allocators analyze calls.parquet --html calls.html
      datamill allocators analyze calls.csv --latency cycles --where line=3 --window 40
    """  # noqa: D301 - click needs the backspace itself
    wanted = parse_quantiles(quantiles)
    refuse_bad_files(figure_file, html_file)
    result = analyze_allocations(
        table,
        latency=latency,
        index=index,
        binned=binned,
        where=parse_levels("where", where),
        window=window,
        quantiles=wanted,
        confidence=confidence,
        seed=seed,
    )
    put_out(result, figure_file=figure_file, html_file=html_file, as_json=as_json)

"""Scores out of an experiment's tidy table: packages are benchmarks, machines and levels are machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.messages.suggestions import suggest_name
from datamill.results.foreign.units import find_conversion

_COLUMNS = ("machine", "benchmark", "replicate", "seconds", "score", "unit")


def gather_bundle_scores(
    table: pl.DataFrame,
    response: str,
    *,
    factors: Sequence[str],
    higher: bool,
    source: str,
    place: str = "",
    levels_of: Literal["machine", "benchmark"] = "machine",
) -> pl.DataFrame:
    """Return columns machine, benchmark, replicate, seconds, score and unit, one row a trial.

    A machine is a worker, and at several levels of the `factors` one machine for each combination, called
    `worker factor=level factor=level`; with `levels_of` "benchmark" the machine stays one, and each
    combination is a benchmark. `place` is the column that names machines, else `machine` where the design
    varies it, else `worker`. A trial with several measurements has their geometric mean. Of a response in
    another unit than a time, values are scores if `higher` is better, and reciprocals of scores otherwise.
    Rows that were judged invalid are left out.

    Raises:
        InputError: the table has no such response, no valid value of it, or one that is not above zero.
    """
    known = table["response"].unique().to_list()
    if response not in known:
        raise InputError(
            f'the experiment has no response "{response}"', where=source, remedy=suggest_name(response, known)
        )
    rows = table.filter(
        (pl.col("response") == response)
        & pl.col("valid")
        & pl.col("value").is_not_null()
        & (pl.col("purpose") == "question")
    )
    if rows.height == 0:
        raise InputError(
            f"there is no valid value of {response}",
            where=source,
            remedy=f"Look at the report, or name another response with {argument('response')}.",
        )
    low = rows.filter(pl.col("value") <= 0)
    if low.height:
        raise InputError(
            f"{response} is {format_given(float(low['value'][0]))} in a trial of {low['package'][0]}: what "
            "is "
            "compared are ratios, and of zero there is none",
            where=source,
            remedy=f"Name a time or a rate with {argument('response')}: {', '.join(sorted(known))}.",
        )
    place = place or ("machine" if "machine" in table.columns and "machine" in factors else "worker")
    several = [name for name in factors if name not in ("package", place) and rows[name].n_unique() > 1]
    levels = [_name_level(name) for name in several]
    of_machine, of_benchmark = (levels, []) if levels_of == "machine" else ([], levels)
    machine = pl.concat_str([pl.col(place), *of_machine], separator=" ")
    benchmark = pl.concat_str([pl.col("package"), *of_benchmark], separator=" ")
    unit = str(rows["unit"][0] or "")
    conversion = find_conversion(unit)
    is_time = conversion.unit == "s" and not higher
    first = pl.col("value").first()
    trials = (
        rows.with_columns(machine=machine, benchmark=benchmark)
        .group_by("machine", "benchmark", "trial_id", maintain_order=True)
        # About the first value, so that a single one stays as it is.
        .agg(first * (pl.col("value") / first).log().mean().exp())
        .with_columns(replicate=pl.int_range(1, pl.len() + 1).over("machine", "benchmark"))
    )
    value = pl.col("value")
    empty = pl.lit(None, dtype=pl.Float64)
    return trials.with_columns(
        seconds=value.map_elements(conversion.apply, return_dtype=pl.Float64) if is_time else empty,
        score=empty if is_time else value if higher else 1 / value,
        unit=pl.lit("s" if is_time else unit if higher else f"1/{unit}"),
    ).select(_COLUMNS)


def _name_level(factor: str) -> pl.Expr:
    return pl.format("{}={}", pl.lit(factor), pl.col(factor))

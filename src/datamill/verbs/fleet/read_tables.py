"""`read_tables`: what `datamill fetch --tables` brought, as a table for the other verbs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from datamill.experiment.errors import InputError


def read_tables(
    folder: str | Path,
    *,
    experiments: Collection[int] | None = None,
    levels: Collection[str] = (),
    context: Collection[str] = (),
) -> pl.LazyFrame:
    """Return the results in a folder of `datamill fetch --tables`: a row for each observation, read in place.

    Args:
        folder: what `datamill fetch --tables` wrote.
        experiments: numbers of experiments, by default all; others are not even opened.
        levels: factors whose levels become columns of their own, null where an experiment has no such factor.
        context: circumstances that become columns `context.NAME`, such as `"cpu_model"`.

    Returns:
        A lazy frame with the columns of docs/reference/tables.md and those asked for: `collect` reads it.

    Raises:
        InputError: when the folder holds no tables.
    """
    root = Path(folder)
    parts = sorted(root.glob("experiment=*/*.parquet"), key=lambda part: (len(part.parent.name), str(part)))
    if experiments is not None:
        wanted = {f"experiment={number}" for number in experiments}
        parts = [part for part in parts if part.parent.name in wanted]
    if not parts:
        raise InputError(
            "there are no tables in this folder",
            where=str(root),
            remedy="Name the folder into which the tables of a fleet were fetched.",
        )
    table = pl.scan_parquet(parts, hive_partitioning=True)
    return table.with_columns(
        *(_take("levels", name).alias(name) for name in levels),
        *(_take("context", name).alias(f"context.{name}") for name in context),
    )


def _take(column: str, key: str) -> pl.Expr:
    """What a list of keys and values has for a key; null where it has nothing."""
    found = pl.element().filter(pl.element().struct.field("key") == key).struct.field("value").first()
    return pl.col(column).list.eval(found).list.first()

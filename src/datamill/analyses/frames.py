"""Tables of other libraries as polars frames, without a copy where that can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from datamill.experiment.errors import InputError


def take_frame(table: Any) -> pl.DataFrame:
    """Return a table as a polars frame: polars, pandas, Arrow, a dict of columns, or any Arrow stream.

    The order of an ordered pandas categorical is kept as the order of levels.

    Raises:
        InputError: it is no table.
    """
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, Mapping):
        return pl.DataFrame(dict(table))
    try:
        frame = pl.DataFrame(table) if hasattr(table, "__arrow_c_stream__") else pl.from_dataframe(table)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{type(table).__name__} is no table: {error}",
            remedy="Give a polars or pandas frame, an Arrow table, or a dict of columns.",
        ) from None
    if not type(table).__module__.startswith("pandas"):
        return frame
    ordered = {
        name: pl.Enum([str(level) for level in dtype.categories])
        for name, dtype in table.dtypes.items()
        if getattr(dtype, "ordered", False)
    }
    return frame.with_columns(pl.col(name).cast(pl.String).cast(kind) for name, kind in ordered.items())

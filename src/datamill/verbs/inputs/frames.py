"""Tables of other libraries as polars frames, without a copy where that can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import polars as pl

from datamill.experiment.errors import InputError
from datamill.results.tables.level_orders import keep_declared_orders, take_arrow_table


def take_frame(table: Any) -> pl.DataFrame:
    """Return a table as a polars frame: polars, pandas, Arrow, a dict of columns, or any Arrow stream.

    The order of an ordered categorical of pandas or dictionary of Arrow is kept as the order of levels.

    Raises:
        InputError: it is no table, a lazy frame fails, or a column is of no type that can be taken.
    """
    if isinstance(table, pl.LazyFrame):
        return _collect(table)
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, Mapping):
        return _gather_columns(table)
    _refuse_wide_decimals(table)
    try:
        if hasattr(table, "__arrow_c_stream__") and not type(table).__module__.startswith("pandas"):
            return take_arrow_table(table)
        frame = pl.DataFrame(table) if hasattr(table, "__arrow_c_stream__") else pl.from_dataframe(table)
    except (TypeError, ValueError, NotImplementedError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{type(table).__name__} is not a table: {error}",
            remedy="Give a polars or pandas frame, an Arrow table, or a dict of columns.",
        ) from None
    if not type(table).__module__.startswith("pandas"):
        return frame
    return _keep_orders(frame, dict(table.dtypes.items()))


def _keep_orders(frame: pl.DataFrame, kinds: Mapping[str, Any]) -> pl.DataFrame:
    """The frame with the order of levels of each column whose kind is an ordered categorical of pandas."""
    ordered = {
        name: pl.Enum(_spell_levels(kind.categories))
        for name, kind in kinds.items()
        if getattr(kind, "ordered", False)
        and hasattr(kind, "categories")
        # Such as the intervals of pandas.cut: of no type that has a text for each level.
        and not isinstance(frame.schema.get(name), pl.BaseExtension)
    }
    return frame.with_columns(pl.col(name).cast(pl.String).cast(kind) for name, kind in ordered.items())


def _spell_levels(categories: Any) -> list[str]:
    """The levels of a pandas categorical as the column's own values are spelled: `true`, not `True`."""
    levels = pl.DataFrame(categories.to_frame(index=False, name="level"))["level"]
    return levels.cast(pl.String).to_list()


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except (pl.exceptions.PolarsError, OSError, TypeError, ValueError) as error:
        raise InputError(
            f"the lazy frame cannot be computed: {str(error).strip().splitlines()[0]}",
            remedy="Correct its query, or give the frame that .collect() returns.",
        ) from None


def _gather_columns(columns: Mapping[Any, Any]) -> pl.DataFrame:
    """A frame of a dict of columns; whole numbers and others may be mixed in one."""
    gathered: dict[str, Any] = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise InputError(f"the name of a column is {name!r}, no text", remedy=f'Write "{name}".')
        gathered[name] = _gather_column(name, values) if isinstance(values, (list, tuple)) else values
    try:
        frame = keep_declared_orders(pl.DataFrame(gathered), gathered)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the columns make no table: {str(error).strip().splitlines()[0]}",
            remedy="Give columns of one length, each of numbers or of texts.",
        ) from None
    return _keep_orders(frame, {name: getattr(values, "dtype", None) for name, values in gathered.items()})


def _gather_column(name: str, values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(name, values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    if all(item is None or (isinstance(item, Real) and not isinstance(item, bool)) for item in values):
        return pl.Series(name, [None if item is None else float(item) for item in values], dtype=pl.Float64)
    kinds = ", ".join(sorted({type(item).__name__ for item in values if item is not None}))
    raise InputError(f"column {name} mixes {kinds}", remedy="Give numbers only, or texts only.")


def _refuse_wide_decimals(table: Any) -> None:
    """Arrow's decimals of more than 38 digits would end polars itself, not only this call."""
    for field in getattr(table, "schema", None) or () if hasattr(table, "__arrow_c_stream__") else ():
        if str(getattr(field, "type", "")).startswith("decimal256"):
            raise InputError(
                f"column {field.name} holds {field.type}, wider than any number here",
                remedy="Cast it to double or to decimal128.",
            )

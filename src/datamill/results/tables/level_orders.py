"""Orders of levels that a table itself declares: Enums of polars, ordered dictionaries of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    # Imported where a table has such a dictionary: it takes longer than to read most tables.
    import pyarrow as pa


def list_categories(kind: pl.Enum) -> list[str]:
    """The levels of an Enum in its order, as they are compared: without space around them."""
    return list(dict.fromkeys(kind.categories.str.strip_chars().to_list()))


def take_arrow_table(table: Any) -> pl.DataFrame:
    """Return a table of Arrow, or a stream of one, as a polars frame with the orders that it declares."""
    import pyarrow as pa

    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        # A stream can be read only once, and a frame has forgotten what the stream declared.
        table = pa.RecordBatchReader.from_stream(table).read_all()
    return keep_declared_orders(
        pl.DataFrame(table), dict(zip(table.schema.names, table.columns, strict=True))
    )


def keep_declared_orders(frame: pl.DataFrame, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the frame with an Enum for each of its columns that is an ordered dictionary of Arrow.

    What else `columns` holds stays as it is, and so does a dictionary whose pieces contradict each other.
    """
    ordered = {}
    for name, column in columns.items():
        if frame.schema[name] == pl.Enum or not is_ordered(getattr(column, "type", None)):
            continue
        levels = merge_orders(
            spell_dictionary(piece.dictionary) for piece in getattr(column, "chunks", [column])
        )
        if levels is not None:
            ordered[name] = pl.Enum(levels)
    return frame.with_columns(pl.col(name).cast(pl.String).cast(kind) for name, kind in ordered.items())


def read_declared_orders(file: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Return columns of a Parquet file with the orders that the file declares and polars does not read."""
    names = [name for name, kind in frame.schema.items() if kind == pl.Categorical]
    if not names:
        return frame
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    names = [name for name in names if is_ordered(schema.field(name).type)]
    table = pq.read_table(file, columns=names)
    return keep_declared_orders(frame, dict(zip(table.column_names, table.columns, strict=True)))


def is_ordered(kind: object) -> bool:
    """Whether a type of Arrow is a dictionary whose entries are in a meaningful order."""
    return bool(getattr(kind, "ordered", False)) and hasattr(kind, "index_type")


def spell_dictionary(dictionary: pa.Array) -> list[str]:
    """The entries of a dictionary as the column's own values are spelled."""
    return pl.Series(dictionary).cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()


def merge_orders(orders: Iterable[Sequence[str]]) -> list[str] | None:
    """Return one order that agrees with all of them; None where they contradict each other."""
    given = list(dict.fromkeys(tuple(order) for order in orders))
    merged = list(dict.fromkeys(chain.from_iterable(given)))
    place = {level: index for index, level in enumerate(merged)}
    agree = all(place[before] < place[after] for order in given for before, after in pairwise(order))
    return merged if agree else None

"""The tidy table of one experiment as a part of a data set of many: the same columns for all of them.

What differs between experiments stands in two lists of keys and values: `levels` has the level of
each factor, `context` what is known of the circumstances. docs/reference/tables.md describes the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from datamill.results.tables.columns import TABLE_COLUMNS
from datamill.results.tables.table import CONTEXT_PREFIX

#: Rows of a group in the file: so many are turned into lists at a time.
_GROUP_ROWS = 65_536
_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
#: Columns of tidy tables that have another name here: `experiment` is the number by which parts are divided.
_RENAMED = {"experiment": "experiment_name"}
#: A list and no map: readers differ in what they make of maps.
_PAIRS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.string())]))
PART_SCHEMA = pa.schema(
    [
        pa.field("owner", pa.string(), nullable=False),
        *(pa.field(_RENAMED.get(name, name), _TYPES[kind]) for name, kind in TABLE_COLUMNS.items()),
        pa.field("levels", _PAIRS, nullable=False),
        pa.field("context", _PAIRS, nullable=False),
    ]
)


def write_part(table: pl.DataFrame, owner: str, target: Path) -> int:
    """Write a tidy table as a part, in groups of rows, and return how many rows it has."""
    with pq.ParquetWriter(target, PART_SCHEMA, compression="zstd") as writer:
        for group in _list_groups(table, owner):
            writer.write_table(group)
    return table.height


def _list_groups(table: pl.DataFrame, owner: str) -> Iterator[pa.Table]:
    apart = [name for name in table.columns if name not in TABLE_COLUMNS]
    context = [name for name in apart if name.startswith(CONTEXT_PREFIX)]
    factors = [name for name in apart if name not in context]
    for group in table.iter_slices(_GROUP_ROWS):
        columns = {
            _RENAMED.get(name, name): group[name].cast(_cast(kind)).to_arrow()
            for name, kind in TABLE_COLUMNS.items()
        }
        columns["owner"] = pa.array([owner] * group.height, pa.string())
        columns["levels"] = _make_pairs(group, factors, "")
        columns["context"] = _make_pairs(group, context, CONTEXT_PREFIX)
        yield pa.table(
            [columns[name].cast(PART_SCHEMA.field(name).type) for name in PART_SCHEMA.names],
            schema=PART_SCHEMA,
        )


def _cast(kind: type) -> pl.DataType:
    types: dict[type, pl.DataType] = {
        str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean(),
    }  # fmt: skip
    return types[kind]


def _make_pairs(group: pl.DataFrame, names: Sequence[str], prefix: str) -> pa.Array:
    """Return for each row the columns' names with what the row has there, without what is absent."""
    keys = [name.removeprefix(prefix) for name in names]
    texts = [group[name].cast(pl.String).to_list() for name in names]
    rows = zip(*texts, strict=True) if names else iter([()] * group.height)
    return pa.array(
        [
            [{"key": key, "value": text} for key, text in zip(keys, row, strict=True) if text is not None]
            for row in rows
        ],
        _PAIRS,
    )

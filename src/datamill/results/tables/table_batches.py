"""Tables larger than memory: a Parquet file read in batches, its design points found first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from datamill.experiment.errors import InputError
from datamill.results.tables.level_orders import is_ordered, list_categories, merge_orders, spell_dictionary
from datamill.results.tables.lost_digits import describe_lost_digits, may_lose_digits

#: Rows of a batch.
_ROWS = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class CombinationCounts:
    """The combinations of labels in a table: labels (K × f), rows of each (K), lowest and highest value.

    `levels` has the order of those factors whose columns state one (Enums, ordered dictionaries).
    """

    labels: tuple[tuple[str, ...], ...]
    counts: NDArray[np.int64]
    low: float
    high: float
    levels: Mapping[str, Sequence[str]]


def is_large_table(file: Path, columns: int, most_bytes: int) -> bool:
    """Whether so many columns of a Parquet table take more than so many bytes as numbers in memory."""
    if file.suffix.lower() != ".parquet" or not file.is_file():
        return False
    try:
        metadata = pq.ParquetFile(file).metadata
    except (pa.ArrowInvalid, OSError):
        return False
    return int(metadata.num_rows) * columns * 8 > most_bytes


def count_combinations(file: Path, factors: Sequence[str], response: str) -> CombinationCounts:
    """Find the combinations of the factors' labels, in one pass with bounded memory.

    Raises:
        InputError: the file is no table, a column is missing, a label is empty, or a value of the
            response is not a finite number, or whole numbers would lose their differences as doubles.
    """
    found: dict[tuple[str, ...], int] = {}
    dictionaries: dict[str, list[pa.Array]] = {}
    low, high, row = np.inf, -np.inf, 0
    rounded: list[int] = []
    for batch in _read_batches(file, [*factors, response]):
        values = _take_values(batch, response, file, row)
        rounded += _find_rounded(batch.column(response), values)
        for name in factors:
            if is_ordered(batch.column(name).type):
                known = dictionaries.setdefault(name, [])
                # Most batches have the dictionary of the one before.
                if not known or not known[-1].equals(batch.column(name).dictionary):
                    known.append(batch.column(name).dictionary)
        codes, labels = _combine(batch, factors, file, row)
        for index, count in enumerate(np.bincount(codes, minlength=len(labels)).tolist()):
            found[labels[index]] = found.get(labels[index], 0) + count
        if values.size:
            low, high = min(low, float(values.min())), max(high, float(values.max()))
        row += values.size
    if rounded and may_lose_digits(low, high):
        raise describe_lost_digits(response, rounded[0], min(rounded), str(file))
    if not found:
        raise InputError("the table has no rows", where=str(file), remedy="Add one row an observation.")
    present = {labels: count for labels, count in found.items() if count}
    counts = np.array(list(present.values()), dtype=np.int64)
    return CombinationCounts(tuple(present), counts, low, high, _list_levels(file, factors, dictionaries))


def _list_levels(
    file: Path, factors: Sequence[str], dictionaries: Mapping[str, Sequence[pa.Array]]
) -> dict[str, list[str]]:
    """Levels of factors that declare an order: that of an Enum, else of the dictionaries of all batches."""
    levels = {}
    for name, found in dictionaries.items():
        order = merge_orders(list(dict.fromkeys(map(str.strip, spell_dictionary(item)))) for item in found)
        if order is not None:
            levels[name] = order
    types = {name: dtype for name, dtype in pl.read_parquet_schema(file).items() if name in factors}
    enums = {name: list_categories(dtype) for name, dtype in types.items() if isinstance(dtype, pl.Enum)}
    return levels | enums


def iterate_cells(
    file: Path, factors: Sequence[str], response: str, cell_of: dict[tuple[str, ...], int]
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.float64]]]:
    """Yield the cell and the value of every row, batch by batch."""
    row = 0
    for batch in _read_batches(file, [*factors, response]):
        values = _take_values(batch, response, file, row)
        codes, labels = _combine(batch, factors, file, row)
        cells = np.array([cell_of.get(label, 0) for label in labels], dtype=np.uint32)
        yield cells[codes], values
        row += values.size


def _read_batches(file: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        table = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"the table cannot be read: {str(error).splitlines()[0]}",
            where=str(file),
            remedy="Give a .parquet file.",
        ) from None
    for name in columns:
        if name not in table.schema_arrow.names:
            raise InputError(
                f'there is no column "{name}"',
                where=str(file),
                remedy=f"The columns are: {', '.join(table.schema_arrow.names)}.",
            )
    yield from table.iter_batches(batch_size=_ROWS, columns=columns)


def _take_values(batch: pa.RecordBatch, response: str, file: Path, first: int) -> NDArray[np.float64]:
    column = batch.column(response)
    if pa.types.is_boolean(column.type):
        raise _refuse_numberless(response, column.type, file)
    try:
        # Whole numbers that are rounded are looked at by themselves.
        numbers = column.cast(pa.float64(), safe=not pa.types.is_integer(column.type))
        values = np.asarray(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _refuse_numberless(response, column.type, file) from None
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(np.argmax(bad))
        given = column[at].as_py()
        raise InputError(
            f'{response} is "{"" if given is None else given}", which is not a finite number',
            where=f"{file}:{first + at + 1}",
            remedy="Correct the value, or remove the row.",
        )
    return values


def _find_rounded(column: pa.Array, values: NDArray[np.float64]) -> list[int]:
    """The least of the whole numbers that became others as doubles, if there are any."""
    if not pa.types.is_integer(column.type):
        return []
    whole = column.to_numpy(zero_copy_only=False)
    # Exact: a double that is a whole number is compared as such, except what lies beyond the type.
    changed = pl.Series(whole) != pl.Series(values).cast(pl.Series(whole).dtype, strict=False)
    changed_rows = changed.fill_null(value=True).to_numpy()
    return [int(whole[changed_rows].min())] if changed_rows.any() else []


def _combine(
    batch: pa.RecordBatch, factors: Sequence[str], file: Path, first: int
) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """The combination of each row as a number, and the labels of every number."""
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    labels: list[tuple[str, ...]] = [()]
    for name in factors:
        encoded = _encode_levels(batch.column(name), name, file)
        own = pl.Series(encoded.dictionary).cast(pl.String).str.strip_chars().fill_null("").to_list()
        # The number of what is missing may be one too many for the type that the file counts levels in.
        of_row = encoded.indices.cast(pa.int64()).fill_null(len(own)).to_numpy(zero_copy_only=False)
        missing = np.array([label == "" for label in (*own, "")])[of_row]
        if missing.any():
            raise InputError(
                f"factor {name} has no level here",
                where=f"{file}:{first + int(np.argmax(missing)) + 1}",
                remedy=f"Fill in column {name}, or remove the row.",
            )
        codes = codes * len(own) + of_row
        labels = [(*before, label) for before in labels for label in own]
    present, codes = np.unique(codes, return_inverse=True)
    return codes.reshape(-1), [labels[number] for number in present.tolist()]


def _encode_levels(column: pa.Array, name: str, file: Path) -> pa.DictionaryArray:
    """Distinct levels of a column and the place of each row's among them, nowhere where it has none.

    Raises:
        InputError: the column's type has neither numbers nor a text for each value.
    """
    if pa.types.is_dictionary(column.type):
        return column
    kind = column.type
    odd = pa.types.is_nested(kind) or pa.types.is_duration(kind) or isinstance(kind, pa.BaseExtensionType)
    if odd or _is_binary(kind):
        raise InputError(
            f"column {name} holds {kind}, neither numbers nor texts",
            where=str(file),
            remedy="Make numbers or texts of it, such as seconds of a duration, or name another column.",
        )
    if pa.types.is_floating(kind):
        # −0 and 0 are one level, and what is no number is none.
        levels = pl.Series(column)
        column = levels.replace(0.0, 0.0).fill_nan(None).to_arrow()
    return pc.dictionary_encode(column)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _refuse_numberless(response: str, kind: pa.DataType, file: Path) -> InputError:
    return InputError(
        f"column {response} holds {kind}, not numbers", where=str(file), remedy="Name another column."
    )

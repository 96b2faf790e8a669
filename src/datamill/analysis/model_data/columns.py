"""Columns of a table as numbers: level codes of factors, and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datamill._native import number_texts, relabel
from datamill.analysis.model_data.cells import CellArray, CodeArray, FloatArray, ModelFactor, order_levels
from datamill.analysis.model_data.formula import Variable
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given
from datamill.results.tables.level_orders import list_categories
from datamill.results.tables.lost_digits import describe_lost_digits, may_lose_digits

#: Column that numbers rows before some are chosen; no file has a column of this name.
ROW = "\0row"


@dataclass(frozen=True, slots=True)
class Lines:
    """Where rows of a table come from, for messages.

    Attributes:
        source: The table's name.
        first: Line of its first row, if known.
        rows: Which of its rows they are; None: all.
    """

    source: str
    first: int | None
    rows: NDArray[np.integer] | None = None

    def locate(self, row: int) -> str:
        """Place of a row."""
        if self.first is None:
            return self.source
        return f"{self.source}:{(row if self.rows is None else int(self.rows[row])) + self.first}"


def encode_factors(
    table: pl.DataFrame, names: Sequence[str], levels: Mapping[str, Sequence[str]], lines: Lines
) -> tuple[tuple[ModelFactor, ...], tuple[CodeArray, ...]]:
    """Return the factors of a table, and for each the level of every row as its index.

    Levels come in the order of `levels` where given (those with data), else in that of an Enum's
    categories, else of `order_levels`.

    Raises:
        InputError: a row has no level.
    """
    factors: list[ModelFactor] = []
    columns: list[CodeArray] = []
    for name in names:
        dtype = table[name].dtype
        few = _number_few_texts(table[name], lines) if dtype == pl.String else None
        labels, label_of_code, codes = few or _encode_labels(table[name], lines)
        given = levels.get(name, list_categories(dtype) if isinstance(dtype, pl.Enum) else None)
        ordered = order_levels(labels) if given is None else _order_given(labels, given)
        place = {label: index for index, label in enumerate(ordered)}
        factors.append(ModelFactor(name, ordered))
        level_of_label = np.array([place[label] for label in labels], dtype=np.uint32)
        columns.append(_replace_codes(codes, level_of_label[label_of_code]))
    return tuple(factors), tuple(columns)


def _replace_codes(codes: CodeArray, of_code: CellArray) -> CodeArray:
    """The entry of every row's code; narrow codes are replaced where they stand."""
    if codes.dtype != np.uint8:
        return np.asarray(of_code[codes], dtype=np.uint32)
    if not np.array_equal(of_code, np.arange(of_code.size)):
        table = np.zeros(256, dtype=np.uint8)
        table[: of_code.size] = of_code
        relabel(codes.view(np.uint8), table)
    return codes


def _order_given(labels: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    seen = set(labels)
    return (*(level for level in given if level in seen), *order_levels(seen - set(given)))


def _number_few_texts(column: pl.Series, lines: Lines) -> tuple[list[str], CellArray, CodeArray] | None:
    """Labels and codes as `_encode_labels` returns them; None where there are more than 255 texts."""
    if column.null_count():
        return None
    numbered = number_texts([_view_texts(chunk) for chunk in column.get_chunks()])
    if numbered is None:
        return None
    codes, first_rows = numbered
    texts = column.gather(first_rows).str.strip_chars().to_list()
    if "" in texts:
        raise _describe_no_level(column.name, int(first_rows[texts.index("")]), lines)
    labels = list(dict.fromkeys(texts))
    return labels, np.array([labels.index(text) for text in texts], dtype=np.uint32), codes


def _view_texts(chunk: pl.Series) -> tuple[NDArray[np.uint64], list[NDArray[np.uint8]]]:
    """The memory of a column of texts, not copied: two words a row, and the bytes of long texts."""
    array = chunk.to_arrow(compat_level=pl.CompatLevel.newest())
    _, views, *buffers = array.buffers()
    words = np.frombuffer(views, dtype=np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
    return words, [np.frombuffer(buffer, dtype=np.uint8) for buffer in buffers]


def _encode_labels(column: pl.Series, lines: Lines) -> tuple[list[str], CellArray, CellArray]:
    """Distinct labels of a column, the index of each code's label among them, and the code of each row."""
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        _refuse_empty(column.is_null(), column.name, lines)
        categories = column.cast(pl.Categorical)
        distinct = categories.unique()
        numbers = categories.to_physical().to_numpy().astype(np.uint32, copy=False)
        labels_of = distinct.cast(pl.String).str.strip_chars().to_list()
        texts = dict(zip(distinct.to_physical().to_list(), labels_of, strict=True))
    else:
        missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
        _refuse_empty(missing, column.name, lines)
        # −0 and 0 are one level; which of them came first must not name it.
        column = column.replace(0.0, 0.0) if column.dtype.is_float() else column
        distinct = column.unique().sort()
        texts = dict(enumerate(distinct.cast(pl.String).to_list()))
        if column.dtype == pl.Boolean:
            numbers = column.cast(pl.UInt32).to_numpy() - np.uint32(distinct.len() == 1 and bool(distinct[0]))
        else:
            numbers = distinct.search_sorted(column).to_numpy().astype(np.uint32)
    labels = list(dict.fromkeys(texts.values()))
    if "" in labels:
        empty = next(code for code, text in texts.items() if not text)
        _refuse_empty(pl.Series(numbers == empty), column.name, lines)
    place = {label: index for index, label in enumerate(labels)}
    mapping = np.zeros(max(texts, default=0) + 1, dtype=np.uint32)
    for code, text in texts.items():
        mapping[code] = place[text]
    return labels, mapping, numbers


def _refuse_empty(missing: pl.Series, name: str, lines: Lines) -> None:
    if missing.any():
        raise _describe_no_level(name, missing.arg_max() or 0, lines)


def _describe_no_level(name: str, row: int, lines: Lines) -> InputError:
    return InputError(
        f"factor {name} has no level here",
        where=lines.locate(row),
        remedy=f"Fill in column {name}, or remove the line.",
    )


def read_variable(table: pl.DataFrame, variable: Variable, lines: Lines) -> FloatArray:
    """Values of a column, transformed as the variable says (n).

    Raises:
        InputError: a value is missing, no finite number, or outside the transform's domain.
    """
    column = table[variable.column]
    numbers = read_numbers(column, variable.column, lines)
    _refuse_lost_digits(column, numbers, lines)
    if not variable.transform:
        return numbers
    bad = numbers < 0 if variable.transform == "sqrt" else numbers <= 0
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{variable.name} does not exist where {variable.column} is {format_given(numbers[row])}",
            where=lines.locate(row),
            remedy="Leave the transform out, or correct the value.",
        )
    transforms = {"log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt}
    return np.asarray(transforms[variable.transform](numbers), dtype=np.float64)


def _refuse_lost_digits(column: pl.Series, numbers: FloatArray, lines: Lines) -> None:
    """Refuse whole numbers that differ by little more than what doubles of their size can tell apart."""
    if numbers.size == 0 or column.dtype.is_float():
        return
    low, high = float(np.min(numbers)), float(np.max(numbers))
    if not may_lose_digits(low, high):
        return
    exact = column.str.strip_chars() if column.dtype == pl.String else column
    # Wide enough for addresses and counters of 64 bits without a sign.
    whole = exact.cast(pl.Int128, strict=False)
    # What a double holds exactly, such as equal powers of two, loses nothing.
    if (
        whole.null_count() == 0
        and (whole != pl.Series(numbers).cast(pl.Int128, strict=False)).fill_null(True).any()
    ):
        raise describe_lost_digits(column.name, int(whole[0]), min(whole.to_list()), lines.source)


def read_numbers(column: pl.Series, name: str, lines: Lines) -> FloatArray:
    """Values of a column as doubles (n).

    Raises:
        InputError: the column holds no numbers, or a value is missing or not finite.
    """
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
    else:
        raise InputError(
            f"column {name} holds {column.dtype}, not numbers",
            where=lines.source,
            remedy="Name another column.",
        )
    bad = ~numbers.is_finite().fill_null(value=False)
    if bad.any():
        row = bad.arg_max() or 0
        given = column[row]
        raise InputError(
            f'{name} is "{"" if given is None else given}", which is not a finite number',
            where=lines.locate(row),
            remedy="Correct the value, or remove the line.",
        )
    return numbers.to_numpy()

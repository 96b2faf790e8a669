"""Columns of a table of scores or times: which ones hold what, as names and as positive numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.model_data.columns import Lines
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.messages.suggestions import suggest_name
from datamill.platforms.scores.score_matrix import FloatArray, ScoreKind

#: Columns of values, each with what it holds.
VALUES: tuple[ScoreKind, ...] = ("seconds", "score")
#: What stands where nothing was measured; `NR` is SPEC's.
_MISSING = ("", "na", "n/a", "nan", "null", "none", "nr", "-", "–")
#: Words for seconds in a column of units.
_SECONDS = ("", "s", "sec", "secs", "second", "seconds")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class RowValues:
    """Values of the rows (n) in seconds or 1 / score, NaN where there is none, and of which kind each is.

    `of_seconds` (n) is true where a time was given and false where a score was.
    """

    times: FloatArray
    of_seconds: np.ndarray[tuple[int], np.dtype[np.bool_]]


def refuse_missing_columns(table: pl.DataFrame, needed: Sequence[str], source: str) -> None:
    """Refuse a table that lacks a column.

    Raises:
        InputError: there is one; names the columns that the table has.
    """
    if table.height == 0:
        raise InputError("the table has no rows", where=source, remedy="Give a table with measurements.")
    for name in needed:
        if name not in table.columns:
            close = suggest_name(name, table.columns)
            raise InputError(
                f"there is no column {name}",
                where=source,
                remedy=f"Give one row a measurement: {', '.join(needed)}, and seconds or score (of a table "
                f"with a column for each benchmark: unpivot it, in pandas melt). {close}",
            )


def read_names(table: pl.DataFrame, column: str, lines: Lines) -> list[str]:
    """The names in a column, without blanks around them; whole numbers without decimals.

    Raises:
        InputError: a row has no name, or the column holds neither texts nor numbers.
    """
    series = table[column]
    if series.dtype.is_nested() or isinstance(series.dtype, (pl.Binary, pl.Object, pl.BaseExtension)):
        raise InputError(
            f"column {column} holds {series.dtype}, no names", where=lines.source, remedy="Give texts."
        )
    if series.dtype.is_float():
        # A library that knows no missing whole number keeps numbers of machines so.
        whole = series.drop_nulls().drop_nans()
        if bool((whole == whole.floor()).all()):
            series = series.fill_nan(None).cast(pl.Int64, strict=False)
    texts = series.cast(pl.String).str.strip_chars()
    empty = texts.is_null() | (texts == "")
    if empty.any():
        raise InputError(
            f"column {column} is empty in a row",
            where=lines.locate(int(empty.arg_max() or 0)),
            remedy=f"Name the {column}, or remove the row.",
        )
    return [str(text) for text in texts.to_list()]


def read_numbers(table: pl.DataFrame, column: str, lines: Lines) -> FloatArray:
    """The numbers in a column, NaN where a cell is empty or says that nothing was measured.

    Raises:
        InputError: a cell holds something else; names its row.
    """
    series = table[column]
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
    if series.dtype == pl.Null:
        return np.full(table.height, np.nan)
    if series.dtype.is_nested() or not isinstance(series.dtype, (pl.String, pl.Categorical, pl.Enum)):
        raise InputError(
            f"column {column} holds {series.dtype}, no numbers", where=lines.source, remedy="Give numbers."
        )
    texts = series.cast(pl.String).str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    empty = texts.str.to_lowercase().is_in(_MISSING).fill_null(value=True)
    odd = numbers.is_null() & ~empty
    if odd.any():
        row = int(odd.arg_max() or 0)
        raise InputError(
            f'{column} is "{texts[row]}", which is not a number',
            where=lines.locate(row),
            remedy="Write a number with a point, or leave the cell empty where nothing was measured.",
        )
    return numbers.fill_null(float("nan")).to_numpy().copy()


def read_values(table: pl.DataFrame, lines: Lines) -> RowValues:
    """The values of the rows, from the column `seconds`, the column `score`, or each where it has one.

    Raises:
        InputError: there is neither column, a row has both, or a value is not above zero and finite.
    """
    present = [name for name in VALUES if name in table.columns]
    if not present:
        raise InputError(
            "there is no column seconds and no column score",
            where=lines.source,
            remedy="Name the column of times seconds, that of scores (more is better) score. "
            f"The columns are: {list_first(table.columns, 12)}.",
        )
    columns = {name: read_numbers(table, name, lines) for name in present}
    for name, numbers in columns.items():
        _refuse_not_positive(numbers, name, lines)
    seconds = columns.get("seconds", np.full(table.height, np.nan))
    scores = columns.get("score", np.full(table.height, np.nan))
    both = np.isfinite(seconds) & np.isfinite(scores)
    if both.any():
        raise InputError(
            "a row has both seconds and score, and which of them counts is not said",
            where=lines.locate(int(np.argmax(both))),
            remedy="Remove one of the two columns, or give it another name.",
        )
    of_seconds = np.isfinite(seconds) | (not np.isfinite(scores).any())
    times = np.where(of_seconds, seconds, 1.0 / scores)
    if not np.isfinite(times).any():
        raise InputError(
            f"column {present[0]} holds no value",
            where=lines.source,
            remedy="Give values of some machines at least.",
        )
    _refuse_other_units(table, of_seconds, lines)
    return RowValues(times, of_seconds)


def _refuse_not_positive(numbers: FloatArray, column: str, lines: Lines) -> None:
    odd = np.isinf(numbers) | (numbers <= 0)
    # Squares of what is computed from them must stay in the range of a double.
    odd |= np.isfinite(numbers) & ((numbers < 1e-150) | (numbers > 1e150))
    if odd.any():
        row = int(np.argmax(odd))
        more = int(odd.sum()) - 1
        also = f" (and {count_nouns(more, 'further row')} like it)" if more else ""
        value = float(numbers[row])
        beyond = "outside 1e-150 to 1e150" if 0 < value < np.inf else "not a positive finite number"
        raise InputError(
            f"{column} is {format_given(value)}, which is {beyond}{also}",
            where=lines.locate(row),
            remedy="Correct it, or leave the cell empty where nothing was measured.",
        )


def _refuse_other_units(
    table: pl.DataFrame, of_seconds: np.ndarray[tuple[int], np.dtype[np.bool_]], lines: Lines
) -> None:
    """Refuse times that a column of units calls something else than seconds."""
    if "unit" not in table.columns or table["unit"].dtype != pl.String:
        return
    units = table["unit"].fill_null("").str.strip_chars().str.to_lowercase()
    odd = (~units.is_in(_SECONDS)).to_numpy() & of_seconds
    if odd.any():
        row = int(np.argmax(odd))
        raise InputError(
            f'column unit says "{table["unit"][row]}" of a value in column seconds',
            where=lines.locate(row),
            remedy="Give seconds, or call the column score where more is better.",
        )


def refuse_mixed(names: Sequence[str], values: RowValues, what: str, lines: Lines) -> None:
    """Refuse a benchmark of which some rows have seconds and others a score.

    Raises:
        InputError: there is one; names it and a row.
    """
    seen: dict[str, bool] = {}
    for row, name in enumerate(names):
        if not np.isfinite(values.times[row]):
            continue
        kind = bool(values.of_seconds[row])
        if seen.setdefault(name, kind) != kind:
            raise InputError(
                f"{what} {name} has seconds in some rows and a score in others",
                where=lines.locate(row),
                remedy="Give one of the two for all its rows: a score cannot be made seconds.",
            )


def refuse_mixed_units(table: pl.DataFrame, names: Sequence[str], what: str, lines: Lines) -> None:
    """Refuse a benchmark whose rows name several units.

    Raises:
        InputError: there is one; names it, both units and a row.
    """
    if "unit" not in table.columns or table["unit"].dtype != pl.String:
        return
    seen: dict[str, str] = {}
    for row, (name, unit) in enumerate(zip(names, table["unit"].fill_null("").to_list(), strict=True)):
        known = seen.setdefault(name, unit)
        if known != unit and {known.strip().lower(), unit.strip().lower()} - set(_SECONDS):
            raise InputError(
                f'{what} {name} is in "{known}" in some rows and in "{unit}" in others',
                where=lines.locate(row),
                remedy="Bring its rows to one unit.",
            )


def refuse_repeated(table: pl.DataFrame, keys: Sequence[Sequence[str]], what: str, lines: Lines) -> None:
    """Refuse rows that repeat others; with a column `replicate` only where that is the same too.

    `keys` are the columns that tell rows apart, as names.

    Raises:
        InputError: two rows have the same; names both.
    """
    has_replicate = "replicate" in table.columns
    columns = [*keys, table["replicate"].cast(pl.String).to_list()] if has_replicate else list(keys)
    seen: dict[tuple[str | None, ...], int] = {}
    for row, key in enumerate(zip(*columns, strict=True)):
        first = seen.setdefault(key, row)
        if first == row:
            continue
        told = " of ".join(str(part) for part in reversed(key[: len(keys)]))
        if has_replicate:
            raise InputError(
                f"replicate {key[-1]} of {told} is given twice",
                where=lines.locate(row),
                remedy=f"Number replicates of a {what} differently, or remove one of the rows.",
            )
        raise InputError(
            f"{told} is given twice, and no column replicate tells the rows apart",
            where=lines.locate(row),
            remedy="Remove one of the rows; if both were measured, add a column replicate that numbers them.",
        )


def name_some(names: Sequence[str]) -> str:
    """Some of the names, and how many more there are."""
    return list_first([f'"{name}"' if "," in name else name for name in names], _MOST_NAMED)

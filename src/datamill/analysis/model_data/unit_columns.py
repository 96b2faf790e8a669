"""The column of a plain table that says in which unit each value is."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from datamill.experiment.errors import InputError
from datamill.experiment.units import KNOWN_UNITS

#: Spellings of units that other programs write.
_OTHER_SPELLINGS = frozenset((
    "sec", "secs", "second", "seconds", "msec", "msecs", "millisecond", "milliseconds", "usec", "usecs",
    "μs", "microsecond", "microseconds", "nsec", "nanosecond", "nanoseconds", "minute", "minutes", "hour",
    "hours", "byte", "bytes", "KB", "kb", "Mb", "Gb", "bits", "percent",
))  # fmt: skip


def name_unit_columns(response: str) -> tuple[str, ...]:
    """Return the names that a column with the units of a response may have."""
    return "unit", "units", f"{response}_unit", f"{response}_units", f"{response} unit", f"unit_of_{response}"


def refuse_mixed_units(table: pl.DataFrame, response: str, named: Sequence[str], source: str) -> None:
    """Refuse values in several units, which no analysis can compare.

    A column that is `named` as something else, or that holds labels rather than units (such as those of
    experimental units), says nothing about the response.

    Raises:
        InputError: the values are in several units; names the column and the units.
    """
    wanted = {name.casefold() for name in name_unit_columns(response)}
    for name in table.columns:
        if name.casefold() not in wanted or name in named:
            continue
        texts = table[name].cast(pl.String).str.strip_chars().fill_null("")
        units = texts.unique(maintain_order=True).to_list()
        if len(units) > 1 and any(_is_unit(unit) for unit in units):
            said = ", ".join(f'"{unit}"' if unit else "none" for unit in units[:5])
            raise InputError(
                f"values of {response} are in several units (column {name}): {said}",
                where=source,
                remedy="Bring all values to one unit, or analyse the rows of each unit by themselves.",
            )


def _is_unit(text: str) -> bool:
    """Whether a text can only be a unit: a single capital may as well be a label."""
    parts = text.split("/")
    known = all(part in KNOWN_UNITS or part in _OTHER_SPELLINGS for part in parts)
    return known and not (len(text) == 1 and (text.isupper() or text.isdigit()))

"""A table as text cells, ready to print on a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableView:
    """Headers, rows of text, and how many columns at the left are text rather than figures.

    `strong` are the indices of rows to stress.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1
    strong: tuple[int, ...] = ()

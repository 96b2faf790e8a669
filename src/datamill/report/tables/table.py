"""A table as text cells: made once, rendered as text, HTML, Markdown, LaTeX or CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """How a terminal shows a table; other renderers need none of it.

    `widths` are those of the columns after the first, which has `room`: a longer name stands on a line
    of its own. Without them columns are as wide as their cells, `gap` blanks apart. `rule` is the
    least length of the line below the header, None for no line; `margin` stands before every line.
    `is_folded`: columns that the line has no room for follow below, with the first one again.
    """

    widths: tuple[int, ...] = ()
    room: int = 0
    gap: int = 2
    rule: int | None = 0
    margin: str = ""
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Headers and rows of text; `numeric` says which columns are aligned to the right.

    `strong` are the indices of rows to stress; `groups` are headings, each with the index of the row that
    it stands above; `over` names several headers at once, each name with its number of columns;
    `pictures` are what only a terminal draws at the end of the header and of each row, with a `legend`.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    strong: tuple[int, ...] = ()
    groups: tuple[tuple[int, str], ...] = ()
    over: tuple[tuple[str, int], ...] = ()
    pictures: tuple[str, ...] = ()
    legend: str = ""
    layout: Layout = Layout()


def build_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: int = 1,
    *,
    last_words: int = 0,
    strong: Sequence[int] = (),
    groups: Sequence[tuple[int, str]] = (),
    over: Sequence[tuple[str, int]] = (),
    pictures: Sequence[str] = (),
    legend: str = "",
    layout: Layout | None = None,
) -> Table:
    """Build a table whose first `words` and `last_words` last columns are words, the others numbers.

    A row that is shorter than the header ends with empty cells.
    """
    count = len(headers)
    return Table(
        headers=tuple(headers),
        rows=tuple((*row, *("",) * (count - len(row))) for row in rows),
        numeric=tuple(words <= index < count - last_words for index in range(count)),
        strong=tuple(strong),
        groups=tuple(groups),
        over=tuple(over),
        pictures=tuple(pictures),
        legend=legend,
        layout=layout or Layout(),
    )

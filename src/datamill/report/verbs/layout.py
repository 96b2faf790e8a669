"""Lines of text for a terminal: their width, paragraphs folded to it, and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

#: Columns of a terminal.
WIDTH = 100


def wrap(text: str, indent: str = "") -> list[str]:
    """Fold a paragraph into lines of the terminal's width, all but the first indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def lay_out_table(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """A table, its first row a header; the first `left` columns are names, the others numbers."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]

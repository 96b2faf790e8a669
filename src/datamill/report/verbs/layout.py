"""Lines of text for a terminal: their width, and paragraphs folded to it."""

from __future__ import annotations

import textwrap

#: Columns of a terminal.
WIDTH = 100


def wrap(text: str, indent: str = "") -> list[str]:
    """Fold a paragraph into lines of the terminal's width, all but the first indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)

"""What a result says as a piece of a page."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.report.page.frame import fill_template
from datamill.report.tables.statement import Part


def render_parts(parts: Sequence[Part]) -> str:
    """Return paragraphs, headings, tables and lines to copy as markup; all text in it is escaped."""
    return fill_template("statement.html", interactive=False, parts=tuple(parts))

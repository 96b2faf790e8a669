"""Tables as LaTeX (booktabs), Markdown and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from datamill.report.tables.table import Table
from datamill.results.tables.csv_files.formula_cells import mark_text

TableForm = Literal["markdown", "latex", "csv"]

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$", "–": "--", "×": r"$\times$", "µ": r"\textmu{}",
    "μ": r"\textmu{}", "±": r"$\pm$", "°": r"\textdegree{}", "\u202f": r"\,", "\n": " ", "\r": " ",
}  # fmt: skip
_MARKDOWN = {sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"} | {"\n": " ", "\r": " "}
#: A number with its unit or interval; nothing in it calls a function, a program or another sheet.
_PRINTED_NUMBER = re.compile(r"""[+-]\.?\d(?:[^=|!"'@;&(\t\r\n]|(?<= )\((?=[+-]?\.?\d))*""")


def format_latex(table: Table) -> str:
    """Return a `tabular` with the rules of the package booktabs; every special sign is escaped."""
    layout = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = ["% needs \\usepackage{booktabs}"]
    lines += [f"% {' '.join(text.split())}" for text in (table.title, *table.notes) if text]
    lines += [f"\\begin{{tabular}}{{{layout}}}", "\\toprule"]
    if table.over:
        lines.append(
            " & ".join(
                f"\\multicolumn{{{count}}}{{c}}{{{_escape_latex(name)}}}" for name, count in table.over
            )
            + r" \\"
        )
    lines += [_join_latex(table.headers), "\\midrule"]
    for heading, row in _list_rows(table):
        lines += (
            []
            if heading is None
            else [f"\\multicolumn{{{len(layout)}}}{{l}}{{{_escape_latex(heading)}}} \\\\"]
        )
        lines.append(_join_latex(row))
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def format_markdown(table: Table) -> str:
    """Return a table as GitHub and most others read it; every sign with a meaning is escaped."""
    rule = "|".join(" ---: " if numeric else " --- " for numeric in table.numeric)
    lines = [f"**{_escape(table.title, _MARKDOWN)}**", ""] if table.title else []
    lines += [_join_markdown(_name_columns(table)), f"|{rule}|"]
    for heading, row in _list_rows(table):
        rest = ("",) * (len(table.headers) - 1)
        lines += [] if heading is None else [_join_markdown((heading, *rest))]
        lines.append(_join_markdown(row))
    if table.notes:
        lines += ["", " ".join(_escape(note, _MARKDOWN) for note in table.notes)]
    return "\n".join(lines) + "\n"


def format_csv(table: Table) -> str:
    """Return a table as CSV, its title in a line before; numbers have neither groups nor signs of print.

    A heading of rows is the first cell of each of them. No spreadsheet computes a text.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    if table.title:
        writer.writerow([mark_text(table.title)])
    grouped = bool(table.groups)
    writer.writerow([*(["group"] if grouped else []), *map(mark_text, _name_columns(table))])
    group = ""
    for heading, row in _list_rows(table):
        group = group if heading is None else heading.rstrip(":")
        told = [_mark_unless_number(_spell_cell(cell)) for cell in row]
        writer.writerow([*([mark_text(group)] if grouped else []), *told])
    return written.getvalue()


RENDERERS: Mapping[str, Callable[[Table], str]] = {
    "markdown": format_markdown,
    "latex": format_latex,
    "csv": format_csv,
}


def _list_rows(table: Table) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    """Each row with the heading that stands above it, if one does."""
    headings = dict(table.groups)
    for index, row in enumerate(table.rows):
        yield headings.get(index), row


def _name_columns(table: Table) -> tuple[str, ...]:
    """Headers, each with the name over it, for what has one line for both."""
    names = [name for name, count in table.over for _ in range(count)] or [""] * len(table.headers)
    return tuple(
        f"{name}: {header}" if name else header for name, header in zip(names, table.headers, strict=True)
    )


def _spell_cell(cell: str) -> str:
    plain = cell.replace("\u202f", "").strip()
    # A minus of print, where it is the sign of a number.
    return re.sub(r"(?<![\w.])−(?=\d)|(?<=e)−(?=\d)", "-", plain)


def _mark_unless_number(cell: str) -> str:
    return cell if _PRINTED_NUMBER.fullmatch(cell) else mark_text(cell)


def _join_latex(cells: tuple[str, ...]) -> str:
    # A row must not begin with a bracket or a star: the rule or the row above would take it for its own.
    escaped = [_escape_latex(cell) for cell in cells]
    if escaped and escaped[0].startswith(("[", "*")):
        escaped[0] = f"{{}}{escaped[0]}"
    return " & ".join(escaped) + r" \\"


def _escape_latex(text: str) -> str:
    # Of two hyphens in a row, as in --fast, LaTeX would make a dash.
    pairs = zip(text, f"{text[1:]} ", strict=False)
    return "".join("-{}" if sign == after == "-" else _LATEX.get(sign, sign) for sign, after in pairs)


def _join_markdown(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_escape(cell, _MARKDOWN) for cell in cells) + " |"


def _escape(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)

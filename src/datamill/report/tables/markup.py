"""Printed tables as LaTeX (booktabs) and Markdown."""

from __future__ import annotations

from datamill.report.tables.point_table import PrintedTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$", "–": "--", "×": r"$\times$", "µ": r"\textmu{}",
    "μ": r"\textmu{}", "±": r"$\pm$", "°": r"\textdegree{}", "\u202f": r"\,", "\n": " ", "\r": " ",
}  # fmt: skip
_MARKDOWN = {sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"} | {"\n": " ", "\r": " "}


def format_latex(table: PrintedTable) -> str:
    """Return a `tabular` with the rules of the package booktabs; every special sign is escaped."""
    layout = "".join("r" if numeric else "l" for numeric in table.numeric)
    lines = ["% needs \\usepackage{booktabs}"]
    lines += [f"% {' '.join(note.split())}" for note in table.notes]
    lines += [f"\\begin{{tabular}}{{{layout}}}", "\\toprule", _join_latex(table.header), "\\midrule"]
    lines += [_join_latex(row) for row in table.rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def format_markdown(table: PrintedTable) -> str:
    """Return a table as GitHub and most others read it; every sign with a meaning is escaped."""
    rule = "|".join(" ---: " if numeric else " --- " for numeric in table.numeric)
    lines = [_join_markdown(table.header), f"|{rule}|", *(_join_markdown(row) for row in table.rows)]
    if table.notes:
        lines += ["", " ".join(_escape(note, _MARKDOWN) for note in table.notes)]
    return "\n".join(lines) + "\n"


def _join_latex(cells: tuple[str, ...]) -> str:
    # A row must not begin with a bracket or a star: the rule or the row above would take it for its own.
    escaped = [_escape_latex(cell) for cell in cells]
    if escaped and escaped[0].startswith(("[", "*")):
        escaped[0] = f"{{}}{escaped[0]}"
    return " & ".join(escaped) + r" \\"


def _escape_latex(text: str) -> str:
    # Of two hyphens in a row, as in --fast, LaTeX would make a dash.
    pairs = zip(text, f"{text[1:]} ", strict=True)
    return "".join("-{}" if sign == after == "-" else _LATEX.get(sign, sign) for sign, after in pairs)


def _join_markdown(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_escape(cell, _MARKDOWN) for cell in cells) + " |"


def _escape(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)

"""The comment that a gate writes below a pull request, in Markdown."""

from __future__ import annotations

from datamill.report.gate.gate_answer import GateAnswer
from datamill.report.gate.statement import (
    HEADERS,
    MEANS,
    list_folded,
    list_rows,
    list_seen,
    name_columns,
    phrase_gate,
)

#: By this line a comment is found again, to be replaced.
MARK = "<!-- datamill gate -->"
#: What would be markup, a formula, a link to an issue or a call of a person. The last two are looked for in
#: what Markdown has made of a text, where no escape is left: a space without width keeps them apart.
_SPELLED = {sign: f"\\{sign}" for sign in "\\`*_[]|~$"} | {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "#": "#\u200b",
}  # fmt: skip
#: Rows that are shown at once; the others are folded away, and so are the times themselves.
_SHOWN = 10
_CHANGES = tuple(place for place, name in enumerate(HEADERS) if name not in MEANS)
_TIMES = tuple(place for place, name in enumerate(HEADERS) if name in ("benchmark", *MEANS))


def write_comment(answer: GateAnswer) -> str:
    """Return the comment: the verdict, what changed or is not compared, and below a fold the rest."""
    passing = "No slowdown found" if answer.benchmarks else "Nothing compared"
    head = passing if answer.passes else "Slower" if answer.alarms else "Broken"
    rows = list_rows(answer)
    lines = [MARK, f"### {head}", "", _escape(phrase_gate(answer)), ""]
    if rows:
        lines += _write_table(answer, rows[:_SHOWN], _CHANGES)
    if seen := list_seen(answer):
        lines += ["", *(f"- {_escape(sentence)}" for sentence in seen)]
    lines += ["", "<details><summary>How it was measured</summary>", ""]
    if rows[_SHOWN:]:
        lines += [*_write_table(answer, rows[_SHOWN:], _CHANGES), ""]
    if rows:
        lines += [*_write_table(answer, rows, _TIMES), ""]
    lines += [f"- {_escape(sentence)}" for sentence in list_folded(answer)]
    return "\n".join([*lines, "", "</details>", ""])


def _write_table(answer: GateAnswer, rows: list[tuple[str, ...]], places: tuple[int, ...]) -> list[str]:
    names = name_columns(answer)
    columns = [names[place] for place in places]
    # Words to the left, numbers to the right.
    marks = ["---" if HEADERS[place] in ("benchmark", "verdict") else "---:" for place in places]
    return [
        f"| {' | '.join(columns)} |",
        f"| {' | '.join(marks)} |",
        *(f"| {' | '.join(_escape(row[place]) for place in places)} |" for row in rows),
    ]


def _escape(text: str) -> str:
    """A text that names of benchmarks and words of programs cannot make anything else of."""
    return "".join(_SPELLED.get(sign, sign) for sign in " ".join(text.split()))

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
from datamill.report.words.markdown_text import escape_markdown

#: By this line a comment is found again, to be replaced.
MARK = "<!-- datamill gate -->"
#: Rows that are shown at once; the others are folded away, and so are the times themselves.
_SHOWN = 10
#: A gate that would not have found a slowdown of this size has not shown that there was none.
_OVERLOOKED = 0.5
_CHANGES = tuple(place for place, name in enumerate(HEADERS) if name not in MEANS)
_TIMES = tuple(place for place, name in enumerate(HEADERS) if name in ("benchmark", *MEANS))


def write_comment(answer: GateAnswer) -> str:
    """Return the comment: the verdict, what changed or is not compared, and below a fold the rest."""
    head = _name_pass(answer) if answer.passes else "Slower" if answer.alarms else "Broken"
    rows = list_rows(answer)
    lines = [MARK, f"### {head}", "", escape_markdown(phrase_gate(answer)), ""]
    if rows:
        lines += _write_table(answer, rows[:_SHOWN], _CHANGES)
    if seen := list_seen(answer):
        lines += ["", *(f"- {escape_markdown(sentence)}" for sentence in seen)]
    lines += ["", "<details><summary>How it was measured</summary>", ""]
    if rows[_SHOWN:]:
        lines += [*_write_table(answer, rows[_SHOWN:], _CHANGES), ""]
    if rows:
        lines += [*_write_table(answer, rows, _TIMES), ""]
    lines += [f"- {escape_markdown(sentence)}" for sentence in list_folded(answer)]
    return "\n".join([*lines, "", "</details>", ""])


def _name_pass(answer: GateAnswer) -> str:
    if not answer.benchmarks:
        return "Nothing compared"
    # What is tolerated would not be found, however much was measured.
    most = (1 + answer.gate.tolerate) * (1 + _OVERLOOKED) - 1
    doubtful = [item for item in answer.benchmarks if item.verdict == "cannot tell"]
    overlooked = sum(item.detectable is None or item.detectable > most for item in doubtful)
    if not overlooked:
        return "No slowdown found"
    count = len(answer.benchmarks)
    whose = "" if overlooked == count else f" for {overlooked} of {count} benchmarks"
    return f"Cannot tell{whose}: too little measured"


def _write_table(answer: GateAnswer, rows: list[tuple[str, ...]], places: tuple[int, ...]) -> list[str]:
    names = name_columns(answer)
    columns = [names[place] for place in places]
    # Words to the left, numbers to the right.
    marks = ["---" if HEADERS[place] in ("benchmark", "verdict") else "---:" for place in places]
    return [
        f"| {' | '.join(columns)} |",
        f"| {' | '.join(marks)} |",
        *(f"| {' | '.join(escape_markdown(row[place]) for place in places)} |" for row in rows),
    ]

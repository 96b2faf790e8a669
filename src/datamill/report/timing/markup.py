"""The table of timed commands for pages: Markdown, AsciiDoc and org-mode."""

from __future__ import annotations

import re

from datamill.analysis.interval import Interval
from datamill.report.timing.statement import phrase_answer, spell_mean
from datamill.report.timing.timing_answer import CommandMean, TimingAnswer
from datamill.report.words.markdown_text import escape_markdown
from datamill.report.words.scales import round_interval

_HEADINGS = ("Command", "Mean", "n", "Ratio to the first")


def spell_markdown(answer: TimingAnswer) -> str:
    """Return a table for a pull request or a page: each command, its mean, and its ratio to the first."""
    rows = [(_quote_markdown(name), *rest) for name, *rest in _list_rows(answer)]
    lines = [f"| {' | '.join(_HEADINGS)} |", "|:---|---:|---:|---:|"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([*lines, "", escape_markdown(phrase_answer(answer)), ""])


def spell_asciidoc(answer: TimingAnswer) -> str:
    """Return the same table for AsciiDoc."""
    lines = ['[cols="<,>,>,>",options="header"]', "|==="]
    for cells in (_HEADINGS, *((_quote_asciidoc(name), *rest) for name, *rest in _list_rows(answer))):
        lines += ["", *(f"| {cell}" for cell in cells)]
    return "\n".join([*lines, "|===", "", phrase_answer(answer), ""])


def spell_orgmode(answer: TimingAnswer) -> str:
    """Return the same table for Emacs' org-mode."""
    rows = [(_quote_org(name), *rest) for name, *rest in _list_rows(answer)]
    lines = [f"| {' | '.join(_HEADINGS)} |", f"|{'+'.join(2 * '-' for _ in _HEADINGS)}|"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([*lines, "", phrase_answer(answer), ""])


def _list_rows(answer: TimingAnswer) -> list[tuple[str, str, str, str]]:
    """The cells of each command: its name in one line, mean, number of executions, ratio to the first one."""
    return [
        (
            " ".join(mean.command.label.splitlines()),
            spell_mean(answer, mean),
            str(mean.n),
            _spell_ratio(answer, mean),
        )
        for mean in answer.shown_means
    ]


def _quote_markdown(name: str) -> str:
    # In code nothing is markup, a link or a call of a person, and who copies it gets the command without a
    # sign more. A bar parts cells there too, and code ends at as many backticks as it began with.
    name = name.replace("|", "\\|")
    longest = max(map(len, re.findall("`+", name)), default=0)
    return f"{'`' * (longest + 1)} {name} {'`' * (longest + 1)}" if longest else f"`{name}`"


def _quote_asciidoc(name: str) -> str:
    # Between plus signs nothing is markup, but the sign that parts cells.
    name = name.replace("|", "\\|")
    return f"`{name}`" if "+" in name else f"`+{name}+`"


def _quote_org(name: str) -> str:
    # A table takes every bar for the end of a cell, also one between signs of verbatim text.
    return name.replace("|", "\\vert{}") if "|" in name or "=" in name else f"={name}="


def _spell_ratio(answer: TimingAnswer, mean: CommandMean) -> str:
    first = answer.means[0]
    if mean is first:
        return "1"
    pair = next(pair for pair in answer.comparisons if pair.b == mean.command and pair.a == first.command)
    value = Interval.join(pair.ratio, pair.low, pair.high)
    return "not known" if value is None else round_interval(value, decimals=3).phrase()

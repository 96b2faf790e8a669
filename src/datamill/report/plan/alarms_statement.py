"""False alarms by the number of builds (EPEW 2006, Figure 2)."""

from __future__ import annotations

from datamill.analysis.versions.false_alarms import FEW_PAIRS, AlarmRate, AlarmRow, FalseAlarms
from datamill.experiment.messages.numbers import count_decimals, format_count, format_figures, format_level
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Layout, Table, build_table
from datamill.report.words.scales import round_interval

_TITLES = ("builds", "intervals part", "Welch", "intervals part", "Welch")


def state_alarms(alarms: FalseAlarms, *, verbose: bool = False) -> tuple[Part, ...]:
    """State the percentages; it begins with the answer.

    `verbose` names the equations of the paper that the intervals are by.
    """
    title = f"False alarms in percent, {format_level(0.95)} intervals of the simulation"
    parts: list[Part] = [Paragraph(phrase_alarms(alarms)), BLANK, Heading(title), BLANK, _tabulate(alarms)]
    if any(not row.disjoint for row in alarms.rows):
        parts.append(Paragraph("* drawn with replacement: the two groups may share builds"))
    parts.append(BLANK)
    parts += [Paragraph(text, "  ") for text in explain_alarms(alarms, verbose=verbose)]
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in alarms.warnings]
    return tuple(parts)


def phrase_alarms(alarms: FalseAlarms) -> str:
    """One sentence: how often a version seems to differ from itself with one build and with many."""
    rows = [row for row in alarms.rows if row.disjoint] or list(alarms.rows)
    first, last = rows[0], rows[-1]
    parts = []
    if first.builds == 1 and first.overlap is not None:
        one = f"one build of each{_note_pairs(first)}"
        parts.append(f"in {_percent(first.overlap)} of the comparisons with {one}")
    if last.welch is not None:
        each = f"{last.builds} of each{_note_pairs(last)}"
        many = f"in {_percent(last.welch)} with {each} by Welch's test of build means"
        if last.welch_executions is not None:
            many += f", or {_percent(last.welch_executions)} if executions are taken as independent"
        parts.append(many)
    if not parts:
        return f"These data cannot tell how often {alarms.version} seems to differ from itself."
    return (
        f"{alarms.response} of {alarms.version} seems to differ from itself {', and '.join(parts)}; "
        f"{format_figures(100 * alarms.alpha)}% would be right."
    )


def _note_pairs(row: AlarmRow) -> str:
    """How few distinct pairs of groups there are, where that is all that the comparisons repeat."""
    if row.pairs >= FEW_PAIRS:
        return ""
    return f" (only {format_count(row.pairs)} distinct pair{'' if row.pairs == 1 else 's'})"


def explain_alarms(alarms: FalseAlarms, *, verbose: bool = False) -> tuple[str, ...]:
    """What the columns mean, what they should be, and how groups were drawn."""
    rule = "; with builds the paper's equation 17, with one build its two-level model" if verbose else ""
    return (
        f"n = {format_count(alarms.n)} observations in {format_count(alarms.executions)} executions of "
        f"{alarms.builds} builds; {format_count(alarms.comparisons)} comparisons a row, seed {alarms.seed}. "
        f"Method: {alarms.method}.",
        f"Intervals part: two {format_level(alarms.confidence)} intervals do not overlap (the "
        f"paper's rule{rule}). Of exact intervals {format_figures(100 * alarms.nominal_overlap, 2)}% "
        "would part: the rule "
        f"is cautious. Welch: p below {format_figures(alarms.alpha)}; "
        f"{format_figures(100 * alarms.alpha)}% would be right.",
        "Executions only: the same builds, their executions taken as independent observations, which they "
        "are not where builds differ.",
        "Without replacement all builds of a comparison differ, as those of two new versions would, so that "
        "each row is what to expect of such a pair. All comparisons are of the same builds all the same: "
        "their intervals tell how exact the simulation is, not how other builds would fare.",
    )


def _tabulate(alarms: FalseAlarms) -> Table:
    rows = [_spell_row(row) for row in alarms.rows]
    over = (("", 1), ("builds", 2), ("executions only", 2))
    return build_table(_TITLES, rows, 0, over=over, layout=Layout(gap=3))


def _spell_row(row: AlarmRow) -> tuple[str, str, str, str, str]:
    return (
        f"{row.builds}{'' if row.disjoint else '*'}",
        _spell(row.overlap),
        _spell(row.welch),
        _spell(row.overlap_executions),
        _spell(row.welch_executions),
    )


def _spell(rate: AlarmRate | None) -> str:
    if rate is None:
        return "-"
    return round_interval(rate, 100, decimals=_count_decimals(rate)).phrase()


def _percent(rate: AlarmRate) -> str:
    shown = round_interval(rate, 100, decimals=_count_decimals(rate), unit="%")
    return shown.phrase(level=format_level(0.95))


def _count_decimals(rate: AlarmRate) -> int:
    """Decimals of a percentage that show a figure of its error, three at most."""
    return min(3, count_decimals(100 * (rate.high - rate.low) / 2, 1))

"""Versions compared: the verdicts, then every mean and every difference."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.interval import Interval
from datamill.analysis.versions.history import VersionHistory
from datamill.analysis.versions.version_comparison import VersionChange, VersionComparison, VersionMean
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_figures,
    format_fixed,
    format_level,
    format_p,
    format_to_error,
)
from datamill.report.compare.answer import (
    describe_nesting,
    judge_direction,
    name_single_unit,
    name_threshold,
    name_verdict,
    phrase_basis,
    scale_comparison,
    state_answer,
)
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import Scale, round_interval

#: More rows than this are for --json.
_MOST_ROWS = 60


def state_comparison(
    comparison: VersionComparison,
    history: VersionHistory | None = None,
    notes: Sequence[str] = (),
    excluded: int = 0,
    basis: str = "",
    put_aside: Sequence[tuple[str, int]] = (),
    *,
    verbose: bool = False,
) -> tuple[Part, ...]:
    """State a comparison of versions; the first sentences are the answer.

    `notes` are warnings about the data besides those of the comparison, `excluded` counts invalid rows,
    `put_aside` those that are no observations, by what they are, and `basis` says why the baseline is the
    one it is. `verbose` adds the paper's interval and rule.
    """
    scale = scale_comparison(comparison)
    parts: list[Part] = [Paragraph(sentence) for sentence in state_answer(comparison, history)]
    unit = f" ({scale.unit})" if scale.unit else ""
    parts += [BLANK, Heading(f"Mean {comparison.response}{unit} of each version")]
    parts += _tabulate_means(comparison, scale, verbose=verbose)
    parts += [BLANK, Heading(_name_changes(comparison, basis))]
    parts += _tabulate_changes(comparison, scale, verbose=verbose)
    joint = ""
    if len(comparison.changes) > 1 and comparison.adjustment != "none":
        joint = "; those of changes hold together"
    better = "it was not stated which way is better"
    if comparison.direction is not None:
        better = f"{comparison.direction} is better"
    parts += [
        BLANK,
        Paragraph(
            f"{phrase_basis(comparison)}; {format_level(comparison.confidence)} intervals{joint}; "
            f"{better}; a change within ±{name_threshold(comparison.threshold)} is too small to matter.",
            "  ",
        ),
        Paragraph(f"Method: {comparison.method}.", "  "),
    ]
    if verbose:
        text = (
            "The paper's rule (EPEW 2006): changed where the asymptotic intervals of equation 17 do not "
            "overlap; it misses changes that the interval of the difference shows."
        )
        parts.append(Paragraph(text, "  "))
    if history is not None:
        parts.append(Paragraph(f"Series: {history.method}.", "  "))
    parts += list_left_out(excluded, put_aside)
    warnings = list_warnings(comparison, history, notes)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in warnings]
    return tuple(parts)


def list_warnings(
    comparison: VersionComparison, history: VersionHistory | None, notes: Sequence[str]
) -> tuple[str, ...]:
    """What limits the answer, each once."""
    beside = () if history is None else history.warnings
    return tuple(dict.fromkeys((*comparison.warnings, *notes, *beside)))


def _name_changes(comparison: VersionComparison, basis: str) -> str:
    if comparison.consecutive:
        return "Each version against the one before"
    return f"Each version against {comparison.changes[0].baseline}{f' ({basis})' if basis else ''}"


def _tabulate_means(comparison: VersionComparison, scale: Scale, *, verbose: bool) -> list[Part]:
    level = format_level(comparison.confidence)
    rows: list[tuple[str, ...]] = [
        ("version", "n", "mean", f"{level} interval", "equation 17", "spread of", "% of mean")
    ]
    rows += [spell_mean(mean, scale) for mean in comparison.means[:_MOST_ROWS]]
    if not verbose:
        rows = [(*row[:4], *row[5:]) for row in rows]
    of_paper = " Equation 17: the paper's asymptotic interval." if verbose else ""
    meaning = (
        f"n: builds × executions of each × measurements in each execution.{of_paper} Spread: standard "
        "deviation of the means of builds, or of what is named instead."
    )
    return [*_tabulate(rows, len(comparison.means)), Paragraph(meaning)]


def spell_mean(mean: VersionMean, scale: Scale) -> tuple[str, ...]:
    """A version's cells: name, n, mean, interval, the paper's interval, what its spread is of, and that."""
    error = (mean.value.high - mean.value.low) / 2 * scale.factor
    spread = mean.spread * scale.factor
    share = (
        f"{format_figures(100 * mean.spread / abs(mean.value.estimate), 2)}%" if mean.value.estimate else ""
    )
    return (
        mean.version,
        describe_nesting(mean),
        _spell(mean.value.estimate * scale.factor, error),
        _spell_ends(mean.value, scale.factor, error),
        _spell_ends(mean.paper, scale.factor, error),
        f"{mean.level}s",
        share if spread else "0",
    )


def _tabulate_changes(comparison: VersionComparison, scale: Scale, *, verbose: bool) -> list[Part]:
    unit = f" ({scale.unit})" if scale.unit else ""
    rows: list[tuple[str, ...]] = [
        ("version", "against", f"difference{unit}", "change", "interval", "p", "paper's rule", "verdict")
    ]
    for change in comparison.changes[:_MOST_ROWS]:
        rows.append(spell_change(change, comparison, scale))
    if not verbose:
        rows = [(*row[:6], row[7]) for row in rows]
    return _tabulate(rows, len(comparison.changes))


def spell_change(change: VersionChange, comparison: VersionComparison, scale: Scale) -> tuple[str, ...]:
    """A change's cells: version, baseline, difference, percent, interval, p, the paper's verdict, verdict."""
    error = (change.difference.high - change.difference.low) / 2 * scale.factor
    percent = change.percent
    shown, ends = "–", "–"
    if percent is not None:
        wide = (percent.high - percent.low) / 2
        shown = f"{_spell(percent.estimate, wide, signed=True)}%"
        ends = f"{round_interval(percent, signed=True).ends}%"
    better = judge_direction(change, comparison.direction) if change.detected else ""
    verdict = name_verdict(change.verdict, comparison.threshold)
    single = name_single_unit(change, comparison)
    return (
        change.version,
        change.baseline,
        _spell(change.difference.estimate * scale.factor, error, signed=True),
        shown,
        "–" if change.p is None else ends,
        format_p(change.p, "–"),
        "changed" if change.paper_detects else "–",
        f"{verdict}{f', {better}' if better else ''}{f' (one {single})' if single else ''}",
    )


def _spell(value: float, error: float, *, signed: bool = False) -> str:
    if error == 0:
        sign = "+" if signed and value > 0 else ""
        return f"{sign}{format_fixed(value, count_decimals(abs(value), 5))}"
    return format_to_error(value, error, signed=signed)


def _spell_ends(value: Interval, factor: float, error: float) -> str:
    if value.low == value.high:
        return "–"
    return round_interval(value, factor, error=error).ends


def _tabulate(rows: Sequence[tuple[str, ...]], total: int) -> list[Part]:
    """A table, its first row a header; the first column and the last are words."""
    rest = total - (len(rows) - 1)
    more = (
        [Paragraph(tell(f"… and {rest} further rows; {argument('json')} has them all."))] if rest > 0 else []
    )
    return [build_table(rows[0], rows[1:], last_words=1), *more]

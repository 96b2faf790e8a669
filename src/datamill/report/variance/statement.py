"""Variances of nested measurements: the answer, means, levels, impact, warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from datamill.analysis.interval import Interval
from datamill.analysis.random_effects.impact import DRAWS
from datamill.analysis.random_effects.variance_estimate import Share, VarianceEstimate
from datamill.analysis.versions.variances import VersionVariances
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import (
    count_decimals,
    format_count,
    format_figures,
    format_fixed,
    format_level,
    format_mean_count,
)
from datamill.report.tables.left_out import list_left_out
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import Table, build_table
from datamill.report.variance.answer import (
    choose_variance_scale,
    phrase_variances,
)
from datamill.report.words.scales import Scale, round_interval, round_shares, round_to_figures

#: More rows than this are for --json.
_MOST_VERSIONS = 30


def state_variances(
    versions: Sequence[VersionVariances],
    excluded: int,
    notes: Sequence[str] = (),
    put_aside: Sequence[tuple[str, int]] = (),
    *,
    verbose: bool = False,
) -> tuple[Part, ...]:
    """State the variances of versions; the first sentences are the answer.

    `notes` are warnings about the data besides those of the estimates; `excluded` counts invalid rows, and
    `put_aside` those that are no observations, by what they are. `verbose` adds the paper's interval and
    mean squares.
    """
    scale = choose_variance_scale(versions)
    shown = versions[:_MOST_VERSIONS]
    first = versions[0].estimate
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_variances(versions, scale)]
    unit = f" ({scale.unit})" if scale.unit else ""
    parts += [BLANK, Heading(f"Means of {first.response}{unit}"), BLANK]
    parts += _tabulate_means(shown, scale, verbose=verbose)
    parts += [BLANK, Heading(f"Variance of {first.response}{unit} by level"), BLANK]
    parts.append(_tabulate_levels(shown, scale, verbose=verbose))
    text = "S²: mean square, which holds what chance of the levels below adds; " if verbose else ""
    text += (
        "SD: standard deviation of the level by itself. Shares are of the variance of the mean (uncertainty) "
        "and of a single measurement (variation)."
    )
    parts.append(Paragraph(text))
    if any(item.impact.factor is not None for item in shown):
        parts += [BLANK, Heading("Impact of builds (1: none)"), BLANK, *_tabulate_impact(shown)]
    if any(item.other is not None for item in shown):
        parts += [BLANK, Heading(f"Unbalanced data, by both methods{unit}"), BLANK]
        parts.append(_tabulate_methods(shown, scale))
    if len(versions) > len(shown):
        left_out = len(versions) - len(shown)
        parts.append(Paragraph(tell(f"… and {left_out} further versions; {argument('json')} has them all.")))
    parts += [BLANK, *list_notes(versions, excluded, put_aside, verbose=verbose)]
    parts += [Paragraph(f"Warning: {note}.", "  ") for note in notes]
    return tuple(parts)


def list_notes(
    versions: Sequence[VersionVariances],
    excluded: int,
    put_aside: Sequence[tuple[str, int]] = (),
    *,
    verbose: bool = False,
) -> list[Part]:
    """Method, what is left out, what cannot be known, and warnings."""
    first = versions[0].estimate
    parts: list[Part] = [Paragraph(f"Method: {phrase_method(first, verbose=verbose)}.", "  ")]
    parts += list_left_out(excluded, put_aside)
    for text in _gather_texts(versions, lambda item: tuple(item.estimate.unknown.values())):
        parts.append(Paragraph(f"Not known: {text}.", "  "))
    for text in collect_variance_warnings(versions):
        parts.append(Paragraph(f"Warning: {text}.", "  "))
    return parts


def phrase_method(estimate: VarianceEstimate, *, verbose: bool = False) -> str:
    """How mean, variances and intervals were found."""
    top = next(iter(estimate.mean_squares))
    level = format_level(estimate.confidence)
    of_paper = (
        ", that of the paper (EPEW 2006, equation 17) is normal and adds all mean squares" if verbose else ""
    )
    return (
        f"{estimate.method}; {level} interval of the mean by Student's t over {top}s{of_paper}; shares by "
        "generalised confidence intervals from chi-square pivots, with the degrees of freedom that heavy "
        "tails leave"
    )


def collect_variance_warnings(versions: Sequence[VersionVariances]) -> tuple[str, ...]:
    """What limits the answer, each once, with the versions that it is about where these are several."""
    return tuple(_gather_texts(versions, lambda item: item.warnings))


def _gather_texts(
    versions: Sequence[VersionVariances], choose: Callable[[VersionVariances], Sequence[str]]
) -> list[str]:
    """Sentences of all versions, each once, with the versions that it is about where not of all."""
    about: dict[str, list[str]] = {}
    for item in versions:
        for text in choose(item):
            about.setdefault(text, []).append(item.nested.version)
    texts = []
    for text, names in about.items():
        if len(versions) == 1 or len(names) == len(versions):
            texts.append(text)
        else:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            texts.append(f"{', '.join(names[:3])}{more}: {text}")
    return texts


def _tabulate_means(versions: Sequence[VersionVariances], scale: Scale, *, verbose: bool) -> list[Part]:
    level = format_level(versions[0].estimate.confidence)
    numbers = ("builds", "executions", "measurements", "values")
    rows: list[tuple[str, ...]] = [("version", *numbers, "mean", f"{level} interval", "df", "equation 17")]
    for item in versions:
        estimate = item.estimate
        rows.append(
            (
                estimate.version,
                format_count(estimate.builds),
                format_mean_count(estimate.executions),
                format_mean_count(estimate.measurements),
                format_count(estimate.n),
                *_spell_interval(estimate.mean, scale),
                format_figures(estimate.df),
                _spell_interval(estimate.paper_mean, scale)[1],
            )
        )
    if not verbose:
        rows = [row[:-1] for row in rows]
    meaning = "Executions are those of each build, measurements those in each execution."
    return [build_table(rows[0], rows[1:]), Paragraph(meaning)]


def _spell_interval(value: Interval, scale: Scale) -> tuple[str, str]:
    shown = round_interval(value, scale.factor)
    return shown.estimate, shown.ends


def _tabulate_levels(versions: Sequence[VersionVariances], scale: Scale, *, verbose: bool) -> Table:
    level = format_level(versions[0].estimate.confidence)
    rows: list[tuple[str, ...]] = [
        ("level", "S²", "SD", "% of mean", "uncertainty", level, "variation", level)
    ]
    for item in versions:
        estimate = item.estimate
        uncertainty = {share.level: share for share in estimate.uncertainty}
        variation = {share.level: share for share in estimate.variation}
        for name, deviation in estimate.deviations.items():
            rows.append(
                (
                    name,
                    _spell_square(estimate.mean_squares[name], scale),
                    _spell_figures(deviation * scale.factor),
                    _spell_relative(deviation, estimate),
                    *_spell_share(uncertainty.get(name)),
                    *_spell_share(variation.get(name)),
                )
            )
    if not verbose:
        rows = [(row[0], *row[2:]) for row in rows]
    groups, start = [], 0
    for item in versions if len(versions) > 1 else ():
        # A name of any length stands on a line of its own: the table has no room beside it.
        groups.append((start, f"{item.estimate.version}:"))
        start += len(item.estimate.components)
    return build_table(rows[0], rows[1:], groups=groups)


def _spell_square(value: float, scale: Scale) -> str:
    square = value * scale.factor**2
    return (
        format_fixed(square, count_decimals(square, 4)) if 1e-3 <= square < 1e7 else format_figures(square, 4)
    )


def _spell_figures(value: float) -> str:
    return format_fixed(value, count_decimals(value, 3)) if value else "0"


def _spell_relative(deviation: float, estimate: VarianceEstimate) -> str:
    mean = abs(estimate.mean.estimate)
    if not mean:
        return "-"
    percent = 100 * deviation / mean
    return f"{_spell_figures(percent) if percent < 1e6 else f'{format_figures(percent)}'}%"


def _spell_share(share: Share | None) -> tuple[str, str]:
    if share is None:
        return "-", "-"
    shown = round_shares(share)
    return shown.estimate, shown.ends


def _tabulate_impact(versions: Sequence[VersionVariances]) -> list[Part]:
    level = f"{format_level(versions[0].estimate.confidence)} interval"
    rows = [("version", "impact factor", level, "bootstrap", "variation by builds", level)]
    for item in versions:
        impact = item.impact
        factor, percent, bootstrap = impact.factor, impact.variation_percent, impact.bootstrap
        rows.append(
            (
                item.nested.version,
                *(
                    ("-", "-")
                    if factor is None
                    else (format_fixed(factor.estimate, 2), round_interval(factor, decimals=2).ends)
                ),
                "-" if bootstrap is None else round_interval(bootstrap, decimals=2).ends,
                *(
                    ("-", "-")
                    if percent is None
                    else (
                        f"{format_figures(percent.estimate)}%",
                        round_to_figures(percent, unit="%").ends,
                    )
                ),
            )
        )
    text = (
        "Impact factor: standard deviation of execution means from different builds over that from the same "
        f"build; interval by chi-square pivots, and by bootstrap over builds ({DRAWS} draws, seed "
        f"{versions[0].impact.seed}). Variation by builds: their standard deviation in percent of the mean."
    )
    return [build_table(rows[0], rows[1:]), Paragraph(text)]


def _tabulate_methods(versions: Sequence[VersionVariances], scale: Scale) -> Table:
    levels = tuple(versions[0].estimate.components)
    level = format_level(versions[0].estimate.confidence)
    rows = [("version", "method", "mean", f"{level} interval", *(f"SD {name}" for name in levels))]
    for item in versions:
        if item.other is None:
            continue
        for estimate in (item.estimate, item.other):
            rows.append(
                (
                    estimate.version,
                    "REML" if estimate.method.startswith("restricted") else "means",
                    *_spell_interval(estimate.mean, scale),
                    *(
                        _spell_figures(estimate.deviations[name] * scale.factor)
                        if name in estimate.components
                        else "-"
                        for name in levels
                    ),
                )
            )
    return build_table(rows[0], rows[1:], 2)

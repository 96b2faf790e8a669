"""A table of means and quantiles by design point, for a paper: levels, n, each figure with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from datamill.analysis.distribution.points import PointQuantile, PointSummaries, PointSummary
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_level,
    format_to_error,
    name_quantile,
)
from datamill.report.tables.table import Table
from datamill.report.words.scales import Scale, choose_scale, round_interval

_NO_INTERVAL = "–"
#: Figures of a mean that has no interval to round it by.
_DIGITS = 4
#: What a quantile without an interval is rounded to, as share of itself.
_ROUNDED = 0.01


def tabulate_points(found: PointSummaries) -> Table:
    """Means and quantiles of design points, each rounded by the half-width of its interval."""
    observations, several = found.observations, bool(found.quantiles)
    scale = choose_scale(observations.unit, max((abs(point.mean) for point in found.points), default=0.0))
    lines = [
        (
            *point.levels,
            str(point.n),
            *_format_mean(point, scale),
            *(text for item in point.quantiles for text in _format_quantile(item, scale)),
        )
        for point in found.points
    ]
    unit = f" ({scale.unit})" if scale.unit else ""
    level = format_level(found.confidence)
    return Table(
        headers=(
            *found.factors,
            observations.units,
            f"{'mean ' if several else ''}{observations.response}{unit}",
            f"{level} interval",
            *(
                head
                for item in found.quantiles
                for head in (f"{name_quantile(item)}{unit}", f"{level} interval")
            ),
        ),
        rows=tuple(lines),
        numeric=(
            *(_is_numeric([line[place] for line in lines]) for place in range(len(found.factors))),
            *([True] * (3 + 2 * len(found.quantiles))),
        ),
        notes=tuple(_list_notes(found)),
    )


def _list_notes(found: PointSummaries) -> list[str]:
    observations = found.observations
    notes = [
        f"Mean with its {format_level(found.confidence)} interval (Student, each design point by itself)."
    ]
    if any(point.mean_interval is None for point in found.points):
        one = observations.units.removesuffix("s")
        notes.append(f"No interval where there is one {one} only, or where {one}s do not differ at all.")
    if found.quantiles:
        notes += _describe_quantiles(found)
    if observations.averaged:
        notes.append(
            f"Measurements inside one trial were averaged (trials with several: {observations.averaged})."
        )
    if observations.averaged_builds:
        notes.append(
            f"Executions of one build were averaged (builds with several: {observations.averaged_builds}), "
            "since they are not replicates."
        )
    if observations.excluded:
        notes.append(f"Rows excluded: {observations.excluded}.")
    return notes


def _describe_quantiles(found: PointSummaries) -> list[str]:
    """What the quantiles are of, how their intervals are made, and where these need more observations."""
    units = found.observations.units
    averaged = bool(found.observations.averaged or found.observations.averaged_builds)
    names = [name_quantile(quantile) for quantile in found.quantiles]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    notes = [
        f"{listed[:1].upper()}{listed[1:]} over the {f'means of {units}' if averaged else units}, "
        f"interpolated (type 7 of Hyndman and Fan); the interval{'s' if len(names) > 1 else ''} from ordered "
        "values (binomial), whatever the distribution."
    ]
    fewest = min(point.n for point in found.points)
    short = [
        f"{format_count(count)} for the {name}"
        for name, count in zip(names, found.needed, strict=True)
        if fewest < count
    ]
    if short:
        notes.append(f"An interval needs {', '.join(short)}; design points with fewer {units} have none.")
    return notes


def _format_mean(point: PointSummary, scale: Scale) -> tuple[str, str]:
    mean, found = point.mean * scale.factor, point.mean_interval
    half = math.nan if found is None else (found.high - found.low) / 2 * scale.factor
    if found is None or not math.isfinite(half):
        # As many figures as an error of a hundredth leaves, with an exponent where decimals would show none.
        rounded = abs(mean) * 10.0 ** (2 - _DIGITS)
        return format_to_error(mean, rounded) if mean else "0", _NO_INTERVAL
    shown = round_interval(found, scale.factor)
    return shown.estimate, shown.ends


def _format_quantile(item: PointQuantile, scale: Scale) -> tuple[str, str]:
    value = item.value * scale.factor
    if item.interval is None:
        return (format_to_error(value, abs(value) * _ROUNDED) if value else "0"), _NO_INTERVAL
    half = (item.interval.high - item.interval.low) / 2 * scale.factor
    shown = round_interval(item.interval, scale.factor, error=half or abs(value) * _ROUNDED)
    return shown.estimate, shown.ends


def show_rows(table: pl.DataFrame, *, digits: int = _DIGITS) -> Table:
    """Return a table as it is, numbers that are not whole rounded to `digits` figures."""
    numeric = tuple(table[name].dtype.is_numeric() for name in table.columns)
    rows = tuple(tuple(_format_cell(value, digits) for value in row) for row in table.iter_rows())
    return Table(tuple(table.columns), rows, numeric)


def _format_cell(value: object, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format_figures(value, digits) if isinstance(value, float) else str(value)


def _is_numeric(texts: Sequence[str]) -> bool:
    try:
        return all(math.isfinite(float(text)) for text in texts)
    except ValueError:
        return False

"""A table of means and quantiles by design point, for a paper: levels, n, each figure with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from scipy.special import stdtrit

from datamill.analysis.model_data.observations import list_tidy_factors, select_response
from datamill.analysis.quantile.fits import check_quantiles
from datamill.experiment.messages.numbers import format_level, format_to_error, name_quantile
from datamill.report.tables.point_quantiles import describe_quantiles, format_point_quantiles
from datamill.report.tables.table import Table
from datamill.report.words.scales import choose_scale

#: What stands for the level of a factor that a benchmark does not have.
_NO_LEVEL = "–"
_NO_INTERVAL = "–"
#: Figures of a mean that has no interval to round it by.
_DIGITS = 4


def summarize_points(
    table: pl.DataFrame,
    response: str,
    *,
    confidence: float = 0.95,
    quantiles: Sequence[float] = (),
    source: str = "table",
) -> Table:
    """Return the mean of a response at each design point of a tidy table, with its Student interval.

    One value a trial; the interval uses the variance of its own design point. There is none for fewer
    than two trials, nor where trials do not differ: that they never would is not known. Figures are
    rounded by the interval's half-width. Each of the `quantiles` follows, with the interval from one
    ordered value to another whose ranks the binomial distribution gives; there is none where the
    trials are too few for it.

    Raises:
        InputError: as `select_response`, or a quantile is not between 0 and 1.
    """
    wanted = check_quantiles(quantiles) if quantiles else []
    rows = table.filter(pl.col("response") == response)
    factors = list(list_tidy_factors(rows.filter("valid"))) or [_find_column(rows)]
    filled = rows.with_columns(pl.col(name).cast(pl.String).fill_null(_NO_LEVEL) for name in factors)
    observations = select_response(filled, response, factors, source=source)
    cells = observations.cells
    means = [cells.origin + float(mean) for mean in cells.means]
    scale = choose_scale(observations.unit, max((abs(mean) for mean in means), default=0.0))
    beside = format_point_quantiles(cells, wanted, confidence, scale, _NO_INTERVAL)
    lines = []
    for index, mean in enumerate(means):
        n = int(cells.counts[index])
        levels = [factor.levels[int(cells.codes[index, place])] for place, factor in enumerate(cells.factors)]
        half = math.nan
        if n > 1 and cells.within_ss[index] > cells.rounding_ss:
            variance = float(cells.within_ss[index]) / (n - 1)
            half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * math.sqrt(variance / n)
        shown = _format_mean(mean * scale.factor, half * scale.factor)
        lines.append((*levels, str(n), *shown, *beside[index]))
    unit = f" ({scale.unit})" if scale.unit else ""
    level = format_level(confidence)
    notes = [f"Mean with its {level} interval (Student, each design point by itself)."]
    if any(line[len(factors) + 2] == _NO_INTERVAL for line in lines):
        one = observations.units.removesuffix("s")
        notes.append(f"No interval where there is one {one} only, or where {one}s do not differ at all.")
    averaged = bool(observations.averaged or observations.averaged_builds)
    if wanted:
        notes += describe_quantiles(wanted, cells.counts, confidence, observations.units, averaged=averaged)
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
    return Table(
        headers=(
            *factors,
            observations.units,
            f"{'mean ' if wanted else ''}{response}{unit}",
            f"{level} interval",
            *(head for item in wanted for head in (f"{name_quantile(item)}{unit}", f"{level} interval")),
        ),
        rows=tuple(lines),
        numeric=(
            *(_is_numeric([line[place] for line in lines]) for place in range(len(factors))),
            *([True] * (3 + 2 * len(wanted))),
        ),
        notes=tuple(notes),
    )


def _find_column(rows: pl.DataFrame) -> str:
    return next(name for name in ("benchmark", "package", "experiment", "response") if name in rows.columns)


def _format_mean(mean: float, half: float) -> tuple[str, str]:
    if not math.isfinite(half):
        # As many figures as an error of a hundredth leaves, with an exponent where decimals would show none.
        rounded = abs(mean) * 10.0 ** (2 - _DIGITS)
        return format_to_error(mean, rounded) if mean else "0", _NO_INTERVAL
    low, high = (format_to_error(end, half) for end in (mean - half, mean + half))
    return format_to_error(mean, half), f"{low} to {high}"


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
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _is_numeric(texts: Sequence[str]) -> bool:
    try:
        return all(math.isfinite(float(text)) for text in texts)
    except ValueError:
        return False

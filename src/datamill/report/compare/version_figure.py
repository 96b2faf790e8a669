"""Figure of versions compared: their builds, and each change on its interval against the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.variance_estimate import PLURALS
from datamill.analysis.versions.version_comparison import VersionChange, VersionComparison
from datamill.experiment.messages.numbers import format_level
from datamill.report.compare.answer import (
    name_threshold,
    name_verdict,
    phrase_basis,
    scale_comparison,
)
from datamill.report.figures.estimation_panels import (
    BETWEEN,
    MOST_LEVELS,
    PlottedLevel,
    chart_changes,
    chart_observations,
    phrase_points,
    share_points,
    thin_points,
)
from datamill.report.figures.figure import Figure
from datamill.report.words.short_names import apply_short_names


def draw_changes(comparison: VersionComparison, units: Mapping[str, FloatArray]) -> Figure:
    """Draw each version's builds and mean, and beside them its change, over the band that does not matter.

    `units` are the means of builds, or of what stands in for them, in ascending order. Changes are in percent
    of the baseline, or in the response's unit where some change has no percentage.
    """
    scale = scale_comparison(comparison)
    shown = comparison.means[:MOST_LEVELS]
    changes = {change.version: change for change in comparison.changes}
    drawn = [changes[mean.version] for mean in shown if mean.version in changes]
    relative = all(change.percent is not None for change in drawn)
    bases = set() if comparison.consecutive else {change.baseline for change in comparison.changes}
    most, n = share_points(len(shown)), sum(len(units[mean.version]) for mean in shown)
    rows = []
    for mean in shown:
        change = changes.get(mean.version)
        rows.append(
            PlottedLevel(
                mean.version,
                mean.units,
                tuple(value * scale.factor for value in thin_points(units[mean.version], most, n)),
                mean.value.scaled(scale.factor),
                None if change is None else _find_change(change, scale.factor, relative=relative),
                reference=mean.version in bases,
                note="" if change is None else name_verdict(change.verdict, comparison.threshold),
            )
        )
    kinds = list(dict.fromkeys(PLURALS[mean.level] for mean in shown))
    unit = f" ({scale.unit})" if scale.unit else ""
    of_change = "%" if relative else scale.unit
    base = "the version before" if comparison.consecutive else comparison.changes[0].baseline
    limit = 100 * comparison.threshold
    chart: dict[str, Any] = {
        "hconcat": [
            chart_observations(rows, f"{comparison.response}{unit}", scale.unit),
            chart_changes(
                rows,
                base,
                f"change from {apply_short_names(base)}{f' ({of_change})' if of_change else ''}",
                of_change,
                band=(-limit, limit) if relative else None,
            ),
        ],
        "spacing": BETWEEN,
        "bounds": "flush",
        "config": {"view": {"stroke": None}},
    }
    points = phrase_points(sum(len(row.points) for row in rows), n, " and ".join(kinds))
    level = format_level(comparison.confidence)
    together = " (which hold together)" if len(drawn) > 1 and comparison.adjustment != "none" else ""
    caption = (
        f"on the left a point is one of {points}, a diamond the mean of a version, a bar its {level} "
        f"interval. On the right stand the changes from {base} with their {level} intervals{together}. "
    )
    if relative:
        caption += (
            f"The shaded band is ±{name_threshold(comparison.threshold)}, too small to matter: a bar inside "
            "it is unchanged, a bar that leaves out 0 and is not inside has changed, and of any other the "
            "data cannot tell yet. "
        )
    caption += f"{phrase_basis(comparison)}."
    if len(comparison.means) > len(shown):
        caption += f" {len(comparison.means) - len(shown)} further versions are not drawn."
    return Figure("version-changes", f"{comparison.response} by version", caption, chart)


def _find_change(change: VersionChange, factor: float, *, relative: bool) -> Interval:
    if relative and change.percent is not None:
        return change.percent
    return change.difference.scaled(factor)

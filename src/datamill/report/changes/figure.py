"""The picture of a change: every observation with the means, and beside it what lies between the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from datamill.analysis.interval import Interval
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.levels.level_means import LevelMean
from datamill.analysis.model_data.cells import FloatArray
from datamill.experiment.messages.numbers import format_level
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
from datamill.report.words.scales import Scale
from datamill.report.words.short_names import apply_short_names

#: Changes beyond this, in percent, are drawn in the unit of the response instead.
_LARGEST_PERCENT = 2000.0


def draw_change(
    change: LevelChange,
    points: Mapping[str, FloatArray],
    means: Sequence[LevelMean],
    *,
    response: str,
    units: str,
    scale: Scale,
    confidence: float,
) -> Figure:
    """Draw the observations at each level of a factor, and each level's change against one of them.

    `points` are the observations at each level, ordered by size, and `means` those of the factor's levels in
    the same group; `units` says what an observation stands for
    ("trials", "builds"). The change is in percent, or in the scale's unit where a ratio is not bounded.
    """
    relative = all(_is_modest(step.ratio) for step in change.steps)
    steps = {step.package: step for step in change.steps}
    base = change.steps[0].baseline
    base_shown = apply_short_names(base)
    own = [mean for mean in means if mean.factor == change.factor and mean.group == change.group]
    shown = own[:MOST_LEVELS]
    most = share_points(len(shown))
    rows = [
        PlottedLevel(
            mean.level,
            mean.n,
            tuple(value * scale.factor for value in thin_points(points[mean.level], most, change.n)),
            mean.value.scaled(scale.factor),
            _find_change(steps.get(mean.level), scale, relative=relative),
            reference=mean.level == base,
        )
        for mean in shown
    ]
    drawn = sum(len(row.points) for row in rows)
    level = format_level(confidence)
    unit = f" ({scale.unit})" if scale.unit else ""
    of_change = "%" if relative else scale.unit
    title = f"{response}{unit}"
    beside = f"change from {base_shown}{f' ({of_change})' if of_change else ''}"
    group = "" if change.group == "all" else f" of {change.group}"
    what = phrase_points(drawn, change.n, units)
    together = ", which hold for all pairs of levels together" if change.levels > 2 else ""
    caption = (
        f"on the left a point is one of {what}, a diamond the mean of a level over the combinations of all "
        f"other factors, a bar its {level} interval. On the right stand the changes from {base} with their "
        f"{level} intervals{together}: a bar that reaches the line at zero is compatible with no change."
    )
    if len(own) > len(shown):
        caption += f" {len(own) - len(shown)} further levels are not drawn."
    chart: dict[str, Any] = {
        "hconcat": [
            chart_observations(rows, title, scale.unit),
            chart_changes(rows, base, beside, of_change),
        ],
        "spacing": BETWEEN,
        "bounds": "flush",
        "config": {"view": {"stroke": None}},
    }
    return Figure(f"change-{change.factor}", f"{response}{group} by {change.factor}", caption, chart)


def _is_modest(ratio: Any) -> bool:
    bounded = ratio is not None and ratio.low is not None and ratio.high is not None
    return bool(bounded) and 100 * (ratio.high - 1) <= _LARGEST_PERCENT


def _find_change(step: PairComparison | None, scale: Scale, *, relative: bool) -> Interval | None:
    if step is None:
        return None
    if relative:
        return None if step.ratio is None else step.ratio.to_percent()
    return step.difference.scaled(scale.factor)

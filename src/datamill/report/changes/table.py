"""The table of means by level: a row for each, with the change against one and the same level."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.interval import Interval
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import LevelChange
from datamill.analysis.levels.level_means import LevelMean
from datamill.experiment.messages.numbers import format_count
from datamill.report.changes.by_factor import Wording
from datamill.report.tables.table import Table, build_table
from datamill.report.words.scales import round_interval

#: From this ratio on a change is told in times rather than in percent.
_IN_TIMES = 10.0


def tabulate_changes(means: Sequence[LevelMean], changes: Sequence[LevelChange], wording: Wording) -> Table:
    """Means in the scale's unit, and changes in percent and in the unit; `=` marks what is compared with.

    Rows come in the order of the means; the group (a package) has a column where there are several.
    """
    several = len({mean.group for mean in means}) > 1
    by_factor = {(item.factor, item.group): item for item in changes}
    rows, last = [], ""
    for mean in means:
        change = by_factor.get((mean.factor, mean.group))
        name = "" if mean.factor == last else mean.factor
        last = mean.factor
        group = (mean.group if mean.group != "all" else "",) if several else ()
        rows.append(
            (
                name,
                mean.level,
                *group,
                format_count(mean.n),
                _spell(mean.value, wording.scale.factor),
                *_spell_step(change, mean.level, wording),
            )
        )
    unit = f" ({wording.scale.unit})" if wording.scale.unit else ""
    headers = (
        "factor",
        "level",
        *(("package",) if several else ()),
        "n",
        "mean",
        "change",
        f"difference{unit}",
    )
    return build_table(headers, tuple(rows), words=3 if several else 2)


def _spell(value: Interval, factor: float, unit: str = "", *, signed: bool = False) -> str:
    shown = round_interval(value, factor, signed=signed)
    return f"{shown.estimate}{unit}" if value.low == value.high else shown.phrase(unit)


def _spell_step(change: LevelChange | None, level: str, wording: Wording) -> tuple[str, str]:
    if change is None or not change.steps:
        return "", ""
    base = change.steps[0].baseline
    if level == base:
        return "=", "="
    step = next((item for item in change.steps if item.package == level), None)
    if step is None:
        return "", ""
    return _spell_ratio(step), _spell(step.difference, wording.scale.factor, signed=True)


def _spell_ratio(step: PairComparison) -> str:
    """A ratio as a change in percent, or as so many times where it is large."""
    ratio = None if step.ratio is None else step.ratio.interval
    if ratio is None:
        return "–"
    if ratio.estimate >= _IN_TIMES:
        return _spell(ratio, 1.0, " times")
    return _spell(ratio.to_percent(), 1.0, "%", signed=True)

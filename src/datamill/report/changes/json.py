"""Changes between levels as JSON."""

from __future__ import annotations

from typing import Any

from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import LevelChange, LevelChanges
from datamill.analysis.levels.level_means import LevelMean
from datamill.report.tables.interval_json import spell_interval


def spell_changes(found: LevelChanges | None) -> list[dict[str, Any]]:
    """Write the largest change of each factor and group, and every level against one and the same."""
    if found is None:
        return []
    return [spell_change(item, found.means) for item in found.changes]


def spell_change(item: LevelChange, means: tuple[LevelMean, ...]) -> dict[str, Any]:
    """Write the largest change of one factor in one group, with the means of all its levels."""
    own = [mean for mean in means if mean.factor == item.factor and mean.group == item.group]
    steps = {step.package: step for step in item.steps}
    return {
        "factor": item.factor,
        "group": item.group,
        "n": item.n,
        **spell_pair(item.pair),
        "levels": [
            {
                "level": mean.level,
                "n": mean.n,
                "mean": spell_interval(mean.value),
                "change": spell_pair(steps[mean.level]) if mean.level in steps else None,
            }
            for mean in own
        ],
    }


def spell_pair(pair: PairComparison) -> dict[str, Any]:
    """Write a level or package against another one; `ratio` is null where it cannot be bounded."""
    ratio = pair.ratio
    return {
        "level": pair.package,
        "against": pair.baseline,
        "difference": spell_interval(pair.difference),
        "ratio": None
        if ratio is None
        else {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high},
        "p": pair.p,
        "verdict": pair.verdict,
    }

"""Versions of unlike shape, which make comparisons of means err: skewness cancels only where all have it."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.random_effects.variance_estimate import PLURALS
from datamill.analysis.versions.version_comparison import VersionChange, VersionMean
from datamill.experiment.messages.numbers import format_figures

#: With fewer units of a version than these nothing tells that it lacks a tail or a mode.
_FEW = 10


def warn_of_shapes(means: Sequence[VersionMean], changes: Sequence[VersionChange]) -> list[str]:
    """Say which versions are too skewed for their number of units, and which verdicts rest on few units."""
    units = {mean.version: mean.units for mean in means}
    skewed = [mean for mean in means if mean.skewness and mean.units >= _FEW]
    warnings = []
    if skewed:
        names = ", ".join(
            f"{mean.version} ({PLURALS[mean.level]} have G1 {format_figures(mean.skewness, 2)})"
            for mean in skewed
        )
        warnings.append(
            f"skewed for so few {PLURALS[skewed[0].level]}: {names}. Where another version is not skewed "
            "alike, intervals of their difference at 95% hold in 80 to 93% of experiments, in as few as 60% "
            "where the variance is infinite; where all are alike, they hold as stated"
        )
    few = [change for change in changes if (change.detected or change.within) and not change.common_builds]
    few = [change for change in few if min(units[change.version], units[change.baseline]) < _FEW]
    if few:
        least = min(min(units[change.version], units[change.baseline]) for change in few)
        warnings.append(
            f"a verdict that rests on {least} {PLURALS[means[0].level]} presumes means that are normal, or "
            "of one shape in both versions: where one version alone is skewed, equal ones of five builds "
            "seem to differ in 8 to 22% of experiments at 95%, where it is slow in one build of ten in half"
        )
    return warnings

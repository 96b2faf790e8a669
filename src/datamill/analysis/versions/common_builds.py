"""Two versions that were measured in the same builds, so that what a build adds to both cancels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.analysis.random_effects.nested_data.execution_means import average_executions, is_rounding
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues


@dataclass(frozen=True, slots=True)
class CommonBuilds:
    """`variance` of the difference of two versions' means with its `df`, over so many `builds` of both."""

    variance: float
    df: float
    builds: int


def find_common_builds(version: NestedValues, base: NestedValues) -> CommonBuilds | None:
    """Estimate the variance of the difference of two versions that have all their builds in common.

    Each build's own difference is an independent observation (Student's paired test). None where a build is
    in one version only: taken for independent, they have intervals wider than need be, not too narrow.
    """
    names = set(version.build_names)
    if len(names) < 2 or names != set(base.build_names):
        return None
    ours, theirs = average_executions(version), average_executions(base)
    order = [base.build_names.index(name) for name in version.build_names]
    differences = ours.build_means - theirs.build_means[order]
    spread = float(np.std(differences, ddof=1))
    if is_rounding(spread, version, base):
        spread = 0.0
    return CommonBuilds(spread**2 / len(names), len(names) - 1.0, len(names))


def find_partly_common_builds(version: NestedValues, base: NestedValues) -> tuple[int, int] | None:
    """How many builds two versions have in common, and how many of both are in one only.

    None where they have all builds in common, or fewer than two.
    """
    ours, theirs = set(version.build_names), set(base.build_names)
    common, apart = len(ours & theirs), len(ours ^ theirs)
    return (common, apart) if common > 1 and apart else None

"""What the data themselves say against the assumption under which groups are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.analysis.groups.group_comparison import Aspect, Assumption, Group, Stratum
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe
from datamill.analysis.groups.splitting import name_levels
from datamill.analysis.ordered.shapiro_wilk import MOST, test_shapiro_wilk
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_given

#: A group is called not normal, or two spreads unequal, only where the data leave little doubt.
_DOUBT = 0.001
#: With fewer observations spreads are not compared unasked.
_FEWEST_FOR_SPREAD = 8


def doubt_assumption(strata: Sequence[Stratum], assumption: Assumption, aspect: Aspect) -> list[str]:
    """What the data say against the assumption, one clause for all groups that it concerns."""
    warnings = []
    if assumption.startswith("normal"):
        accused = [
            f"{group.label}{f' at {name_levels(item.levels)}' if item.levels else ''}"
            for item in strata
            for group in item.groups
            if _look_normal(group) < _DOUBT
        ]
        if accused:
            harm = (
                "the comparison of variances is then wrong, however many observations there are"
                if aspect == "spread"
                else "with few observations the comparison of means is then rough"
            )
            warnings.append(
                tell(
                    f"{_shorten(accused)} do not look normal (Shapiro-Wilk, p < {format_given(_DOUBT)}): "
                    f"{harm}; "
                    f"{argument('assume', 'nothing')} needs no such assumption"
                )
            )
    if aspect == "location" and assumption != "normal":
        uneven = [item for item in strata if _spreads_differ(item.groups)]
        if uneven:
            where = (
                f" at {_shorten([name_levels(item.levels) for item in uneven])}" if uneven[0].levels else ""
            )
            harm = {
                "nothing": "a small p then says that the distributions differ, not that the medians do",
                "exchangeable": "labels could then not be exchanged even with equal means",
                "normal-equal-variances": tell(
                    f"choose {argument('assume', 'normal')}, which lets variances differ"
                ),
            }[assumption]
            warnings.append(
                f"the groups' spreads differ{where} (Brown-Forsythe, p < {format_given(_DOUBT)}): {harm}"
            )
    return warnings


def _look_normal(group: Group) -> float:
    """P-value of Shapiro and Wilk's test, on at most 5000 evenly chosen observations."""
    chosen = group.values[:: max(1, -(-group.n // MOST))]
    if chosen.size < _FEWEST_FOR_SPREAD or np.ptp(chosen) == 0:
        return 1.0
    middle = float(np.mean(chosen))
    return test_shapiro_wilk((chosen - middle) / float(np.max(np.abs(chosen - middle))))[1]


def _spreads_differ(groups: tuple[Group, ...]) -> bool:
    if min(group.n for group in groups) < _FEWEST_FOR_SPREAD:
        return False
    p = compare_brown_forsythe(groups, 0.95).p
    return p is not None and p < _DOUBT


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"

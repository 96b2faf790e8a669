"""Groups compared on a transformed scale: of logarithms differences are ratios, and ratios nothing."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from datamill.analysis.groups.group_comparison import GroupComparison, GroupEstimate, GroupTest, PairTest
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.observations import Observations

#: Size of a step of one on each logarithmic scale.
_BASES = {"log": math.e, "log2": 2.0, "log10": 10.0}
#: Beyond this many powers of e a ratio leaves the range of a double.
_LARGEST_POWER = 700.0
_TRANSFORMED = re.compile(r"(log|log2|log10|sqrt)\(.*\)")


def find_transform(observations: Observations) -> str:
    """The transform that the response's name tells of, such as `log` of `log(size)`; empty for none."""
    match = _TRANSFORMED.fullmatch(observations.response)
    return match[1] if match else ""


def is_logarithm(observations: Observations) -> bool:
    """Whether the response is a logarithm, whose zero depends on the unit."""
    return find_transform(observations) in _BASES


def speak_of_ratios(comparison: GroupComparison, transform: str) -> GroupComparison:
    """Replace ratios of a transformed response, which depend on its unit or mean nothing.

    Differences of logarithms, taken back, are ratios of the response itself. Ratios of spreads stay,
    since a unit only shifts logarithms and only stretches square roots.
    """
    if not transform or comparison.question != "location":
        return comparison
    strata = tuple(
        replace(item, pairs=tuple(_replace_pair(pair, transform) for pair in item.pairs))
        for item in comparison.strata
    )
    combined = None if comparison.combined is None else _replace_pair(comparison.combined, transform)
    return replace(comparison, strata=strata, combined=combined)


def _replace_pair(pair: PairTest, transform: str) -> PairTest:
    return replace(pair, test=_replace_ratios(pair.test, transform))


def _replace_ratios(test: GroupTest, transform: str) -> GroupTest:
    kept: list[GroupEstimate] = []
    for estimate in test.estimates:
        if estimate.measure == "ratio":
            continue
        kept.append(estimate)
        if estimate.measure == "response" and transform in _BASES:
            kept += _take_back(estimate, math.log(_BASES[transform]))
    return replace(test, estimates=tuple(kept))


def _take_back(difference: GroupEstimate, step: float) -> list[GroupEstimate]:
    powers = [step * end for end in (difference.value.estimate, difference.value.low, difference.value.high)]
    if max(map(abs, powers)) > _LARGEST_POWER:
        return []
    ratio = Interval(*(math.exp(power) for power in powers))
    name = "ratio" if "shift" in difference.name else "ratio of geometric means"
    how = f"{difference.method}; taken back from the logarithmic scale"
    return [GroupEstimate(name, ratio, "ratio", difference.confidence, how)]

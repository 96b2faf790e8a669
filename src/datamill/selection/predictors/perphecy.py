"""Perphecy: thresholds of indicators, chosen so that every change of the history is found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.selection.predictors.case import Case, keep_labelled
from datamill.selection.predictors.models.thresholds import Perphecy, Threshold

__all__ = ["Perphecy", "Threshold", "fit_perphecy"]


def fit_perphecy(cases: Sequence[Case]) -> Perphecy:
    """Choose thresholds by Algorithm 1 (thesis 2015, 6.4.3).

    For each hit the cheapest indicator is found: with the highest threshold that still covers the hit, the
    one that is true of the fewest unchanged cases; among equally cheap ones the first by order of the
    readings. Then, as long as hits are left, the dearest of them gets its indicator, and all hits that this
    covers are done; among equally dear ones the first. As printed the loop never ends once all hits that are
    left cost 0, since it looks for a price above 0; here such a hit gets its indicator too. A history without
    a change gives no thresholds: every benchmark is skipped, as published, with a warning.
    """
    labelled = keep_labelled(cases)
    hits = [case for case in labelled if case.changed]
    others = [case for case in labelled if not case.changed]
    if not hits:
        return Perphecy((), ("the history has no change: every benchmark will be skipped",))
    names = list(dict.fromkeys(name for case in labelled for name in case.readings))
    unchanged = {name: [case.readings[name] for case in others if name in case.readings] for name in names}
    cheapest = [_find_cheapest(hit, names, unchanged) for hit in hits]
    warnings = []
    left = [index for index, threshold in enumerate(cheapest) if threshold is not None]
    if len(left) < len(hits):
        warnings.append(
            f"{len(hits) - len(left)} changes of the history have no indicator and are not covered"
        )
    chosen: list[Threshold] = []
    while left:
        dearest = max(left, key=lambda index: cheapest[index].price)  # type: ignore[union-attr]
        threshold = cheapest[dearest]
        assert threshold is not None
        chosen.append(threshold)
        left = [
            index
            for index in left
            if hits[index].readings.get(threshold.indicator, -math.inf) < threshold.least
        ]
    if any(item.least <= 0 for item in chosen):
        warnings.append("a change of the history moved no indicator: a threshold of 0 runs every benchmark")
    return Perphecy(tuple(chosen), tuple(warnings))


def _find_cheapest(hit: Case, names: list[str], unchanged: dict[str, list[float]]) -> Threshold | None:
    best: Threshold | None = None
    for name in names:
        if name not in hit.readings:
            continue
        least = hit.readings[name]
        price = sum(value >= least for value in unchanged[name])
        if best is None or price < best.price:
            best = Threshold(name, least, price)
    return best

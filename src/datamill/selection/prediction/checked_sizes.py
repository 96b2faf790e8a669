"""Sizes and directions of changes told by what was known before them, and how right that was."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.selection.evaluation.rates import bound_rate
from datamill.selection.evaluation.sizes import SizeCheck
from datamill.selection.prediction.direction import learn_direction
from datamill.selection.prediction.magnitude import CONFIDENCE, learn_magnitude
from datamill.selection.predictors.case import Case, keep_labelled


def check_sizes(cases: Sequence[Case], *, first: int) -> SizeCheck:
    """Walk forward: what is learnt are changes whose new version is older than the one that is told.

    Predictions begin with the version `first` in the order.
    """
    labelled = keep_labelled(cases)
    sizes: list[bool] = []
    directions: list[bool] = []
    for order in sorted({case.new_order for case in labelled if case.changed and case.new_order >= first}):
        known = [case for case in labelled if case.new_order < order]
        magnitude, direction = learn_magnitude(known), learn_direction(known)
        for case in labelled:
            if case.new_order != order or not case.changed or case.ratio is None or case.ratio == 1:
                continue
            if magnitude is not None:
                told = magnitude.tell(case.features)
                sizes.append(told.low <= abs(case.ratio - 1) <= told.high)
            side = direction.tell(dict(case.features))
            if side != "unknown":
                directions.append((case.ratio > 1) == (side == "slower"))
    return SizeCheck(
        CONFIDENCE, bound_rate(sum(sizes), len(sizes)), bound_rate(sum(directions), len(directions))
    )

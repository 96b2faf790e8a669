"""Sizes and directions of changes told by what was known before them, and how right that was."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.selection.evaluation.rates import bound_rate
from datamill.selection.evaluation.sizes import SizeCheck
from datamill.selection.prediction.direction import FEATURE, learn_direction
from datamill.selection.prediction.magnitude import CONFIDENCE, learn_magnitude
from datamill.selection.predictors.case import Case, keep_labelled


def check_sizes(cases: Sequence[Case], *, first: int) -> SizeCheck:
    """Walk forward: what is learnt are changes whose new version is older than the one that is told.

    Predictions begin with the version `first` in the order.
    """
    labelled = keep_labelled(cases)
    sizes: list[bool] = []
    told_right: list[bool] = []
    by_sign: list[bool] = []
    changes = 0
    for order in sorted({case.new_order for case in labelled if case.changed and case.new_order >= first}):
        known = [case for case in labelled if case.new_order < order]
        magnitude, direction = learn_magnitude(known), learn_direction(known)
        for case in labelled:
            if case.new_order != order or not case.changed or case.ratio is None or case.ratio == 1:
                continue
            changes += 1
            if magnitude is not None:
                size = magnitude.tell(case.features)
                sizes.append(size.low <= abs(case.ratio - 1) <= size.high)
            is_slower = case.ratio > 1
            side = direction.tell(dict(case.features))
            if side != "unknown":
                told_right.append(is_slower == (side == "slower"))
            edit = case.features.get(FEATURE, 0.0)
            if edit:
                by_sign.append(is_slower == (edit > 0))
    return SizeCheck(
        CONFIDENCE,
        within=bound_rate(sum(sizes), len(sizes)),
        told=bound_rate(len(told_right), changes),
        right=bound_rate(sum(told_right), len(told_right)),
        by_sign=bound_rate(sum(by_sign), len(by_sign)),
    )

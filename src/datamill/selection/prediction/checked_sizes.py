"""Sizes and directions of changes told by what was known before them, and how right that was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamill.selection.evaluation.rates import bound_rate
from datamill.selection.evaluation.sizes import SizeCheck, SizeCoverage
from datamill.selection.prediction.direction import FEATURE, learn_direction
from datamill.selection.prediction.magnitude import CONFIDENCE, VersionSizes, learn_magnitude
from datamill.selection.predictors.case import Case, keep_labelled

#: By which share a size may lie below the least change: counts were compared, not their ratio with 1.
_ROUNDING = 1e-9
#: Own changes that were known, from and to, by which changes are counted.
_HISTORIES: tuple[tuple[int, int | None], ...] = ((0, 0), (1, 5), (6, 20), (21, None))


@dataclass(frozen=True, slots=True)
class _ToldVersion:
    """A version with a change: how many changes were known, and of each whether its size was in the interval.

    `within` is None where there was no interval.
    """

    known: int
    changes: int
    within: int | None


def check_sizes(cases: Sequence[Case], least: float, others: Sequence[VersionSizes] = ()) -> SizeCheck:
    """Walk forward from the first version: what is learnt are changes of older versions than the told one.

    `least` and `others` as in `magnitude.learn_magnitude`.
    """
    changed = [
        case for case in keep_labelled(cases) if case.changed and case.ratio is not None and case.ratio != 1
    ]
    versions: list[_ToldVersion] = []
    right: list[bool] = []
    signs: dict[int, list[bool]] = {}
    for order in sorted({case.new_order for case in changed}):
        known = [case for case in changed if case.new_order < order]
        own = [case for case in changed if case.new_order == order]
        size, direction = learn_magnitude(known, least, others), learn_direction(known)
        sizes = [abs((case.ratio or 1.0) - 1) for case in own]
        within = None
        if size is not None:
            low = size.low * (1 - _ROUNDING)
            within = sum(low <= item <= size.high for item in sizes)
        versions.append(_ToldVersion(len(known), len(own), within))
        for case in own:
            is_slower = (case.ratio or 1.0) > 1
            side = direction.tell(dict(case.features))
            if side != "unknown":
                right.append(is_slower == (side == "slower"))
            edit = case.features.get(FEATURE, 0.0)
            if edit:
                signs.setdefault(order, []).append(is_slower == (edit > 0))
    by_case = [item for version in signs.values() for item in version]
    return SizeCheck(
        CONFIDENCE,
        every=_cover(versions, 0, None),
        by_history=tuple(_cover(versions, first, last) for first, last in _HISTORIES),
        told=bound_rate(len(right), len(changed)),
        right=bound_rate(sum(right), len(right)),
        by_sign=bound_rate(sum(by_case), len(by_case)),
        by_sign_versions=bound_rate(sum(map(all, signs.values())), len(signs)),
    )


def _cover(versions: Sequence[_ToldVersion], first: int, last: int | None) -> SizeCoverage:
    own = [item for item in versions if item.known >= first and (last is None or item.known <= last)]
    told = [item for item in own if item.within is not None]
    changes = sum(item.changes for item in told)
    return SizeCoverage(
        first,
        last,
        told=bound_rate(changes, sum(item.changes for item in own)),
        within=bound_rate(sum(item.within or 0 for item in told), changes),
        versions=bound_rate(sum(item.within == item.changes for item in told), len(told)),
    )

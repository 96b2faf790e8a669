"""The scaling of features, from what was seen in training alone."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.selection.features.own import SHARES
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.scaling import Scaling

#: In what shares of the work are counted before their logarithm is taken. A change of a tenth of a percent is
#: one, so that code of a thousandth of the work matters, and code of a millionth does not.
SHARE_UNIT = 1e-4


def fit_scaling(cases: Sequence[Case], *, logarithmic: bool = True) -> Scaling:
    """Find the features of cases and their largest absolute values; those that are always 0 are left out."""
    largest: dict[str, float] = {}
    for case in cases:
        for name, value in case.features.items():
            largest[name] = max(largest.get(name, 0.0), abs(value))
    kept = {name: value for name, value in sorted(largest.items()) if value > 0}
    units = tuple(SHARE_UNIT if name in SHARES else 1.0 for name in kept)
    return Scaling(tuple(kept), tuple(kept.values()), logarithmic, units)

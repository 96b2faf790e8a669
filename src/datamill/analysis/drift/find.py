"""Does the response drift while the experiment runs, or differ for a while?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.drift.drift import Drift, RunOrder, Stretch, Trend
from datamill.analysis.drift.stretch import DRAWS, find_stretch
from datamill.analysis.drift.trend import test_trend
from datamill.analysis.model_data.cells import FloatArray
from datamill.experiment.messages.numbers import format_count

#: Fewer degrees of freedom within design points than this say nothing about drift.
_LEAST_DF = 8


def find_drift(
    order: RunOrder, *, compare_blocks: bool = False, confidence: float = 0.95, alpha: float = 0.01
) -> Drift | None:
    """Test whether values depend on when trials ran; None with too few trials that are alike but for time.

    A trend is tested by the sum of Kendall's S within design points (Hirsch and Slack 1982), its size is the
    median of the slopes within design points with Sen's interval (1968). For a stretch, normal scores of the
    ranks within design points are summed over runs of consecutive trials, or with `compare_blocks` over
    blocks, and the largest standardised sum is compared with those of values dealt anew within design points.
    Both p-values are adjusted by Holm, so that without drift something is detected with probability `alpha`.
    """
    order = _take(order, np.bincount(order.point)[order.point] >= 2)
    n = order.values.size
    if n == 0 or n - np.unique(order.point).size < _LEAST_DF:
        return None
    deviations, relative = _deviate(order)
    trend_p, change = test_trend(order, deviations, np.arange(n) / (n - 1), confidence)
    stretch = find_stretch(order, deviations, compare_blocks=compare_blocks, confidence=confidence)
    adjusted = adjust_holm([trend_p, None if stretch is None else stretch.p])
    trend = Trend(trend_p if adjusted[0] is None else adjusted[0], change)
    if stretch is not None and adjusted[1] is not None:
        stretch = replace(stretch, p=adjusted[1])
    places, shares, names = _compare_places(order, stretch)
    where = "blocks" if compare_blocks else "consecutive trials"
    drift = Drift(
        order=order,
        deviations=deviations,
        relative=relative,
        trend=trend,
        stretch=stretch,
        alpha=alpha,
        confidence=confidence,
        imbalance=float(np.ptp(places)) if places.size else 0.0,
        earliest=names[int(np.argmin(places))] if len(names) > 1 else "",
        latest=names[int(np.argmax(places))] if len(names) > 1 else "",
        method=(
            "trend: Kendall's S summed over design points (Hirsch and Slack 1982), Sen's slope and interval; "
            f"stretch: largest sum of normal scores over {where}, against {format_count(DRAWS)} deals "
            "within design "
            "points; p adjusted by Holm"
        ),
    )
    if drift.kind == "trend" and places.size:
        return replace(drift, distortion=abs(change.estimate) * float(np.ptp(places)))
    if drift.kind == "stretch" and stretch is not None and shares.size:
        return replace(drift, distortion=abs(stretch.shift.estimate) * float(np.ptp(shares)))
    return drift


def _take(order: RunOrder, kept: NDArray[np.bool_]) -> RunOrder:
    point = np.unique(order.point[kept], return_inverse=True)[1].reshape(-1)
    return replace(
        order,
        values=order.values[kept],
        point=point,
        package=order.package[kept],
        reference=order.reference[kept],
        block=order.block[kept],
    )


def _deviate(order: RunOrder) -> tuple[FloatArray, bool]:
    """Deviations from the mean of the design point, in percent of it where all means are positive."""
    counts = np.bincount(order.point)
    means = np.bincount(order.point, weights=order.values) / counts
    deviations = order.values - means[order.point]
    if np.all(means > 0):
        return 100 * deviations / means[order.point], True
    return deviations, False


def _compare_places(order: RunOrder, stretch: Stretch | None) -> tuple[FloatArray, FloatArray, list[str]]:
    """Mean place of each package's trials in the run (0 to 1), and their share in the stretch."""
    n = order.values.size
    place, inside = np.arange(n) / (n - 1), np.zeros(n)
    if stretch is not None:
        inside[stretch.first - 1 : stretch.last] = 1.0
    places, shares, names = [], [], []
    for code, name in enumerate(order.packages):
        own = (order.package == code) & ~order.reference
        if np.any(own):
            places.append(float(np.mean(place[own])))
            shares.append(float(np.mean(inside[own])))
            names.append(name)
    return np.array(places), np.array(shares), names

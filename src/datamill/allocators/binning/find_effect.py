"""From calls with their latencies to what binning does to them (thesis 2019, section 2.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from datamill.allocators.binning.binning_effect import BinnedCalls, BinningEffect, CallGroup, SlowCalls
from datamill.allocators.binning.densities import estimate_density
from datamill.analysis.distribution.windows import WindowAnalysis, analyze_windows
from datamill.analysis.groups.group_comparison import Group
from datamill.analysis.groups.means.mean_tests import compare_games_howell
from datamill.analysis.groups.ranks.rank_tests import compare_mann_whitney
from datamill.analysis.interval import Interval
from datamill.analysis.linear.mean_lines import MeanLines, find_mean_lines
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import FloatArray, ModelFactor, gather_cells
from datamill.analysis.model_data.coding import Term
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.errors import InputError

#: The 5th to the 95th percentile, as in Figure 2.1b.
USUAL_QUANTILES = tuple(round(0.05 * step, 2) for step in range(1, 20))
#: From so many calls on intervals of quantiles come from densities, not from draws, which would take minutes.
_MANY = 20_000
#: Names of the two levels: 0/1 in equation 2.2.
LEVELS = ("0", "1")
#: Events that a window has on average, windows that there should be, calls of the shortest window.
_EVENTS_PER_WINDOW, _FEWEST_WINDOWS, _SHORTEST = 1.5, 30, 10
#: Fewer calls of either kind have no mean, no spread or nothing to compare.
_FEWEST = 2


def find_binning_effect(
    observations: Observations,
    index: FloatArray,
    binned: FloatArray,
    *,
    window: int | None = None,
    quantiles: Sequence[float] = USUAL_QUANTILES,
    confidence: float = 0.95,
    seed: int = 1,
) -> BinningEffect:
    """Compare binned calls with fast ones, and say how much of the slow ones binning accounts for.

    Args:
        observations: latencies (n), without factors.
        index: when each call came (n).
        binned: 1 for binned calls, 0 for others (n).
        window: consecutive calls of which variability and skewness are taken; chosen so that windows have one
            or two events where None.
        quantiles: between 0 and 1.
        confidence: level of intervals.
        seed: of what is drawn.

    Raises:
        InputError: there are no two calls of either kind, or windows are too short or too long.
    """
    order = np.argsort(index, kind="stable")
    latency = (observations.cells.values + observations.cells.origin)[order]
    index, binned = index[order], binned[order]
    is_binned = binned > 0
    for calls, name in ((~is_binned, "not binned"), (is_binned, "binned")):
        if np.count_nonzero(calls) < _FEWEST:
            raise InputError(
                f"{np.count_nonzero(calls)} of {calls.size} calls are {name}: there is nothing to compare",
                remedy="Trace more calls, or name another column.",
            )
    groups = (Group("fast", latency[~is_binned]), Group("binned", latency[is_binned]))
    ranks = compare_mann_whitney(*groups, confidence)
    assert ranks.statistic is not None
    data = _build_model(observations, latency, index, is_binned)
    errors = "auto" if latency.size < _MANY else "nid"
    model = fit_quantiles(data, quantiles, errors=errors, confidence=confidence, seed=seed)
    fast, slow = (_describe(group) for group in groups)
    return BinningEffect(
        observations=observations,
        calls=BinnedCalls(index, latency, binned),
        fast=fast,
        binned=slow,
        means=compare_games_howell(groups, confidence)[0, 1],
        ranks=ranks,
        w=float(groups[0].n) * groups[1].n - ranks.statistic,
        slow=_find_slow(latency, is_binned, confidence),
        windows=_analyze_windows(observations, latency, binned, window, confidence),
        quantiles=model,
        mean=_fit_mean(data, model, confidence),
        densities=tuple(estimate_density(group.label, group.values) for group in groups),
        confidence=confidence,
        warnings=tuple(_warn(latency, is_binned)),
    )


def _describe(group: Group) -> CallGroup:
    values = group.values
    return CallGroup(
        group.label,
        group.n,
        float(np.mean(values)),
        float(np.median(values)),
        float(np.std(values, ddof=1)),
        float(np.min(values)),
        float(np.max(values)),
    )


def _build_model(
    observations: Observations, latency: FloatArray, index: FloatArray, is_binned: np.ndarray
) -> ModelData:
    cells = gather_cells([ModelFactor("binned", LEVELS)], [is_binned.astype(np.uint8)], latency)
    terms = [Term("binned", (0,), 1)]
    # Of two calls, or of one moment, there is no slope.
    covariates = (Covariate("index", index),) if np.ptp(index) > 0 and index.size > 3 else ()
    if covariates:
        terms.append(Term("index", (), 1, (0,)))
    return ModelData(replace(observations, cells=cells, covariates=covariates, order=index), tuple(terms))


def _fit_mean(data: ModelData, model: QuantileModel, confidence: float) -> MeanLines | None:
    observations = data.observations
    try:
        linear = fit_linear_model(
            observations.cells,
            terms=model.terms,
            covariates=observations.covariates,
            confidence=confidence,
        )
    except InputError:
        return None
    return find_mean_lines(linear)


def _find_slow(latency: FloatArray, is_binned: np.ndarray, confidence: float) -> SlowCalls:
    wanted = int(np.count_nonzero(is_binned))
    threshold = float(np.partition(latency, latency.size - wanted)[latency.size - wanted])
    chosen = latency >= threshold
    n, hits = int(np.count_nonzero(chosen)), int(np.count_nonzero(chosen & is_binned))
    # Clopper and Pearson (1934).
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return SlowCalls(threshold, n, hits, Interval(hits / n, low, high), float(np.mean(is_binned)))


def _analyze_windows(
    observations: Observations,
    latency: FloatArray,
    binned: FloatArray,
    window: int | None,
    confidence: float,
) -> WindowAnalysis:
    size = choose_window(latency.size, int(np.count_nonzero(binned))) if window is None else window
    cells = gather_cells([], [], latency)
    events = Covariate("binned calls", binned)
    alone = replace(observations, cells=cells, covariates=(events,), order=None, trials=None)
    return analyze_windows(alone, size, confidence=confidence)


def choose_window(n: int, events: int) -> int:
    """Calls of a window: so many that one has one or two events, and that there are windows enough."""
    wanted = round(_EVENTS_PER_WINDOW * n / max(events, 1))
    return max(3, min(max(wanted, _SHORTEST), n // _FEWEST_WINDOWS, n))


def _warn(latency: FloatArray, is_binned: np.ndarray) -> list[str]:
    warnings = [
        "consecutive calls are taken for independent: where latency drifts, intervals of the comparison are "
        "too "
        "narrow"
    ]
    few = int(min(np.count_nonzero(is_binned), np.count_nonzero(~is_binned)))
    if few < 10:
        warnings.append(f"the smaller group has {few} calls: its mean is rough, and so is the interval")
    # Where a few calls make the mean, as where the processor was taken away, it says little of the others.
    top = np.sort(latency)[-max(1, latency.size // 10_000) :]
    if float(np.sum(top)) > 0.25 * float(np.sum(latency)):
        warnings.append(
            f"the slowest {top.size} of {latency.size} calls take more than a quarter of all time: means, "
            "coefficients of variation and skewness are theirs, as where the processor is taken away; "
            "Mann-Whitney and quantiles heed them less"
        )
    return warnings

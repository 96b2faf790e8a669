"""What a reader must know of a quantile model: how its errors came, and what limits them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from datamill.analysis.distribution.order_statistics import count_needed
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.quantile.errors.choose import (
    ErrorEngine,
    are_trials_nested,
    choose_block_length,
    have_several_observations,
)
from datamill.analysis.quantile.fit import QuantileProblem
from datamill.analysis.quantile.fits import count_available, is_saturated
from datamill.analysis.quantile.quantile_model import QuantileFit
from datamill.experiment.messages.numbers import format_figures, format_fixed, format_given, name_quantiles

#: Below this share of distinct values the response counts as discrete.
_DISCRETE_SHARE = 0.2
#: Trials of a design point below which their spread is hardly known.
_FEW_TRIALS = 10
#: Below this, p of levels that are alike can be below 0.05 in 10 to 40% of all cases at a tail's quantile.
_VERY_FEW_TRIALS = 4
#: Degrees of freedom below which it is told that few trials decide a quantile, and their share of all.
_FEW_DECIDE, _SHARE_DECIDES = 12.0, 0.5
#: Steps from one value to the next that an interval must have for ties not to matter.
_FEW_STEPS = 4
#: Observations beyond a quantile for each coefficient with fewer of which errors from densities cover too
#: little (`benches/analyses/interval_coverage.py`): with 7 kernel and iid cover 83 to 95% at the 0.9
#: quantile.
_NEEDS = {"nid": 5, "kernel": 20, "iid": 20}
_IID_IS_NARROW = (
    "iid errors are wrong where the spread differs between levels; nid, binomial and rows are not"
)


def describe_method(engine: ErrorEngine) -> str:
    """Say in words what was fitted and how its errors came."""
    matrix = engine.problem.matrix
    model = "saturated" if is_saturated(matrix) else f"{matrix.by_cell.shape[1]} coefficients"
    window = name_window(engine.bandwidth)
    words = {
        "nid": "sandwich for errors of any spread, densities from fits at nearby quantiles (Hendricks and "
        f"Koenker; window of {window}), Student's distribution",
        "kernel": f"sandwich for errors of any spread, densities by a kernel (Powell; window of {window}), "
        "Student's distribution",
        "iid": f"one density for all observations (window of {window}), Student's distribution",
        "rank": "inverted rank tests, one a coefficient: a factor of several levels is tested by the least "
        "p-value times their number (Bonferroni), and its last level has no interval",
        "binomial": "from the binomial distribution of counts below each cell's quantile, whatever the "
        "distribution of the response",
        "rows": "percentiles of a bootstrap of observations",
        "block": "percentiles of a bootstrap of blocks of successive observations",
        "cluster": f"percentiles of a bootstrap of whole {engine.unit}s"
        + (" (of their counts below each cell's quantile)" if matrix.factorial else "")
        + ", widened by Student's distribution",
    }[engine.method]
    if engine.method == "block":
        length = engine.block_length or choose_block_length(engine.problem.n)
        words += f" (length {length})"
    if engine.smoothed:
        words += "; counts smoothed, as the model is too large for an exact solution of each draw"
    drawn = f" ({engine.replicates} draws, seed {engine.seed})" if engine.replicates else ""
    return f"quantile regression, exact, {model}; errors ({engine.method}): {words}{drawn}"


def name_window(bandwidth: str) -> str:
    """Whose rule for the width of a window it is."""
    return "Bofinger" if bandwidth == "bofinger" else "Hall and Sheather"


def collect_warnings(
    engine: ErrorEngine, fits: Sequence[QuantileFit], dropped: Sequence[str], crossings: int
) -> tuple[str, ...]:
    """Whole sentences, without their full stop, on what limits a model; the most serious first.

    Flat bottoms are not among them: how wide they are is told in the unit of the response
    (`QuantileFit.is_flat`).
    """
    problem, observations = engine.problem, engine.observations
    return (
        *_warn_of_dropped_terms(observations, dropped),
        *_warn_of_extremes(problem, fits, engine.confidence),
        *_warn_of_dependence(engine),
        *([_IID_IS_NARROW] if engine.method == "iid" else []),
        *(_warn_of_sandwich(problem, fits, engine.method) if engine.method in _NEEDS else []),
        *_warn_of_densities(problem.n, engine.not_positive, fits),
        *_warn_of_ties(observations, fits),
        *_warn_of_crossings(crossings, covariates=bool(observations.covariates)),
    )


def warn_of_streamed(
    observations: Observations,
    problem: QuantileProblem,
    fits: Sequence[QuantileFit],
    confidence: float,
    dropped: Sequence[str],
    not_positive: Mapping[float, int],
    crossings: int,
) -> tuple[str, ...]:
    """The same as `collect_warnings`, of what passes over the data can tell."""
    return (
        *_warn_of_dropped_terms(observations, dropped),
        *_warn_of_extremes(problem, fits, confidence),
        *_warn_of_sandwich(problem, fits),
        *_warn_of_densities(problem.n, not_positive, fits),
        *_warn_of_crossings(crossings, covariates=False),
    )


def _warn_of_dropped_terms(observations: Observations, dropped: Sequence[str]) -> list[str]:
    if not dropped:
        return []
    cells = observations.cells
    shown = ", ".join(dropped[:8]) + (f" and {len(dropped) - 8} more" if len(dropped) > 8 else "")
    return [
        f"not estimable, because {cells.possible - cells.counts.size} of {cells.possible} combinations of "
        f"levels have no data, and left out of the model: {shown}"
    ]


def _warn_of_extremes(problem: QuantileProblem, fits: Sequence[QuantileFit], confidence: float) -> list[str]:
    extreme = [fit.quantile for fit in fits if fit.extreme]
    if not extreme:
        return []
    worst = max(extreme, key=lambda quantile: abs(quantile - 0.5))
    per = "in each cell" if is_saturated(problem.matrix) else "for each coefficient"
    available = math.floor(count_available(problem))
    return [
        f"too few observations for {name_quantiles(extreme)}: the {format_given(worst)} quantile needs about "
        f"{count_needed(worst, confidence)} {per}, and there are {available}; its intervals rest on an "
        "assumed tail, and may hold much less often than stated (at 0.99 of 50 against 150 log-normal "
        "observations intervals at 95% hold in 92% by counts, in 42 to 69% by densities; rank tests hold)"
    ]


def _warn_of_sandwich(
    problem: QuantileProblem, fits: Sequence[QuantileFit], method: str = "nid"
) -> list[str]:
    needed = _NEEDS[method]
    available = count_available(problem)
    beyond = {fit.quantile: available * min(fit.quantile, 1 - fit.quantile) for fit in fits}
    few = [quantile for quantile, number in beyond.items() if number < needed]
    if not few:
        return []
    per = "in a cell" if is_saturated(problem.matrix) else "for each coefficient"
    return [
        f"{method} errors are too narrow at {name_quantiles(few)} and p-values can be far too small: about "
        f"{format_figures(min(beyond.values()), 2)} observations {per} lie beyond, and a density needs "
        f"{needed}"
    ]


def _warn_of_densities(n: int, not_positive: Mapping[float, int], fits: Sequence[QuantileFit]) -> list[str]:
    warnings = []
    for quantile, bad in not_positive.items():
        warnings.append(
            f"at the {format_given(quantile)} quantile the density came out as not positive for {bad} of "
            f"{n} observations, which then do not count in its errors"
        )
    if any(row.p is None for fit in fits for row in fit.coefficients[1:]):
        warnings.append("some errors could not be estimated: too few observations differ near the quantile")
    return warnings


def _warn_of_ties(observations: Observations, fits: Sequence[QuantileFit]) -> list[str]:
    """Ties matter where an interval is no wider than a few steps from one value to the next."""
    values = observations.cells.values
    # Every so many-th of very many tells as much.
    values = values[:: max(1, values.size >> 20)]
    distinct = np.unique(values)
    if distinct.size >= _DISCRETE_SHARE * values.size or distinct.size < 2:
        return []
    coarse = []
    for fit in fits:
        at = fit.coefficients[0].value.estimate - observations.cells.origin
        place = int(np.clip(np.searchsorted(distinct, at), 1, distinct.size - 1))
        around = distinct[max(0, place - _FEW_STEPS) : place + _FEW_STEPS]
        step = float(np.median(np.diff(around)))
        width = float(np.median([row.value.high - row.value.low for row in fit.coefficients]))
        if width < _FEW_STEPS * step:
            coarse.append(fit.quantile)
    if not coarse:
        return []
    return [
        f"the response has only {distinct.size} distinct values in {values.size} observations, and at "
        f"{name_quantiles(coarse)} intervals are no wider than a few steps from one to the next: quantiles "
        "jump, intervals of effects are conservative and that of the intercept may be off by a step"
    ]


def _warn_of_crossings(crossings: int, *, covariates: bool) -> list[str]:
    if not crossings:
        return []
    points = "observations" if covariates else "design points"
    return [
        f"at {crossings} {points} a higher quantile is fitted below a lower one: the model leaves out "
        "interactions that are there, or the data are few"
    ]


def _warn_of_dependence(engine: ErrorEngine) -> list[str]:
    trials, cells = engine.observations.trials, engine.observations.cells
    if trials is None or not have_several_observations(engine.observations):
        return []
    warnings: list[str] = []
    unit = engine.unit
    if engine.method not in ("cluster", "block"):
        return [
            *warnings,
            f"the {unit}s have several observations, which {engine.method} errors take as independent: the "
            f"intervals are too narrow if those of one {unit} resemble each other",
        ]
    decided = {
        quantile: df
        for quantile, df in engine.least_freedom.items()
        if df < min(_FEW_DECIDE, _SHARE_DECIDES * (np.unique(trials).size - len(engine.problem.matrix.names)))
    }
    if decided:
        warnings.append(
            f"at {name_quantiles([*decided])} a few {unit}s have most of what lies beyond: errors are known "
            f"as badly as from {format_fixed(min(decided.values()), 0)} {unit}s, for which intervals are "
            "widened"
        )
    if not are_trials_nested(engine.observations):
        return [
            *warnings,
            f"{unit}s span several combinations of levels, and count as one each; if their numbers only "
            "start anew in every combination, number them apart",
        ]
    size = int(trials.max()) + 1
    of_trial = np.unique(cells.of_row.astype(np.int64) * size + trials) // size
    fewest = int(np.min(np.bincount(of_trial, minlength=cells.counts.size)))
    if fewest < _FEW_TRIALS:
        narrow = "a little too narrow" if fewest >= _VERY_FEW_TRIALS else "far too narrow, p far too small"
        warnings.append(
            f"a design point has {fewest} {unit}{'s' if fewest > 1 else ''}: how much {unit}s differ is "
            f"hardly known, and intervals of quantiles in the tails may be {narrow}; more "
            f"{unit}s help, more observations within a {unit} do not"
        )
    return warnings

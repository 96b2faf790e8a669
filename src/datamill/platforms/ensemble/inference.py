"""The ensemble's prediction of one application, with the errors that it makes for the suite's benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from datamill.platforms.ensemble.chosen_machines import find_optimism
from datamill.platforms.ensemble.departures import expect_departures
from datamill.platforms.ensemble.difficulty import describe_difficulty
from datamill.platforms.ensemble.error_scale import (
    LEAST_ERROR,
    add_target_errors,
    exceed_pseudo_applications,
    fit_error_scale,
)
from datamill.platforms.ensemble.few_benchmarks import allow_for_few, doubt_small_sizes
from datamill.platforms.ensemble.members import MEMBERS, predict_members
from datamill.platforms.ensemble.pseudo_applications import (
    PseudoApplications,
    predict_application,
    predict_pseudo_applications,
)
from datamill.platforms.ensemble.stacking import weigh_members
from datamill.platforms.methods.centred import center_applications
from datamill.platforms.methods.transposed_ridge import Method
from datamill.platforms.scores.score_matrix import FloatArray, IntArray

#: Fewer benchmarks than these, taken for the application in turn, say nothing about errors.
FEWEST_TAKEN = 4
#: The members of the ensemble.
ENSEMBLE_METHODS: tuple[Method, ...] = tuple(MEMBERS.values())
#: The step of numerical derivatives of logarithms: large against rounding, small against patterns.
_STEP = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleInference:
    """One application on m targets, in logarithms.

    `logs` are predicted; `sizes` the sizes of error that are expected, to which `spread` belongs: errors of
    the P pseudo-applications on the targets (P × m, NaN where unknown), ln(predicted / true), divided by the
    sizes that were expected of them. `errors` are the same not divided, and `own_sizes` (P × m) these sizes.
    `noise` is the standard deviation that the application's and the suite's own noise, and gaps of the suite,
    bring to each target. `weights` are those of members. `by_machine` (m × k) and `by_benchmark` (m × p) are
    derivatives of `logs` by logarithms of the application's times, and of the target's scores.
    """

    logs: FloatArray
    sizes: FloatArray
    spread: FloatArray
    errors: FloatArray
    own_sizes: FloatArray
    noise: FloatArray
    weights: FloatArray
    taken: IntArray
    by_machine: FloatArray
    by_benchmark: FloatArray


def infer_application(
    logs: FloatArray,
    observed: NDArray[np.bool_],
    times: FloatArray,
    times_noise: FloatArray | None = None,
    suite_noise: float = 0.0,
    *,
    methods: Sequence[Method] = ENSEMBLE_METHODS,
) -> EnsembleInference:
    """Predict an application on the machines that follow the trained ones.

    Args:
        logs: logarithms of the suite (n × p), trained machines first, without gaps.
        observed: which of them were measured.
        times: logarithms of the application's times on the trained machines (k).
        times_noise: their standard errors; NaN or None where nothing is known of them.
        suite_noise: the standard error of a typical score of the suite, also on the logarithm.
        methods: the members; one alone is not weighed.
    """
    trained = len(times)
    pseudo = predict_pseudo_applications(logs, observed, trained, methods)
    given, members = predict_application(logs, times, methods)
    weights = weigh_members(pseudo.errors)
    found = weights @ members
    departures = expect_departures(given)
    by_machine = _differentiate_times(logs, times, weights, methods)
    by_benchmark = _differentiate_scores(logs, times, weights, methods)
    if len(pseudo.taken) < FEWEST_TAKEN:
        return _infer_from_machines(found, departures, pseudo, weights, by_machine, by_benchmark)
    errors = np.einsum("b,bpm->pm", weights, pseudo.errors)
    own = add_target_errors(pseudo.difficulty, errors, own=True)
    scale = fit_error_scale(own, errors)
    own_sizes = scale.expect(own)
    ahead = add_target_errors(describe_difficulty(given, members[:, None]), errors, own=False)
    beyond = exceed_pseudo_applications(scale, own, ahead)
    optimism = find_optimism(logs, observed, trained, pseudo.taken, errors, weights, methods)
    usual = scale.expect(ahead)[0]
    # Beyond all benchmarks nothing was learned; then an error is no larger than if the suite told nothing.
    widest = departures * float(stdtrit(max(trained - 1, 1), 0.95))
    sizes = np.fmin(usual * beyond, np.maximum(usual, np.nan_to_num(widest, nan=np.inf)))
    sizes, own_sizes = doubt_small_sizes(sizes, own_sizes, pseudo.difficulty, errors)
    own_noise = _exceed_suite_noise(times_noise, suite_noise, trained)
    noise = _spread_noise(observed[trained:], errors, pseudo.taken, by_machine, by_benchmark, own_noise)
    return EnsembleInference(
        found,
        sizes * optimism,
        errors / own_sizes,
        errors,
        own_sizes,
        noise,
        weights,
        pseudo.taken,
        by_machine,
        by_benchmark,
    )


def find_suite_error(found: EnsembleInference) -> float:
    """The median of |predicted / true − 1| over the suite's benchmarks on the targets; NaN where too few."""
    if len(found.taken) < FEWEST_TAKEN:
        return float("nan")
    return float(np.nanmedian(np.abs(np.expm1(found.errors))))


def find_half_widths(found: EnsembleInference, confidence: float) -> FloatArray:
    """Half widths of prediction intervals on the logarithm, one for each target.

    The level of the quantile is raised by 2 (1 − confidence)/P: exact conformal validity over P benchmarks
    asks that much of benchmarks whose errors are all alike on all targets. What few benchmarks were learned
    from is widened (`allow_for_few`).
    """
    if len(found.taken) < FEWEST_TAKEN:
        freedom = found.by_machine.shape[1] - 1
        critical = float(stdtrit(freedom, (1 + confidence) / 2)) if freedom else float("nan")
        return found.sizes * critical
    taken = len(found.taken)
    reach = reach_level(found, min(1.0, confidence + 2 * (1 - confidence) / taken))
    reach = reach * allow_for_few(taken, confidence)
    both: FloatArray = np.sqrt(reach**2 + (float(ndtri((1 + confidence) / 2)) * found.noise) ** 2)
    return both


def reach_level(found: EnsembleInference, level: float) -> FloatArray:
    """Return the size of error on each target that so large a share of errors does not exceed.

    Errors below a thousandth are as good as none, and count as a thousandth: a suite that predicts itself
    exactly, such as one whose machines are all alike, does not predict an application exactly.
    """
    spread = np.maximum(np.abs(found.spread), LEAST_ERROR / found.own_sizes)
    reach: FloatArray = found.sizes * float(np.quantile(spread[np.isfinite(found.spread)], level))
    return reach


def _infer_from_machines(
    found: FloatArray,
    departures: FloatArray,
    pseudo: PseudoApplications,
    weights: FloatArray,
    by_machine: FloatArray,
    by_benchmark: FloatArray,
) -> EnsembleInference:
    """Take sizes of error from the trained machines: how the application departs from the suite's mean.

    The suite has too few benchmarks to take them for the application. Spreads are empty.
    """
    targets = len(found)
    nothing = np.empty((0, targets))
    return EnsembleInference(
        found,
        departures,
        nothing,
        nothing,
        nothing,
        np.zeros(targets),
        weights,
        pseudo.taken,
        by_machine,
        by_benchmark,
    )


def _differentiate_times(
    logs: FloatArray, times: FloatArray, weights: FloatArray, methods: Sequence[Method]
) -> FloatArray:
    """Return derivatives of predictions by logarithms of the application's times (m × k), by differences."""
    trained = len(times)
    steps = np.concatenate([_STEP * np.eye(trained), -_STEP * np.eye(trained)])
    suites = np.broadcast_to(logs, (2 * trained, *logs.shape))
    predicted = np.einsum(
        "b,bjm->jm", weights, predict_members(center_applications(suites, times + steps), methods)
    )
    found: FloatArray = (predicted[:trained] - predicted[trained:]).T / (2 * _STEP)
    return found


def _differentiate_scores(
    logs: FloatArray, times: FloatArray, weights: FloatArray, methods: Sequence[Method]
) -> FloatArray:
    """Return derivatives of each target's prediction by logarithms of its own scores (m × p).

    All targets are moved at once; what one target's scores do to another's prediction is left aside.
    """
    trained, count = len(times), logs.shape[1]
    suites = np.repeat(logs[None], 2 * count, axis=0)
    for column in range(count):
        suites[column, trained:, column] += _STEP
        suites[count + column, trained:, column] -= _STEP
    predicted = np.einsum(
        "b,bjm->jm",
        weights,
        predict_members(center_applications(suites, times[None]), methods),
    )
    found: FloatArray = (predicted[:count] - predicted[count:]).T / (2 * _STEP)
    return found


def _exceed_suite_noise(times_noise: FloatArray | None, suite_noise: float, trained: int) -> FloatArray:
    """Return variances of the application's times (k) beyond those of the suite's scores, 0 where unknown.

    Noise like the suite's is in the errors of the pseudo-applications already.
    """
    if times_noise is None:
        return np.zeros(trained)
    variances: FloatArray = np.nan_to_num(times_noise) ** 2
    known = variances[np.isfinite(times_noise)]
    mean = float(known.mean()) if len(known) else 0.0
    return variances * max(0.0, 1 - suite_noise**2 / mean) if mean > 0 else np.zeros(trained)


def _spread_noise(
    observed: NDArray[np.bool_],
    errors: FloatArray,
    taken: IntArray,
    by_machine: FloatArray,
    by_benchmark: FloatArray,
    own_noise: FloatArray,
) -> FloatArray:
    """Return standard deviations of predictions from noise of the application's times and from gaps.

    Noise (variances, k) is on the trained machines, and as large on the target, where the value that would be
    measured is predicted. A score that the target lacks was filled in; its error has the size that the
    pseudo-application of that benchmark has.
    """
    known = own_noise[own_noise > 0]
    variance = (by_machine**2) @ own_noise + (float(known.mean()) if len(known) else 0.0)
    sizes = np.full(by_benchmark.shape[1], np.sqrt(np.nanmean(errors**2)))
    for row, column in enumerate(taken):
        known = errors[row][np.isfinite(errors[row])]
        if len(known):
            sizes[column] = np.sqrt((known**2).mean())
    variance += ((by_benchmark * sizes) ** 2 * ~observed).sum(axis=1)
    return np.sqrt(variance)

"""Series cut into segments of constant mean: the best cut, and the penalty at which it is none."""

from __future__ import annotations

import numpy as np

from datamill.analysis.model_data.cells import FloatArray


def find_needed_penalty(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The least penalty at which the best cut of each series (R × K) is none (Dinkelbach's method).

    It is the largest mean gain of a cut over all ways to cut: from a lower bound, cut at the penalty
    so far, and take the mean gain of a cut that was found, until none gains more.
    """
    sums = _accumulate(values, weights)
    mass, moment = (part[:, 1:-1] for part in sums)
    single = moment**2 / mass + (sums[1][:, -1:] - moment) ** 2 / (sums[0][:, -1:] - mass)
    penalty: FloatArray = np.max(single, axis=1)
    active = np.arange(values.shape[0])
    while active.size:
        gain, cuts = _partition((sums[0][active], sums[1][active]), penalty[active])
        better = cuts > 0
        mean_gain = np.divide(gain, cuts, out=np.zeros_like(gain), where=better)
        grew = better & (mean_gain > penalty[active] * (1 + 1e-12))
        penalty[active[grew]] = mean_gain[grew]
        active = active[grew]
    return penalty


def _accumulate(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of weights and of weighted values up to each place (R × K + 1), values about their mean."""
    middle = np.sum(weights * values, axis=1, keepdims=True) / np.sum(weights, axis=1, keepdims=True)
    zero = np.zeros((values.shape[0], 1))
    return (
        np.concatenate((zero, np.cumsum(weights, axis=1)), axis=1),
        np.concatenate((zero, np.cumsum(weights * (values - middle), axis=1)), axis=1),
    )


def _partition(sums: tuple[FloatArray, FloatArray], penalty: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the best cut of each series explains without its penalties, and how many cuts it has."""
    mass, moment = sums
    rows, count = mass.shape[0], mass.shape[1] - 1
    best = np.full((rows, count + 1), -np.inf)
    best[:, 0] = penalty
    gains = np.zeros((rows, count + 1))
    cuts = np.zeros((rows, count + 1))
    cuts[:, 0] = -1
    every = np.arange(rows)
    for end in range(1, count + 1):
        explained = (moment[:, end, None] - moment[:, :end]) ** 2 / (mass[:, end, None] - mass[:, :end])
        score = best[:, :end] + explained - penalty[:, None]
        # Of equals the earliest start, which has the fewest cuts.
        start = np.argmax(score, axis=1)
        best[:, end] = score[every, start]
        gains[:, end] = gains[every, start] + explained[every, start]
        cuts[:, end] = cuts[every, start] + 1
    return gains[:, -1], cuts[:, -1]


def cut_series(values: FloatArray, weights: FloatArray, penalty: float) -> list[int]:
    """Indices at which segments of the best cut begin, the first of all left out."""
    mass, moment = (part[0] for part in _accumulate(values[None], weights[None]))
    count = values.size
    best = np.full(count + 1, -np.inf)
    best[0] = 0.0
    origin = np.zeros(count + 1, dtype=np.int64)
    for end in range(1, count + 1):
        score = best[:end] + (moment[end] - moment[:end]) ** 2 / (mass[end] - mass[:end]) - penalty
        origin[end] = int(np.argmax(score))
        best[end] = score[origin[end]]
    cuts: list[int] = []
    at = int(origin[count])
    while at > 0:
        cuts.append(at)
        at = int(origin[at])
    return cuts[::-1]

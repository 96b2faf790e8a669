"""Candidate machines in the order of their speed for an application, and how sure the order is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import list_first
from datamill.platforms.ensemble.error_scale import average_errors
from datamill.platforms.ensemble.inference import EnsembleInference
from datamill.platforms.prediction.arranged import Arranged
from datamill.platforms.prediction.held_out import add_check
from datamill.platforms.prediction.infer_platforms import ENSEMBLE, infer_platforms
from datamill.platforms.prediction.platform_prediction import LIMIT, MachinePrediction
from datamill.platforms.ranking.machine_ranking import MachineRanking, MisorderedPair, RankedMachine
from datamill.platforms.scores.score_matrix import ApplicationTimes, FloatArray, ScoreMatrix

#: Draws of errors for what no formula gives: which is the best of all, whether the whole order is right.
_DRAWS = 4000
#: Smooths the errors of the suite's few benchmarks into a distribution, in units of the expected size.
_SMOOTHING = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Candidates in their order: logarithms of times, and errors that may go with them (draws × c)."""

    names: tuple[str, ...]
    logs: FloatArray
    errors: FloatArray


def rank_machines(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    *,
    candidates: Sequence[str] | None = None,
    prices: Mapping[str, float] | None = None,
    confidence: float = 0.9,
    limit: float = LIMIT,
    strategy: str = ENSEMBLE,
    seed: int = 0,
) -> MachineRanking:
    """Rank machines by predicted time; those that measured the application take part with what they measured.

    Probabilities come from the errors that the same method makes for the suite's benchmarks: each of these,
    taken for the application, gives the errors of all machines together, so that machines which are
    mispredicted alike keep their order.

    Args:
        matrix: the suite.
        application: where it was measured.
        candidates: machines to rank; all of the suite by default.
        prices: the price of machines, all in one unit.
        confidence: that of the intervals.
        limit: as in `predict_platforms`.
        strategy: as in `predict_platforms`.
        seed: draws errors.

    Raises:
        InputError: as `predict_platforms`; a candidate is unknown, or a price not above 0.
    """
    plain, found, arranged = infer_platforms(
        matrix, application, confidence=confidence, limit=limit, strategy=strategy
    )
    prediction = add_check(plain, matrix, application)
    asked = tuple(matrix.machines if candidates is None else dict.fromkeys(candidates))
    for name in asked:
        if name not in matrix.machines:
            raise InputError(
                f'the suite has no machine "{name}"',
                where=argument("candidates", verb="platforms rank"),
                remedy=f"It has {list_first(sorted(matrix.machines), 8)}.",
            )
    for name, price in (prices or {}).items():
        if not price > 0:
            raise InputError(
                f"the price of {name} is {price}",
                where=argument("prices", verb="platforms rank"),
                remedy="Prices are numbers above 0.",
            )
    by_name = {item.machine: item for item in prediction.predictions}
    refused = tuple(by_name[name] for name in asked if name in by_name and by_name[name].refused)
    score = application.kind == "score"
    measured = {
        name: _tell_measured(name, log, noise, confidence, score=score)
        for name, log, noise in zip(arranged.trained, arranged.times, arranged.times_noise, strict=True)
    }
    names = [name for name in asked if name in measured or (name in by_name and not by_name[name].refused)]
    if len(asked) < 2:
        raise InputError(
            f"{list_first(asked, 1)} is the only candidate: there is no order",
            where=argument("candidates", verb="platforms rank"),
            remedy="Name two candidates or more.",
        )
    if len(names) < 2:
        raise InputError(
            f"{len(names)} of {len(asked)} candidates can be ranked; predictions for the others are refused",
            remedy="Measure the application on more machines, or on others (datamill platforms choose).",
        )
    drawn = _draw_errors(arranged, found, names, seed)
    order = np.argsort(drawn.logs, kind="stable")
    times = drawn.logs - drawn.errors
    first = times == times.min(axis=1, keepdims=True)
    fastest = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    before = _compare(drawn)
    ranked = []
    values = _value(drawn, prices or {})
    for place, index in enumerate(order):
        name = names[index]
        following = order[place + 1] if place + 1 < len(order) else None
        ranked.append(
            RankedMachine(
                prediction=measured[name] if name in measured else by_name[name],
                measured=name in measured,
                best=float(fastest[index]),
                before_next=float("nan") if following is None else float(before[index, following]),
                price=float((prices or {}).get(name, np.nan)),
                value=float(values[index]),
            )
        )
    upper = np.triu_indices(len(names), 1)
    sure = before[np.ix_(order, order)][upper]
    sorted_times = times[:, order]
    return MachineRanking(
        prediction=prediction,
        machines=tuple(ranked),
        refused=refused,
        misordered=_find_misordered(matrix, drawn, before),
        right_order=float((np.diff(sorted_times, axis=1) >= 0).all(axis=1).mean()),
        pair_order=float(sure.mean()),
    )


def _tell_measured(
    name: str, log: float, noise: float, confidence: float, *, score: bool
) -> MachinePrediction:
    """A measured time as a prediction without error but its own noise."""
    width = float(ndtri((1 + confidence) / 2)) * (0.0 if np.isnan(noise) else noise)
    sign = -1 if score else 1
    middle = sign * log
    return MachinePrediction(
        name, float(np.exp(middle)), float(np.exp(middle - width)), float(np.exp(middle + width)), ()
    )


def _draw_errors(
    arranged: Arranged, found: EnsembleInference | None, names: Sequence[str], seed: int
) -> _Candidates:
    """Draw errors ln(predicted / true) of all candidates together.

    Each draw takes one of the suite's benchmarks with its errors on all targets, in units of the sizes
    expected, and adds a little of its own to each machine.
    """
    random = np.random.default_rng(seed)
    trained, targets = arranged.trained, arranged.targets
    logs = np.empty(len(names))
    errors = np.zeros((_DRAWS, len(names)))
    rows = None
    if found is not None and len(found.spread):
        rows = random.integers(len(found.spread), size=_DRAWS)
        typicals = average_errors(found.spread)
    for column, name in enumerate(names):
        if name in trained:
            place = trained.index(name)
            logs[column] = arranged.times[place]
            noise = arranged.times_noise[place]
            errors[:, column] = 0.0 if np.isnan(noise) else noise * random.standard_normal(_DRAWS)
            continue
        assert found is not None
        place = targets.index(name)
        logs[column] = found.logs[place]
        if rows is None:
            errors[:, column] = found.sizes[place] * random.standard_normal(_DRAWS)
            continue
        unit, typical = found.spread[rows, place], typicals[place]
        gaps = ~np.isfinite(unit)
        unit[gaps] = typical * random.standard_normal(int(gaps.sum()))
        # Shrunk, so that what is added for smoothness does not widen the distribution.
        shrunk = (unit + _SMOOTHING * typical * random.standard_normal(_DRAWS)) / np.hypot(1, _SMOOTHING)
        errors[:, column] = found.sizes[place] * shrunk + found.noise[place] * random.standard_normal(_DRAWS)
    return _Candidates(tuple(names), logs, errors)


def _compare(drawn: _Candidates) -> FloatArray:
    """Probabilities (c × c) that the row's machine is faster than the column's."""
    count = len(drawn.names)
    found = np.full((count, count), 0.5)
    for row in range(count):
        for column in range(row + 1, count):
            apart = drawn.errors[:, row] - drawn.errors[:, column]
            gap = drawn.logs[column] - drawn.logs[row]
            # A normal kernel over the draws: a probability that draws alone would put at 0 or 1 is near it.
            width = max(float(apart.std()) * len(apart) ** -0.2, 1e-9)
            found[row, column] = float(ndtr((gap + apart) / width).mean())
            found[column, row] = 1 - found[row, column]
    return found


def _value(drawn: _Candidates, prices: Mapping[str, float]) -> FloatArray:
    """Speed per price relative to the best; NaN where a candidate has no price."""
    values = np.array(
        [
            np.exp(-log) / prices[name] if name in prices else np.nan
            for name, log in zip(drawn.names, drawn.logs, strict=True)
        ]
    )
    if np.isnan(values).all():
        return values
    relative: FloatArray = values / np.nanmax(values)
    return relative


def _find_misordered(
    matrix: ScoreMatrix, drawn: _Candidates, before: FloatArray
) -> tuple[MisorderedPair, ...]:
    """Pairs that the suite's geometric mean orders the other way round, surest first."""
    rows = [matrix.machines.index(name) for name in drawn.names]
    known = np.isfinite(matrix.seconds[rows])
    columns = np.flatnonzero(known.all(axis=0))
    if not len(columns):
        columns = np.arange(known.shape[1])
    levels = np.nanmean(np.log(matrix.seconds[rows][:, columns]), axis=1)
    pairs = []
    for first in range(len(rows)):
        for second in range(len(rows)):
            if drawn.logs[first] < drawn.logs[second] and levels[first] > levels[second]:
                pairs.append(
                    MisorderedPair(
                        drawn.names[first],
                        drawn.names[second],
                        float(np.exp(drawn.logs[second] - drawn.logs[first])),
                        float(np.exp(levels[second] - levels[first])),
                        float(before[first, second]),
                    )
                )
    return tuple(sorted(pairs, key=lambda pair: -pair.probability))

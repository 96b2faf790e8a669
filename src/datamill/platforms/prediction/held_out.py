"""Machines that measured the application, each predicted from the others: a check against real times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from datamill.platforms.prediction.check_errors import CheckErrors, refuse_by_check
from datamill.platforms.prediction.infer_platforms import infer_platforms
from datamill.platforms.prediction.platform_prediction import (
    Carrier,
    HeldOutMachine,
    MachinePrediction,
    PlatformPrediction,
)
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix

#: Machines that are held out at most, and machines that an application needs before one can be.
_MOST_HELD_OUT, _FEWEST = 25, 3
#: The ratio of the check's errors to those expected of them counts by its square root, within these bounds:
#: of the few machines that measured an application half of such a ratio, on the logarithm, is chance.
_TRUST, _LEAST, _MOST = 0.5, 0.25, 9.0


@dataclass(frozen=True, slots=True)
class MeasuredCheck:
    """Machines held out one after the other; `predictions` has one record for each of them."""

    machines: tuple[HeldOutMachine, ...]
    predictions: tuple[PlatformPrediction, ...]


def add_check(
    prediction: PlatformPrediction, matrix: ScoreMatrix, application: ApplicationTimes
) -> PlatformPrediction:
    """Return a prediction with the check on measured machines, which its expected errors then heed.

    The suite's benchmarks tell how large errors are for an application as hard as this one seems. Where the
    check's errors are another size than was expected of them, so may those on other machines be: expected
    errors are multiplied by the square root of that ratio. Intervals stay as they are. Where the check errs
    by more than the limit too often for chance, every machine is refused.

    Where every machine measured the application, what the prediction rests on is that of the check.
    """
    check = check_measured(
        matrix,
        application,
        prediction.trained,
        confidence=prediction.confidence,
        limit=prediction.limit,
        strategy=prediction.strategy,
    )
    errors = CheckErrors.gather(replace(prediction, check=check.machines))
    # Where it is not predictable no error is expected of predictions that nobody is to rely on.
    factor = math.nan if errors is not None and errors.misses_limit else _compare_check(check.machines)
    if not prediction.predictions and check.machines:
        return _summarize_check(prediction, check, factor)
    checked = replace(
        prediction,
        predictions=tuple(_heed(item, factor) for item in prediction.predictions),
        check=check.machines,
    )
    return refuse_by_check(checked)


def check_measured(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    trained: Sequence[str],
    *,
    confidence: float,
    limit: float,
    strategy: str,
) -> MeasuredCheck:
    """Predict each machine that the application is predicted from, from the others.

    Of more than 25 machines, 25 evenly over their order are held out. No machine is where there are fewer
    than three.

    Raises:
        InputError: as `infer_platforms`.
    """
    names = tuple(name for name in application.machines if name in trained)
    count = len(names)
    if count < _FEWEST:
        return MeasuredCheck((), ())
    suite = matrix.keep_machines(names)
    own = [application.machines.index(name) for name in names]
    seconds, noise = application.seconds[own], application.noise[own]
    places = np.unique(np.linspace(0, count - 1, min(count, _MOST_HELD_OUT)).round().astype(int))
    machines, predictions = [], []
    for place in places:
        kept = np.arange(count) != place
        others = replace(
            application,
            machines=tuple(name for name, stays in zip(names, kept, strict=True) if stays),
            seconds=seconds[kept],
            noise=noise[kept],
        )
        found, _, _ = infer_platforms(suite, others, confidence=confidence, limit=limit, strategy=strategy)
        value = float(seconds[place])
        machines.append(
            HeldOutMachine(found.predictions[0], value if application.kind == "seconds" else 1 / value)
        )
        predictions.append(found)
    return MeasuredCheck(tuple(machines), tuple(predictions))


def _compare_check(check: Sequence[HeldOutMachine]) -> float:
    """By what factor the check's errors are larger than the suite lets expect; 1 without a check.

    The square root of the median ratio of an error to that expected there, refused ones included: they are
    predictions too, and few machines measured the application.
    """
    ratios = [
        abs(item.error) / item.prediction.expected_error
        for item in check
        if math.isfinite(item.error) and item.prediction.expected_error > 0
    ]
    return float(min(max(median(ratios), _LEAST), _MOST) ** _TRUST) if ratios else 1.0


def _heed(item: MachinePrediction, factor: float) -> MachinePrediction:
    return replace(item, expected_error=factor * item.expected_error)


def _summarize_check(
    prediction: PlatformPrediction, check: MeasuredCheck, factor: float
) -> PlatformPrediction:
    """What a prediction from all machines would rest on, where none is left to predict.

    Shares are means over the predictions of the check, the suite's error is their median.
    """
    warnings = dict.fromkeys(warning for found in check.predictions for warning in found.warnings)
    return replace(
        prediction,
        benchmarks=_average([found.benchmarks for found in check.predictions]),
        machines=_average([found.machines for found in check.predictions]),
        suite_error=median(found.suite_error for found in check.predictions),
        check=tuple(replace(item, prediction=_heed(item.prediction, factor)) for item in check.machines),
        warnings=(
            *dict.fromkeys((*prediction.warnings, *warnings)),
            "Every machine measured the application: errors and shares are those of the check.",
        ),
    )


def _average(shares: Sequence[Sequence[Carrier]]) -> tuple[Carrier, ...]:
    sums: dict[str, float] = {}
    for item in (carrier for found in shares for carrier in found):
        sums[item.name] = sums.get(item.name, 0.0) + item.share
    total = sum(sums.values()) or 1.0
    found = [Carrier(name, value / total) for name, value in sums.items()]
    return tuple(sorted(found, key=lambda item: -item.share))

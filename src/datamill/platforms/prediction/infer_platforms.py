"""The ensemble's prediction of one application as people take it: values, intervals, refusals, warnings."""

from __future__ import annotations

import numpy as np

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_level
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.ensemble.inference import (
    FEWEST_TAKEN,
    EnsembleInference,
    find_half_widths,
    find_suite_error,
    infer_application,
)
from datamill.platforms.prediction.arranged import Arranged, arrange_application
from datamill.platforms.prediction.platform_prediction import (
    Carrier,
    MachinePrediction,
    PlatformPrediction,
    Refusal,
)
from datamill.platforms.prediction.refusals import find_refusals
from datamill.platforms.prediction.risks import find_risks
from datamill.platforms.scores.score_matrix import ApplicationTimes, FloatArray, ScoreMatrix
from datamill.platforms.strategies.from_methods import find_methods
from datamill.platforms.strategies.registry import find_strategy

#: As it is named in answers.
ENSEMBLE = "ensemble"


def infer_platforms(
    matrix: ScoreMatrix,
    application: ApplicationTimes,
    *,
    confidence: float,
    limit: float,
    strategy: str,
) -> tuple[PlatformPrediction, EnsembleInference | None, Arranged]:
    """Return a prediction, not yet checked, with the inference that it rests on.

    The inference is None where no target can be predicted. Arguments as `predict_platforms`.

    Raises:
        InputError: as `arrange_application`, or a number is outside its range.
    """
    if not 0 < confidence < 1:
        raise InputError(f"the confidence {confidence} does not lie between 0 and 1")
    if limit <= 0:
        raise InputError(f"the limit {limit} is not above 0")
    arranged = arrange_application(matrix, application)
    rows = [matrix.machines.index(name) for name in (*arranged.trained, *arranged.targets)]
    facts = {name: values[rows] for name, values in matrix.facts.items()}
    methods = find_methods(find_strategy(strategy), facts)
    found = None
    predictions: dict[str, MachinePrediction] = {}
    if arranged.targets:
        found = infer_application(
            arranged.logs,
            arranged.observed,
            arranged.times,
            arranged.times_noise,
            arranged.suite_noise,
            methods=methods,
        )
        predictions = _list_predictions(arranged, found, confidence, limit, application.kind == "score")
    for name, count in arranged.unusable:
        few = f"only {count_nouns(count, 'score')}" if count else "no score"
        sentence = f"the suite has {few} of it that can be compared with the machines that measured it"
        nothing = float("nan")
        predictions[name] = MachinePrediction(name, nothing, nothing, nothing, (Refusal("scores", sentence),))
    order = [name for name in matrix.machines if name in predictions]
    prediction = PlatformPrediction(
        application=application.name,
        kind=application.kind,
        confidence=confidence,
        predictions=tuple(predictions[name] for name in order),
        trained=arranged.trained,
        benchmarks=() if found is None else _share(arranged.benchmarks, found.by_benchmark),
        machines=() if found is None else _share(arranged.trained, found.by_machine),
        suite_error=float("nan") if found is None else find_suite_error(found),
        strategy=strategy,
        warnings=(*arranged.warnings, *_warn(arranged, found, confidence)),
        limit=limit,
    )
    return prediction, found, arranged


def _list_predictions(
    arranged: Arranged, found: EnsembleInference, confidence: float, limit: float, scores: bool
) -> dict[str, MachinePrediction]:
    """Return predictions by machine; of scores they are 1 / seconds, the ends of intervals exchanged.

    The error that is expected on a machine is half the width of the 50% interval there: half of the errors
    are larger.
    """
    refusals = find_refusals(found, arranged.benchmarks, limit=limit)
    half = find_half_widths(found, confidence)
    typical = np.expm1(find_half_widths(found, 0.5))
    risks = find_risks(found, limit=limit)
    sign = -1 if scores else 1
    return {
        name: MachinePrediction(
            name,
            float(np.exp(sign * log)),
            float(np.exp(sign * log - width)),
            float(np.exp(sign * log + width)),
            reasons,
            float(risk),
            float(error),
        )
        for name, log, width, reasons, risk, error in zip(
            arranged.targets, found.logs, half, refusals, risks, typical, strict=True
        )
    }


def _share(names: tuple[str, ...], derivatives: FloatArray) -> tuple[Carrier, ...]:
    """Shares of what carries predictions, largest first: mean absolute derivatives over the targets."""
    sizes = np.abs(derivatives).mean(axis=0)
    total = float(sizes.sum()) or 1.0
    order = np.argsort(-sizes, kind="stable")
    return tuple(Carrier(names[index], float(sizes[index]) / total) for index in order)


def _warn(arranged: Arranged, found: EnsembleInference | None, confidence: float) -> tuple[str, ...]:
    """What limits the answer."""
    warnings = []
    trained = len(arranged.trained)
    if trained < 3:
        warnings.append(
            f"Only {trained} of the suite's machines measured the application; each further one narrows "
            "the intervals."
        )
    if found is not None and len(found.taken) < FEWEST_TAKEN:
        warnings.append(
            f"The suite has {count_nouns(len(found.taken), 'benchmark')} on all machines that measured the "
            "application, copies counted once: too few to learn from them how large errors are. Intervals "
            "rest on how the application departs from the suite on the machines that measured it."
        )
    elif found is not None and len(found.taken) < 10:
        warnings.append(
            f"Intervals at {format_level(confidence)} are learned from {len(found.taken)} benchmarks; "
            "with ten or more they are surer."
        )
    return tuple(warnings)

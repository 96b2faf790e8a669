"""`platforms predict`: an application's time on machines where it was not measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.platforms.prediction.platform_prediction import MachinePrediction, PlatformPrediction
from datamill.platforms.prediction.predict_platforms import predict_platforms as predict_from_matrix
from datamill.report.figures.figure import Figure
from datamill.report.platforms.figures.prediction_figures import draw_carriers, draw_prediction
from datamill.report.platforms.json import spell_prediction
from datamill.report.platforms.prediction_statement import (
    collect_warnings,
    phrase_prediction,
    state_prediction,
)
from datamill.report.platforms.values import PlatformNotes
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_confidence, take_name
from datamill.verbs.platforms.platform_inputs import (
    ask_strategy,
    read_platform_data,
    take_limit,
    take_machines,
)

#: Level of intervals unless another one is asked for.
USUAL_CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class PredictedPlatforms(Analysis):
    """The application's predicted value on each machine, with intervals and refusals."""

    prediction: PlatformPrediction
    notes: PlatformNotes

    @property
    def predictions(self) -> tuple[MachinePrediction, ...]:
        """A prediction for each machine, in the order of the scores."""
        return self.prediction.predictions

    @property
    def title(self) -> str:
        """What was predicted."""
        return f"{self.prediction.application} on machines where it was not measured"

    @property
    def lead(self) -> tuple[str, ...]:
        """The best machine with its predicted value, or why nothing is predicted."""
        return phrase_prediction(self.prediction, self.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the predictions."""
        return collect_warnings(self.prediction, self.notes)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """A row for each machine, refusals, what carries the predictions, the method."""
        return state_prediction(self.prediction, self.notes)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_prediction(self.prediction, self.notes)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Values with intervals by machine, then what carries them."""
        return (
            partial(draw_prediction, self.prediction, self.notes),
            partial(draw_carriers, self.prediction.benchmarks, "benchmarks"),
            partial(draw_carriers, self.prediction.machines, "machines"),
        )


def predict_platforms(
    scores: Any,
    application: Any = None,
    *,
    fingerprint: Any = None,
    targets: Sequence[str] | str = (),
    machines: Any = None,
    strategy: str = "",
    confidence: float | None = None,
    limit: float | None = None,
    name: str = "",
    response: str = "",
) -> PredictedPlatforms:
    """Predict an application on every machine of `scores` that did not measure it, or on the `targets`.

    `scores` has columns machine, benchmark, seconds or score, and maybe replicate; `application` machine,
    seconds or score, and maybe replicate. Each is a file, a bundle, results of a suite, or a table in memory.
    `fingerprint` is a file that `fit_platforms(…).save` wrote, in place of the application's times.
    `machines` is a table of facts with one row a machine. `name` says which application is meant, where there
    are several, and `response` which one of a bundle's. What may well err by more than `limit`, a share
    such as 0.5 (0.25 where none is given), is refused.

    Raises:
        InputError: the data cannot be used; says what to do.
    """
    level = take_confidence(confidence) or USUAL_CONFIDENCE
    data = read_platform_data(
        scores,
        application,
        fingerprint=fingerprint,
        machines=machines,
        name=take_name("name", name),
        response=take_name("response", response),
    )
    wanted = take_machines("targets", targets, data.matrix.machines)
    measured = set(data.application.machines)
    for item in wanted:
        if item in measured:
            raise InputError(
                f"{data.application.name} was measured on {item}: there is nothing to predict",
                remedy=f"Take it out of the times, or out of {argument('targets')}.",
            )
    prediction = predict_from_matrix(
        data.matrix,
        data.application,
        confidence=level,
        limit=take_limit(limit),
        **ask_strategy(strategy, data.strategy),
    )
    if wanted:
        chosen = tuple(item for item in prediction.predictions if item.machine in wanted)
        prediction = replace(prediction, predictions=chosen)
    return PredictedPlatforms(prediction, data.notes)

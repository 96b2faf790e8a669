"""`predict`: what a fitted model says of levels between those that were measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, Unpack, get_args

from datamill.analysis.prediction.asked_points import Point
from datamill.analysis.prediction.predict_responses import predict_responses
from datamill.analysis.prediction.prediction import Predictions, Scale
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.report.figures.figure import Figure
from datamill.report.predict.figure import draw_predictions
from datamill.report.predict.json import spell_predictions
from datamill.report.predict.statement import state_predictions, word_predictions
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis, Asked, build_question
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import take_alpha, take_confidence, take_level_lists
from datamill.verbs.inputs.data import load_asked_table, locate_errors, refuse_hardware

#: A level, or several, for each of some factors.
Levels: TypeAlias = Mapping[str, str | float | Sequence[str | float]]


@dataclass(frozen=True, slots=True, eq=False)
class Predicted(Analysis):
    """Predictions with their intervals, and the model behind them."""

    found: Predictions

    @property
    def title(self) -> str:
        """What was predicted."""
        return f"Prediction of {self.found.observations.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Each prediction in a sentence, and in what the model is a straight line."""
        return word_predictions(self.found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the predictions."""
        return self.found.warnings

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return tuple((factor.name, factor.levels) for factor in self.found.observations.cells.factors)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """The predictions as a table; `verbose` is the same."""
        del verbose
        return state_predictions(self.found, describe_response(self.found.observations))

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_predictions(self.found)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The lines with their bands, where the model has a slope."""
        return (partial(draw_predictions, self.found),) if self.found.slopes else ()


def predict(
    data: Any,
    *,
    at: Levels | Sequence[Levels],
    scale: Mapping[str, str] | None = None,
    extrapolate: bool = False,
    confidence: float | None = None,
    alpha: float | None = None,
    **asked: Unpack[Asked],
) -> Predicted:
    """Predict a response at levels of factors, also between those that were measured.

    `data` is as in `anova`. `at` has a level, or several, for each factor; a factor without one is taken at
    each of its levels. Levels that are numbers may have units (`125MB`). `scale` says of a numeric factor
    whether
    the response is a straight line in it ("linear") or in its logarithm ("log"), where it is not to be
    chosen by the data; and "log" of the response itself that its logarithm is modelled.

    Raises:
        InputError: a level lies beyond those measured, unless `extrapolate`; or the data cannot be used.
    """
    confidence = take_confidence(confidence)
    alpha = None if alpha is None else take_alpha(alpha)
    points = _take_points(at)
    scales = _take_scales(scale)
    question = build_question(asked, predict)
    loaded = load_asked_table(data, question)
    with locate_errors(loaded.source):
        found = predict_responses(
            loaded.table,
            loaded.question,
            points,
            scales=scales,
            extrapolate=extrapolate,
            confidence=loaded.choose_confidence(confidence),
            alpha=loaded.choose_alpha(alpha, 0.01),
            levels=loaded.levels,
            usual_order=loaded.usual_order,
            source=loaded.source,
        )
        refuse_hardware(found.observations, loaded.question)
    return Predicted(found)


def _take_points(given: object) -> tuple[Point, ...]:
    """The points asked for: one mapping of factors to levels, or several.

    Raises:
        InputError: there is none.
    """
    several = [given] if isinstance(given, Mapping) else given
    points = (
        [dict(take_level_lists("at", point)) for point in several]
        if isinstance(several, Sequence) and not isinstance(several, str)
        else []
    )
    if not any(points):
        raise InputError(
            "no level is asked for", remedy=f"Name at least one, such as {argument('at', 'size=125MB')}."
        )
    return tuple(points)


def _take_scales(given: object) -> dict[str, Scale]:
    """The scale of each factor that has a given one.

    Raises:
        InputError: it is neither "linear" nor "log".
    """
    found: dict[str, Scale] = {}
    for name, scales in take_level_lists("scale", given):
        wanted = next((item for item in get_args(Scale) if scales == (item,)), None)
        if wanted is None:
            raise InputError(
                f"the scale of {name} is {' and '.join(scales)}, which is not a choice",
                remedy=f"Choose {' or '.join(get_args(Scale))}.",
            )
        found[name] = wanted
    return found

"""Predictions in sentences and as a table."""

from __future__ import annotations

from datamill.analysis.prediction.prediction import Prediction, Predictions, Slope
from datamill.experiment.messages.numbers import (
    format_count,
    format_figures,
    format_given,
    format_level,
    format_p,
    format_share,
)
from datamill.report.tables.statement import BLANK, Paragraph, Part
from datamill.report.tables.table import Table, build_table
from datamill.report.tests.statement import ResponseNotes, list_notes
from datamill.report.words.scales import Scale, choose_scale, round_interval

#: More predictions than this have no sentence each: the table has them.
_MOST_SENTENCES = 4


def scale_predictions(found: Predictions) -> Scale:
    """Scale that suits the middle one of the predictions, by magnitude."""
    sizes = sorted(abs(item.value.estimate) for item in found.predictions)
    return choose_scale(found.observations.unit, sizes[len(sizes) // 2])


def word_predictions(found: Predictions) -> tuple[str, ...]:
    """The predictions in sentences, then in what the model is a straight line and why."""
    scale = scale_predictions(found)
    several = found.predictions[:_MOST_SENTENCES]
    said = [_phrase_prediction(item, found, scale) for item in several]
    if len(found.predictions) > len(several):
        said.append(f"{len(found.predictions) - len(several)} more predictions stand in the table.")
    return (*said, *(_phrase_slope(slope, found) for slope in found.slopes))


def _phrase_prediction(item: Prediction, found: Predictions, scale: Scale) -> str:
    response, level = found.observations.response, format_level(found.confidence)
    where = ", ".join(f"{name} {value}" for name, value in item.levels)
    estimate, low, high, below, above = _spell(item, scale)
    unit = f" {scale.unit}" if scale.unit else ""
    middle = "median" if found.observations.transform else "mean"
    one = "build" if found.observations.units == "builds" else "trial"
    return (
        f"At {where}, the {middle} of {response} is predicted to be {estimate}{unit} ({level} confidence "
        f"interval {low} to {high}); a single further {one} is expected between {below} and {above}{unit} "
        f"({level} prediction interval)."
    )


def _phrase_slope(slope: Slope, found: Predictions) -> str:
    response = found.observations.response
    named = f"the logarithm of {response}" if found.observations.transform else response
    against = f"the logarithm of {slope.factor}" if slope.scale == "log" else slope.factor
    low, high = (f"{format_given(end)}{slope.unit}" for end in (slope.low, slope.high))
    line = f"a straight line in {against}: {slope.why}."
    return f"Between its levels {low} and {high}, {named} is taken for {line}"


def _spell(item: Prediction, scale: Scale) -> tuple[str, ...]:
    """Estimate, confidence interval and prediction interval as numbers."""
    error = (item.value.high - item.value.low) / 2 * scale.factor
    middle, new = (round_interval(value, scale.factor, error=error) for value in (item.value, item.new))
    return middle.estimate, middle.low, middle.high, new.low, new.high


def tabulate_predictions(found: Predictions) -> Table:
    """A row for each combination of levels: estimate, confidence interval, prediction interval."""
    scale = scale_predictions(found)
    names = [name for name, _ in found.predictions[0].levels]
    unit = f" ({scale.unit})" if scale.unit else ""
    level = format_level(found.confidence)
    middle = "median" if found.observations.transform else "mean"
    rows = []
    for item in found.predictions:
        estimate, low, high, below, above = _spell(item, scale)
        mark = " beyond" if item.outside else ""
        levels = [value for _, value in item.levels]
        rows.append((*levels, f"{estimate}{mark}", f"{low} to {high}", f"{below} to {above}"))
    headers = (*names, f"{middle}{unit}", f"{level} confidence", f"{level} prediction")
    return build_table(headers, rows, len(names))


def state_predictions(found: Predictions, notes: ResponseNotes) -> tuple[Part, ...]:
    """The sentences, the table, and by what model."""
    parts: list[Part] = [Paragraph(text) for text in word_predictions(found)]
    parts += [BLANK, tabulate_predictions(found), BLANK, Paragraph(_phrase_method(found), "  ")]
    parts += list_notes(notes)
    parts += [Paragraph(f"Warning: {warning}.", "  ") for warning in found.warnings]
    return tuple(parts)


def _phrase_method(found: Predictions) -> str:
    model = found.model
    text = (
        f"n = {format_count(model.n)}. R² = {format_share(model.r_squared)}; error mean square "
        f"{format_figures(model.error_ms, 4)} on {format_count(model.error_df)} degrees of freedom. "
    )
    test = found.misfit.test
    if test is not None:
        text += f"Lack of fit: p = {format_p(test.p)}. "
    if found.blocks:
        text += f"Averaged over {', '.join(found.blocks)}. "
    return f"{text}Method: Student's intervals of a linear model; {model.method}."

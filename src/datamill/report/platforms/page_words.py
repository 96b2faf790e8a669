"""From a prediction to what a page of the coordinator shows of it."""

from __future__ import annotations

import math

from datamill.platforms.prediction.platform_prediction import PlatformPrediction
from datamill.report.platforms.prediction_statement import collect_warnings, phrase_prediction
from datamill.report.platforms.shown_prediction import ShownMachine, ShownPrediction
from datamill.report.platforms.values import (
    PlatformNotes,
    ValueWords,
    choose_words,
    count_data,
    order_predictions,
)
from datamill.report.platforms.verdict import list_refusals, phrase_carriers, phrase_check, phrase_error

#: What is left free at both ends of the picture's axis, in per cent: half a mark.
_MARGIN = 2.0


def phrase_page(prediction: PlatformPrediction, notes: PlatformNotes) -> ShownPrediction:
    """Return predictions and measured values as a page shows them, the best machine first."""
    words = choose_words(prediction, notes.measured)
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    rows = [(item.machine, False, item.seconds, item.low, item.high) for item in kept]
    rows += [(item.machine, True, item.value, item.value, item.value) for item in notes.measured]
    sign = 1 if prediction.kind == "seconds" else -1
    rows.sort(key=lambda row: sign * row[2])
    basis = (
        phrase_carriers("benchmarks", prediction.benchmarks),
        phrase_carriers("machines", prediction.machines),
        phrase_check(prediction),
        phrase_error(prediction),
        f"{count_data(notes)}. Method: {prediction.strategy}.",
    )
    ends = [end for *_, low, high in rows for end in (low, high) if math.isfinite(end)]
    return ShownPrediction(
        lead=phrase_prediction(prediction, notes),
        head=words.head,
        level=words.level,
        axis=_phrase_axis(words, min(ends), max(ends)) if ends else "",
        machines=tuple(_show(words, row, min(ends, default=1.0), max(ends, default=1.0)) for row in rows),
        refusals=tuple(list_refusals(refused, prediction.application)),
        basis=tuple(sentence for sentence in basis if sentence),
        warnings=collect_warnings(prediction, notes),
    )


def _phrase_axis(words: ValueWords, low: float, high: float) -> str:
    unit = f" {words.scale.unit}" if words.scale.unit else ""
    return f"a logarithmic axis from {words.spell(low)} to {words.spell(high)}{unit}"


def _show(
    words: ValueWords, row: tuple[str, bool, float, float, float], least: float, most: float
) -> ShownMachine:
    machine, measured, value, low, high = row
    text, interval = (words.spell(value), "") if measured else words.spell_ends(value, low, high)
    length = math.log(most / least)

    def place(number: float) -> float:
        if not math.isfinite(number) or length <= 0:
            return 50.0
        return round(_MARGIN + (100 - 2 * _MARGIN) * math.log(number / least) / length, 2)

    return ShownMachine(machine, measured, text, interval, place(low), place(value), place(high))

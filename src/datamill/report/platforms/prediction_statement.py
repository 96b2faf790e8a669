"""Predictions in sentences and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.prediction.platform_prediction import MachinePrediction, PlatformPrediction
from datamill.report.platforms.interval_lines import draw_interval_lines
from datamill.report.platforms.values import (
    PlatformNotes,
    ValueWords,
    choose_words,
    count_data,
    order_predictions,
    quote,
)
from datamill.report.platforms.verdict import (
    list_refusals,
    phrase_carriers,
    phrase_check,
    phrase_error,
    phrase_refused,
    phrase_risk,
    phrase_verdict,
)
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part, list_paragraphs
from datamill.report.tables.table import build_table
from datamill.report.tables.text import WIDTH, lay_out_table

_MOST_ROWS = 40
#: Characters of a line with an interval, and of the narrowest that is still a picture.
_LINE, _SHORTEST_LINE = 30, 12


def phrase_prediction(prediction: PlatformPrediction, notes: PlatformNotes) -> tuple[str, ...]:
    """The answer: the best machine with its predicted value, or why nothing is predicted; the verdict."""
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    application, words = prediction.application, choose_words(prediction, notes.measured)
    if not prediction.predictions:
        return (phrase_verdict(prediction),)
    if not kept:
        risk = phrase_risk(refused, prediction.limit)
        also = (f"{risk[:1].upper()}{risk[1:]}.",) if risk else ()
        return (phrase_verdict(prediction), *also)
    first = kept[0]
    sentence = f"{application} would {words.verb} {words.phrase(first)} on {first.machine}"
    if len(kept) == 1:
        sentences = [f"{sentence}."]
    else:
        last = kept[-1]
        best, worst = ("fastest", "slowest") if prediction.kind == "seconds" else ("best", "worst")
        sentences = [
            f"{sentence}, the {best} of {count_nouns(len(kept), 'machine')}.",
            f"On {last.machine}, the {worst} of them, it would {words.verb} {words.phrase(last)}.",
        ]
    sentences.append(phrase_verdict(prediction))
    if refused:
        sentences.append(phrase_refused(refused, prediction.limit))
    return tuple(sentences)


def state_prediction(prediction: PlatformPrediction, notes: PlatformNotes) -> tuple[Part, ...]:
    """State predictions: the answer, a row for each machine, refusals, what carries it, the method."""
    words = choose_words(prediction, notes.measured)
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_prediction(prediction, notes)]
    if kept:
        parts += [BLANK, Heading(f"Predicted {words.head}:"), BLANK]
        parts += tabulate_predictions(kept[:_MOST_ROWS], words)
        if len(kept) > _MOST_ROWS:
            more = count_nouns(len(kept) - _MOST_ROWS, "further machine")
            parts.append(Paragraph(tell(f"… and {more}; {argument('json')} has them all.")))
    parts += _list_measured(notes, words)
    if refused:
        parts += [BLANK, *(Paragraph(text, "  ") for text in list_refusals(refused, prediction.application))]
    parts += state_carriers(prediction)
    parts += [BLANK, *list_paragraphs(phrase_check(prediction), "  ")] if prediction.check else []
    parts += state_basis(prediction, notes)
    return tuple(parts)


def state_carriers(prediction: PlatformPrediction) -> list[Part]:
    """Which benchmarks and machines carry predictions, in a sentence each."""
    parts: list[Part] = []
    for kind, carriers in (("benchmarks", prediction.benchmarks), ("machines", prediction.machines)):
        parts += list_paragraphs(phrase_carriers(kind, carriers), "  ")
    return [BLANK, *parts] if parts else []


def state_basis(prediction: PlatformPrediction, notes: PlatformNotes) -> list[Part]:
    """How good predictions are: the expected error, n, the method, warnings."""
    parts: list[Part] = [BLANK]
    parts += list_paragraphs(phrase_error(prediction), "  ")
    parts.append(Paragraph(f"{count_data(notes)}. Method: {prediction.strategy}.", "  "))
    parts += [Paragraph(f"Warning: {item}.", "  ") for item in collect_warnings(prediction, notes)]
    return parts


def collect_warnings(prediction: PlatformPrediction, notes: PlatformNotes) -> tuple[str, ...]:
    """What limits the predictions: about the data, and about the method; each once, without a full stop."""
    return tuple(dict.fromkeys(item.rstrip(".") for item in (*notes.notes, *prediction.warnings)))


def tabulate_predictions(items: Sequence[MachinePrediction], words: ValueWords) -> list[Part]:
    """A row for each machine: value, interval, and a picture of both in what the line has left."""
    rows = [[item.machine, *words.spell_ends(item.seconds, item.low, item.high)] for item in items]
    table = build_table(["machine", words.head, words.level], rows)
    room = min(_LINE, WIDTH - 2 - max(map(len, lay_out_table(table))))
    known = [item for item in items if math.isfinite(item.low) and math.isfinite(item.high)]
    if room < _SHORTEST_LINE or len(known) < len(items):
        return [table]
    lines = draw_interval_lines([(item.low, item.seconds, item.high) for item in items], room)
    if not lines:
        return [table]
    return [
        replace(table, pictures=("", *lines), legend="Lines: ● the prediction, ─ its interval (log scale).")
    ]


def _list_measured(notes: PlatformNotes, words: ValueWords) -> list[Part]:
    shown = [
        f"{quote(item.machine)} {words.spell(item.value)}"
        for item in sorted(notes.measured, key=lambda item: item.value)
    ]
    if not shown:
        return []
    unit = f" ({words.scale.unit})" if words.scale.unit else ""
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return [BLANK, Paragraph(f"Measured{unit}: {', '.join(shown[:12])}{more}.", "  ")]

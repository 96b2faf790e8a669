"""How well an application can be predicted, and what would carry it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_share, format_signed
from datamill.platforms.prediction.platform_prediction import Carrier, HeldOutMachine, PlatformPrediction
from datamill.report.platforms.prediction_statement import state_basis
from datamill.report.platforms.values import PlatformNotes, ValueWords, choose_words, order_predictions
from datamill.report.platforms.verdict import list_refusals, phrase_check, phrase_refused, phrase_verdict
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table

_MOST_ROWS = 12


def phrase_fit(prediction: PlatformPrediction) -> tuple[str, ...]:
    """The verdict, what came of predicting the machines that measured it, and how many are refused."""
    _, refused = order_predictions(prediction.predictions, prediction.kind)
    sentences = [phrase_verdict(prediction), phrase_check(prediction)]
    if refused and prediction.kept:
        sentences.append(phrase_refused(refused, prediction.limit))
    return tuple(sentence for sentence in sentences if sentence)


def state_fit(prediction: PlatformPrediction, notes: PlatformNotes) -> tuple[Part, ...]:
    """State how well the application can be predicted: verdict, check, carriers, refusals, the method."""
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_fit(prediction)]
    parts += _tabulate_check(prediction.check, choose_words(prediction, notes.measured))
    for heading, carriers in (
        ("Benchmarks that carry it:", prediction.benchmarks),
        ("Machines that carry it:", prediction.machines),
    ):
        parts += _tabulate_carriers(heading, carriers)
    refused = [item for item in prediction.judged if item.refused]
    if refused:
        parts += [BLANK, *(Paragraph(text, "  ") for text in list_refusals(refused, prediction.application))]
    parts += state_basis(prediction, notes)
    return tuple(parts)


def _tabulate_check(check: Sequence[HeldOutMachine], words: ValueWords) -> list[Part]:
    if not check:
        return []
    rows = []
    for item in check:
        told = item.prediction
        value, ends = words.spell_ends(told.seconds, told.low, told.high)
        error = f"{format_signed(100 * item.error, 1)}%" if math.isfinite(item.error) else "-"
        rows.append([told.machine, words.spell(item.measured), value, ends, error, "refused" * told.refused])
    heads = ["machine", f"measured ({words.scale.unit})" if words.scale.unit else "measured", "predicted"]
    table = build_table([*heads, words.level, "error", ""], rows, last_words=1)
    return [BLANK, Heading("Machines that measured it, each predicted from the others:"), BLANK, table]


def _tabulate_carriers(heading: str, carriers: Sequence[Carrier]) -> list[Part]:
    ordered = [item for item in sorted(carriers, key=lambda item: -item.share) if item.share > 0]
    if not ordered:
        return []
    rows = [[item.name, format_share(item.share)] for item in ordered[:_MOST_ROWS]]
    if len(ordered) > _MOST_ROWS:
        rest = sum(item.share for item in ordered[_MOST_ROWS:])
        rows.append([f"{len(ordered) - _MOST_ROWS} others", format_share(rest)])
    return [BLANK, Heading(heading), BLANK, build_table(["name", "share"], rows)]

"""How well an application can be predicted, and what would carry it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_level, format_share, format_signed
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.prediction.held_out import HeldOutErrors, HeldOutMachine
from datamill.platforms.prediction.platform_prediction import Carrier, PlatformPrediction
from datamill.report.platforms.prediction_statement import state_basis
from datamill.report.platforms.values import PlatformNotes, ValueWords, choose_words, order_predictions
from datamill.report.platforms.verdict import list_refusals, phrase_verdict
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table

_MOST_ROWS = 12


def phrase_fit(prediction: PlatformPrediction, check: Sequence[HeldOutMachine]) -> tuple[str, ...]:
    """The verdict, what came of predicting the machines that measured it, and how many are refused."""
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    sentences = [phrase_verdict(prediction)]
    if check:
        sentences.append(phrase_check(prediction, check))
    if refused and kept:
        sentences.append(
            f"Of {count_nouns(len(prediction.predictions), 'machine')} that did not measure it, "
            f"{len(refused)} "
            f"{'is' if len(refused) == 1 else 'are'} refused."
        )
    return tuple(sentences)


def phrase_check(prediction: PlatformPrediction, check: Sequence[HeldOutMachine]) -> str:
    """How far predictions are off on the machines that measured the application, each from the others."""
    errors = HeldOutErrors.gather(check)
    named = f"the {count_nouns(len(check), 'machine')} that measured it, each predicted from the others"
    if errors is None:
        return f"Checked on {named}: every prediction is refused."
    left_out = len(check) - errors.kept
    refused = f", {left_out} {'is' if left_out == 1 else 'are'} refused" if left_out else ""
    return (
        f"Checked on {named}: off by {format_share(errors.median)} (median) and "
        f"{format_share(errors.largest)} at most, {errors.inside} of {errors.kept} inside "
        f"the {format_level(prediction.confidence)} interval{refused}."
    )


def state_fit(
    prediction: PlatformPrediction, check: Sequence[HeldOutMachine], notes: PlatformNotes
) -> tuple[Part, ...]:
    """State how well the application can be predicted: verdict, check, carriers, refusals, the method."""
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_fit(prediction, check)]
    parts += _tabulate_check(check, choose_words(prediction, notes.measured))
    for heading, carriers in (
        ("Benchmarks that carry it:", prediction.benchmarks),
        ("Machines that carry it:", prediction.machines),
    ):
        parts += _tabulate_carriers(heading, carriers)
    refused = [item for item in prediction.predictions if item.refused]
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

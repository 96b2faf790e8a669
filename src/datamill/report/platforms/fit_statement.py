"""How well an application can be predicted, and what would carry it."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_share
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.prediction.platform_prediction import Carrier, PlatformPrediction
from datamill.report.platforms.prediction_statement import state_basis
from datamill.report.platforms.values import PlatformNotes, order_predictions
from datamill.report.platforms.verdict import list_refusals, phrase_verdict
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table

_MOST_ROWS = 12


def phrase_fit(prediction: PlatformPrediction) -> tuple[str, ...]:
    """The verdict, and on how many machines it holds."""
    kept, refused = order_predictions(prediction.predictions, prediction.kind)
    verdict = phrase_verdict(prediction)
    if not refused or not kept:
        return (verdict,)
    return (
        verdict,
        f"Of {count_nouns(len(prediction.predictions), 'machine')} that did not measure it, {len(refused)} "
        f"{'is' if len(refused) == 1 else 'are'} refused.",
    )


def state_fit(prediction: PlatformPrediction, notes: PlatformNotes) -> tuple[Part, ...]:
    """State how well the application can be predicted: verdict, carriers, refusals, the method."""
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_fit(prediction)]
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


def _tabulate_carriers(heading: str, carriers: Sequence[Carrier]) -> list[Part]:
    ordered = [item for item in sorted(carriers, key=lambda item: -item.share) if item.share > 0]
    if not ordered:
        return []
    rows = [[item.name, format_share(item.share)] for item in ordered[:_MOST_ROWS]]
    if len(ordered) > _MOST_ROWS:
        rest = sum(item.share for item in ordered[_MOST_ROWS:])
        rows.append([f"{len(ordered) - _MOST_ROWS} others", format_share(rest)])
    return [BLANK, Heading(heading), BLANK, build_table(["name", "share"], rows)]

"""Whether an application is predictable, and why a machine is refused, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_share
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.platforms.prediction.platform_prediction import (
    Carrier,
    MachinePrediction,
    PlatformPrediction,
    RefusalCause,
    RefusalRisk,
)
from datamill.report.platforms.values import PlatformNotes, quote

#: Typical errors up to which a prediction is called good, and up to which it is called rough.
_GOOD, _ROUGH = 0.10, 0.25
_MOST_NAMED, _MOST_REASONS = 6, 4
#: Causes of refusals of several machines.
_CAUSES: dict[RefusalCause, str] = {
    "application": "the application is unlike the suite",
    "target": "they are unlike the machines that measured the application",
    "machines": "the machines that measured the application are too few or too unlike these",
    "scores": "the suite has too few scores of them",
}


def phrase_verdict(prediction: PlatformPrediction) -> str:
    """Whether the application can be predicted from this suite, in one sentence."""
    application, refusal = prediction.application, find_common_refusal(prediction.predictions)
    if refusal:
        return f"{application} is not predictable from this suite: {refusal}."
    error = prediction.expected_error
    if not math.isfinite(error):
        return f"How well {application} can be predicted from this suite cannot be estimated from these data."
    typical = f"a prediction is typically off by {format_share(error)}"
    if error <= _GOOD:
        return f"{application} can be predicted from this suite: {typical}."
    if error <= _ROUGH:
        return f"{application} can be predicted roughly from this suite: {typical}."
    return f"{application} can hardly be predicted from this suite: {typical}."


def phrase_error(prediction: PlatformPrediction, notes: PlatformNotes) -> str:
    """What the expected error is; empty where there is none."""
    if not math.isfinite(prediction.expected_error):
        return ""
    return (
        f"Expected error: {format_share(prediction.expected_error)}, the median over the suite's own "
        f"{count_nouns(notes.benchmarks, 'benchmark')}, each taken for the application in turn and "
        "predicted from "
        f"the same {count_nouns(len(prediction.trained), 'machine')}."
    )


def find_common_refusal(predictions: Sequence[MachinePrediction]) -> str:
    """The sentence by which all machines are refused, where it is not about a machine; else empty."""
    if not predictions or not all(item.refused for item in predictions):
        return ""
    for refusal in predictions[0].refusals:
        if refusal.cause in ("application", "machines"):
            return refusal.sentence.rstrip(".")
    return ""


def phrase_refused(refused: Sequence[MachinePrediction], limit: float) -> str:
    """How many machines are refused, and how many of these predictions would err by more than the limit."""
    risk = phrase_risk(refused, limit)
    is_or_are = "is" if len(refused) == 1 else "are"
    return f"{count_nouns(len(refused), 'machine')} {is_or_are} refused{f'; {risk}' if risk else ''}."


def phrase_risk(refused: Sequence[MachinePrediction], limit: float) -> str:
    """How probable it is that refused predictions err by more than the limit; empty where that is unknown."""
    risk = RefusalRisk.gather(refused)
    if risk is None:
        return ""
    share, most = format_share(risk.share), format_share(limit)
    if risk.known == 1:
        return f"that prediction errs by more than {most} with a probability of {share}"
    return f"{share} of these predictions are expected to err by more than {most}"


def list_refusals(refused: Sequence[MachinePrediction], application: str) -> list[str]:
    """Sentences that say which machines are refused and why; machines with one reason in one sentence.

    Of many reasons, which differ in their numbers, one sentence for each cause with an example.
    """
    by_reason: dict[str, list[MachinePrediction]] = {}
    for item in refused:
        reason = "; ".join(refusal.sentence.rstrip(".") for refusal in item.refusals)
        by_reason.setdefault(reason, []).append(item)
    if len(by_reason) <= _MOST_REASONS:
        return [
            f"Not predictable from this suite: {application} on {_name(items, _MOST_NAMED)}: {reason}."
            for reason, items in by_reason.items()
        ]
    by_cause: dict[RefusalCause, list[MachinePrediction]] = {}
    for item in refused:
        by_cause.setdefault(item.refusals[0].cause, []).append(item)
    ordered = sorted(by_cause.items(), key=lambda pair: -len(pair[1]))
    return [
        tell(
            f"Not predictable from this suite: {application} on {count_nouns(len(items), 'machine')} "
            f"({_name(items, 3)}), since {_CAUSES[cause]}. The first: "
            f"{'; '.join(refusal.sentence.rstrip('.') for refusal in items[0].refusals)}. "
            f"{argument('json')} has "
            "all reasons."
        )
        for cause, items in ordered
    ]


def _name(items: Sequence[MachinePrediction], most: int) -> str:
    return list_first([quote(item.machine) for item in items], most)


def phrase_carriers(kind: str, carriers: Sequence[Carrier]) -> str:
    """Which benchmarks or machines carry the predictions most; empty where nothing is known of it."""
    ordered = sorted(carriers, key=lambda item: -item.share)
    shown = [f"{quote(item.name)} ({format_share(item.share)})" for item in ordered if item.share > 0]
    if not shown:
        return ""
    return f"Carried by the {kind} {list_first(shown, _MOST_NAMED)}."

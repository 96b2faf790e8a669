"""Whether an application is predictable, and why a machine is refused, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_level, format_share
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.platforms.prediction.check_errors import CheckErrors
from datamill.platforms.prediction.platform_prediction import (
    Carrier,
    MachinePrediction,
    PlatformPrediction,
    RefusalCause,
    RefusalRisk,
)
from datamill.report.platforms.values import quote

#: Typical errors up to which a prediction is called good, and up to which it is called rough.
_GOOD, _ROUGH = 0.10, 0.25
_MOST_NAMED, _MOST_REASONS = 6, 4
#: Causes that may be those of all machines.
_ABOUT_ALL: tuple[RefusalCause, ...] = ("application", "machines")
#: Causes of refusals of several machines.
_CAUSES: dict[RefusalCause, str] = {
    "application": "the application is unlike the suite",
    "target": "they are unlike the machines that measured the application",
    "machines": "the machines that measured the application are too few or too unlike these",
    "scores": "the suite has too few scores of them",
}


def phrase_verdict(prediction: PlatformPrediction) -> str:
    """Whether the application can be predicted from this suite, on how many machines, and how well.

    It cannot where every machine is refused, and not reliably where the check on measured machines
    contradicts intervals or refusals.
    """
    application, judged, kept = prediction.application, prediction.judged, prediction.kept
    if not judged:
        return f"{application} was measured on every machine of the scores: nothing is left to predict."
    if not kept:
        return _phrase_none(application, judged)
    checked = CheckErrors.gather(prediction)
    if checked is not None and checked.misses_limit:
        found = _phrase_contradiction(prediction, checked)
        return f"{application} is not predictable from this suite: {found}."
    error = prediction.expected_error
    if not math.isfinite(error):
        return f"How well {application} can be predicted from this suite cannot be estimated from these data."
    those = count_nouns(len(judged), "machine")
    if not prediction.predictions:
        those = f"the {those} that measured it"
    some = f" on only {len(kept)} of {those}"
    places = "" if len(kept) == len(judged) else some
    if checked is not None and checked.contradicts:
        rest = f"; there is a prediction{some}, typically" if places else "; a prediction is typically"
        return (
            f"{application} cannot be predicted reliably from this suite: "
            f"{_phrase_contradiction(prediction, checked)}{rest} off by {format_share(error)}."
        )
    typical = f"a prediction {'there ' if places else ''}is typically off by {format_share(error)}"
    if error <= _GOOD:
        return f"{application} can be predicted from this suite{places}: {typical}."
    if error <= _ROUGH:
        return f"{application} can be predicted roughly from this suite{places}: {typical}."
    return f"{application} can hardly be predicted from this suite{places}: {typical}."


def phrase_check(prediction: PlatformPrediction) -> str:
    """How far predictions are off on the machines that measured the application; empty without a check."""
    if not prediction.check:
        return ""
    errors, count = CheckErrors.gather(prediction), len(prediction.check)
    named = f"the {count_nouns(count, 'machine')} that measured it, each predicted from the others"
    if errors is None:
        return f"Checked on {named}: every prediction is refused."
    left_out = count - errors.kept
    refused = f", {left_out} {'is' if left_out == 1 else 'are'} refused" if left_out else ""
    return (
        f"Checked on {named}: off by {format_share(errors.median)} (median) and "
        f"{format_share(errors.largest)} at most, {errors.inside} of {errors.kept} inside "
        f"the {format_level(prediction.confidence)} interval{refused}."
    )


def phrase_error(prediction: PlatformPrediction) -> str:
    """What error is expected of the application, and the suite's own; empty where neither is known."""
    sentences = []
    if math.isfinite(prediction.expected_error):
        sentences.append(
            f"Expected error: {format_share(prediction.expected_error)} for {prediction.application} on "
            f"{_phrase_kept(len(prediction.kept))}."
        )
    if math.isfinite(prediction.suite_error):
        sentences.append(
            "Benchmarks of the suite, each taken for the application "
            f"in turn and predicted from the same {count_nouns(len(prediction.trained), 'machine')}, are off "
            f"by {format_share(prediction.suite_error)} (median over all machines)."
        )
    return " ".join(sentences)


def _phrase_kept(count: int) -> str:
    return "the machine that is not refused" if count == 1 else f"the {count} machines that are not refused"


def _phrase_none(application: str, refused: Sequence[MachinePrediction]) -> str:
    """That every machine is refused, and why."""
    common = find_common_refusal(refused)
    if common:
        return f"{application} is not predictable from this suite: {common}."
    if len(refused) == 1:
        return f"{application} is not predictable from this suite on {refused[0].machine}."
    place = f"on any of {len(refused)} machines, for several reasons"
    return f"{application} is not predictable from this suite {place}."


def _phrase_contradiction(prediction: PlatformPrediction, checked: CheckErrors) -> str:
    """What the check found on machines that measured the application, and should not have."""
    named = f"of {count_nouns(checked.kept, 'measured machine')} that could be predicted from the others"
    if checked.misses_limit:
        most = format_share(prediction.limit)
        return f"{named}, {checked.beyond} {_be(checked.beyond)} off by more than {most}"
    level = format_level(prediction.confidence)
    inside = f"only {checked.inside}" if checked.inside else "none"
    return f"{named}, {inside} {_be(max(checked.inside, 1))} inside the {level} interval"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def find_common_refusal(predictions: Sequence[MachinePrediction]) -> str:
    """The sentence by which all machines are refused, where it is not about a machine; else empty."""
    if not predictions or not all(item.refused for item in predictions):
        return ""
    for refusal in predictions[0].refusals:
        if all(refusal in item.refusals for item in predictions) and refusal.cause in _ABOUT_ALL:
            return refusal.sentence.rstrip(".")
    for refusal in predictions[0].refusals:
        if refusal.cause in _ABOUT_ALL and all(
            refusal.cause in {other.cause for other in item.refusals} for item in predictions
        ):
            return refusal.sentence.rstrip(".")
    return ""


def phrase_refused(refused: Sequence[MachinePrediction], limit: float) -> str:
    """How many machines are refused, and how many of these predictions would err by more than the limit."""
    risk = phrase_risk(refused, limit)
    count = len(refused)
    return f"{count_nouns(count, 'machine')} {_be(count)} refused{f'; {risk}' if risk else ''}."


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

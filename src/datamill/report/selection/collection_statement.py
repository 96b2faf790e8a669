"""What was collected of a history, in sentences."""

from __future__ import annotations

from datamill.experiment.messages.numbers import format_count
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.selection.history.collection_outcome import CollectionOutcome

_MOST_REASONS = 5


def summarize_collection(outcome: CollectionOutcome) -> list[str]:
    """Return sentences: what is there, what failed and why, and whether something is left to do."""
    sentences = [
        f"{count_nouns(outcome.built, 'version')} built ({format_count(outcome.fresh)} of "
        f"{format_count(outcome.walked)} asked for were tried now), with "
        f"{count_nouns(outcome.programs, 'different program')}; "
        f"{format_count(outcome.profiled)} profiled, {count_nouns(outcome.observations, 'observation')}."
    ]
    if outcome.machine:
        sentences.append(f"All of it was built and measured on {outcome.machine}, a machine of the fleet.")
    sentences += [
        finish_sentence(f"{count_nouns(count, 'version')} without programs: {reason}")
        for reason, count in outcome.reasons[:_MOST_REASONS]
    ]
    if len(outcome.reasons) > _MOST_REASONS:
        sentences.append(f"Other versions failed for {len(outcome.reasons) - _MOST_REASONS} other reasons.")
    sentences += [
        finish_sentence(f"The benchmark {name} fails with {count_nouns(count, 'program')}: {reason}")
        for name, reason, count in outcome.failing[:_MOST_REASONS]
    ]
    if not outcome.finished:
        sentences.append("Not all of it is done: type the command again to go on.")
    return sentences

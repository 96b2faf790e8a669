"""Candidate machines in their order, in sentences and tables."""

from __future__ import annotations

import math

from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.messages.numbers import format_figures, format_fixed, format_share
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.ranking.machine_ranking import MachineRanking, RankedMachine
from datamill.report.platforms.prediction_statement import state_basis
from datamill.report.platforms.values import PlatformNotes, ValueWords, choose_words
from datamill.report.platforms.verdict import find_common_refusal, list_refusals, phrase_check, phrase_verdict
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part, list_paragraphs
from datamill.report.tables.table import build_table

_MOST_ROWS, _MOST_PAIRS = 40, 10
#: Shown as `< 0.1%`, and what is left to certainty as `> 99.9%`.
_RAREST = 1e-6


def phrase_ranking(ranking: MachineRanking, notes: PlatformNotes) -> tuple[str, ...]:
    """The best machine with its value and the probability that it is the best; then the best buy."""
    application = ranking.prediction.application
    words = choose_words(ranking.prediction, notes.measured)
    if not ranking.machines:
        common = find_common_refusal(ranking.refused)
        why = f": {common}" if common else " on any candidate; each one's reason stands below"
        return (f"{application} is not predictable from this suite{why}.",)
    first = ranking.machines[0]
    told = "fastest" if ranking.prediction.kind == "seconds" else "best"
    if len(ranking.machines) == 1:
        return (
            f"{first.prediction.machine} is the only candidate that is not refused: {_phrase(first, words)}.",
        )
    sentences = [
        f"{first.prediction.machine} is the {told} of {count_nouns(len(ranking.machines), 'candidate')} for "
        f"{application} with probability {_spell_probability(first.best)}: {_phrase(first, words)}."
    ]
    if ranking.refused:
        refused = len(ranking.refused)
        all_of_them = refused + len(ranking.machines)
        sentences.append(
            f"{refused} of {count_nouns(all_of_them, 'candidate')} {'is' if refused == 1 else 'are'} "
            "refused, and "
            "might be better."
        )
    sentences.append(phrase_verdict(ranking.prediction))
    valued = [item for item in ranking.machines if math.isfinite(item.value)]
    if len(valued) == 1:
        name = valued[0].prediction.machine
        sentences.append(f"Of these candidates {name} alone has a price: nothing is compared with it.")
    elif valued:
        buy = max(valued, key=lambda item: item.value)
        sentences.append(f"{buy.prediction.machine} has the most speed per price.")
    if ranking.misordered:
        count = len(ranking.misordered)
        sentences.append(
            f"The suite's mean orders {count_nouns(count, 'pair')} of candidates the other way round."
        )
    return tuple(sentences)


def state_ranking(ranking: MachineRanking, notes: PlatformNotes) -> tuple[Part, ...]:
    """State the order: each candidate, pairs that the suite's mean misorders, refusals, the method."""
    words = choose_words(ranking.prediction, notes.measured)
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_ranking(ranking, notes)]
    if ranking.machines:
        parts += [BLANK, Heading(f"Candidates by {words.head}:"), BLANK, _tabulate(ranking, words)]
        if len(ranking.machines) > _MOST_ROWS:
            more = count_nouns(len(ranking.machines) - _MOST_ROWS, "further candidate")
            parts.append(Paragraph(tell(f"… and {more}; {argument('json')} has them all.")))
    if len(ranking.machines) > 1:
        parts += [
            BLANK,
            Paragraph(
                f"The whole order is right with probability {_spell_probability(ranking.right_order)}; a "
                "pair of "
                f"candidates is in the right order with {_spell_probability(ranking.pair_order)} on average.",
                "  ",
            ),
        ]
    parts += _state_misordered(ranking)
    if ranking.refused:
        told = list_refusals(ranking.refused, ranking.prediction.application)
        parts += [BLANK, *(Paragraph(text, "  ") for text in told)]
    if ranking.prediction.check:
        parts += [BLANK, *list_paragraphs(phrase_check(ranking.prediction), "  ")]
    parts += state_basis(ranking.prediction, notes)
    return tuple(parts)


def _phrase(item: RankedMachine, words: ValueWords) -> str:
    if item.measured:
        unit = f" {words.scale.unit}" if words.scale.unit else ""
        return f"measured, {words.spell(item.prediction.seconds)}{unit}"
    return words.phrase(item.prediction)


def _tabulate(ranking: MachineRanking, words: ValueWords) -> Part:
    priced = any(math.isfinite(item.price) for item in ranking.machines)
    heads = ["machine", words.head, words.level, "is best", "before next"]
    rows = []
    for item in ranking.machines[:_MOST_ROWS]:
        told = item.prediction
        value, ends = words.spell_ends(told.seconds, told.low, told.high)
        if item.measured:
            value, ends = words.spell(told.seconds), "measured"
        row = [told.machine, value, ends, _spell_probability(item.best), _spell_probability(item.before_next)]
        if priced:
            row += [
                format_figures(item.price, 6) if math.isfinite(item.price) else "-",
                format_fixed(item.value, 2) if math.isfinite(item.value) else "-",
            ]
        rows.append(row)
    return build_table([*heads, "price", "speed per price"] if priced else heads, rows)


def _state_misordered(ranking: MachineRanking) -> list[Part]:
    if not ranking.misordered:
        return []
    # The surest ones first: these are what the suite's mean would mislead about.
    ordered = sorted(ranking.misordered, key=lambda item: -item.probability)
    rows = [
        [
            pair.faster,
            pair.slower,
            format_fixed(pair.ratio, 2),
            format_fixed(pair.suite_ratio, 2),
            _spell_probability(pair.probability),
        ]
        for pair in ordered[:_MOST_PAIRS]
    ]
    parts: list[Part] = [
        BLANK,
        Heading("Pairs that the suite's mean orders the other way round:"),
        BLANK,
        build_table(["better", "worse", "time ratio", "by the suite", "probability"], rows, words=2),
    ]
    if len(ordered) > _MOST_PAIRS:
        parts.append(
            Paragraph(tell(f"… and {len(ordered) - _MOST_PAIRS} more; {argument('json')} has them all."))
        )
    return parts


def _spell_probability(probability: float) -> str:
    """A probability that is counted over draws: none of them is no certainty."""
    if not math.isfinite(probability):
        return "-"
    return format_share(min(max(probability, _RAREST), 1 - _RAREST))

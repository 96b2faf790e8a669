"""Whether a result was reproduced: the sentences, and a table of all effects."""

from __future__ import annotations

from datamill.analysis.interval import Interval
from datamill.analysis.reproduction.reproduction import Reproduction
from datamill.experiment.messages.numbers import format_level, format_to_error
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.reproduction.answer import name_effect, phrase_rule, phrase_verdict
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import choose_scale


def state_reproduction(found: Reproduction) -> tuple[Part, ...]:
    """State the verdict: sentences, all effects with their intervals, machines, the rule, warnings."""
    parts: list[Part] = [Paragraph(sentence) for sentence in phrase_verdict(found)]
    parts.append(BLANK)
    if found.effects:
        level = format_level(found.confidence)
        what = f"Mean {found.response}" if found.kind == "value" else f"Ratios of mean {found.response}"
        parts.append(Heading(f"{what}, with {level} intervals"))
        headers = ("effect", "original", "re-run", "re-run / original", "verdict")
        rows = [
            (
                name_effect(effect),
                _spell(effect.original, found),
                _spell(effect.rerun, found),
                _spell_ratio(effect.change),
                effect.verdict,
            )
            for effect in found.effects
        ]
        parts += [build_table(headers, rows, words=1, last_words=1), BLANK]
    parts.append(
        Paragraph(
            f"The original rests on {count_nouns(found.n_original, 'valid row')} of "
            f"{_name_machines(found.machines_original)}, the re-run on "
            f"{count_nouns(found.n_rerun, 'valid row')} of {_name_machines(found.machines_rerun)}."
        )
    )
    parts.append(Paragraph(phrase_rule(found)))
    parts.append(Paragraph(f"Method: {found.method}."))
    parts += [Paragraph(f"Warning: {finish_sentence(warning)}") for warning in found.warnings]
    return tuple(parts)


def _name_machines(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown or "one machine"


def _spell(value: Interval, found: Reproduction) -> str:
    if found.kind != "value":
        return _spell_ratio(value)
    scale = choose_scale(found.unit, value.estimate)
    error = (value.high - value.low) / 2 * scale.factor
    estimate, low, high = (
        format_to_error(number * scale.factor, error) for number in (value.estimate, value.low, value.high)
    )
    return f"{estimate} [{low}, {high}] {scale.unit}".strip()


def _spell_ratio(value: Interval) -> str:
    error = (value.high - value.low) / 2
    estimate, low, high = (
        format_to_error(number, error) for number in (value.estimate, value.low, value.high)
    )
    return f"{estimate} [{low}, {high}]"

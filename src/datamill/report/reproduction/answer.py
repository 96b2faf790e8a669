"""Whether a result was reproduced, in sentences."""

from __future__ import annotations

from datamill.analysis.interval import Interval
from datamill.analysis.reproduction.reproduction import ComparedEffect, Reproduction
from datamill.experiment.messages.numbers import format_figures, format_level
from datamill.report.words.scales import Scale, choose_scale, format_interval, format_percent

#: Effects that sentences are about; the table has all.
_MOST_SENTENCES = 6
#: A re-run that would have to grow by more than this is not advised.
_MOST_GROWTH = 1000


def phrase_verdict(found: Reproduction) -> tuple[str, ...]:
    """The verdict, then what became of each effect, and what would decide those that are open."""
    sentences = [_phrase_headline(found)]
    sentences += [phrase_effect(effect, found) for effect in found.effects[:_MOST_SENTENCES]]
    if left := len(found.effects) - _MOST_SENTENCES:
        sentences += [f"{left} further effects are in the table."] if left > 0 else []
    if found.missing:
        sentences.append(f"The re-run lacks: {', '.join(found.missing[:_MOST_SENTENCES])}.")
    return (*sentences, *_advise(found))


def phrase_rule(found: Reproduction) -> str:
    """The rule behind the verdict, with the rates of its mistakes."""
    return (
        f"An effect is reproduced where the {format_level(found.confidence)} interval of its change lies "
        f"within a factor of {format_figures(1 + found.margin, 6)} either way. Of re-runs whose true effect "
        f"differs by more, at most {format_level(found.alpha)} are called reproduced; of those whose effects "
        f"all differ by less, at most {format_level(found.alpha)} are called not reproduced."
    )


def name_effect(effect: ComparedEffect) -> str:
    """`gcc-12 over gcc-11`; of a value alone `the mean`."""
    return f"{effect.level} over {effect.baseline}" if effect.factor else "the mean"


def phrase_effect(effect: ComparedEffect, found: Reproduction) -> str:
    """One effect before and after, with the interval of its change."""
    if found.kind == "value":
        scale = choose_scale(found.unit, effect.original.estimate)
        before, after = (
            _format_value(value, scale, found.confidence) for value in (effect.original, effect.rerun)
        )
        subject = f"The mean {found.response} was {before}, and is {after}"
    else:
        before, after = (
            format_percent(ratio.to_percent(), found.confidence, signed=True)
            for ratio in (effect.original, effect.rerun)
        )
        subject = (
            f"{found.response} of {effect.level} differed from that of {effect.baseline} by {before}, "
            f"and differs by {after}"
        )
    change = format_percent(effect.change.to_percent(), found.confidence, signed=True)
    return f"{subject}: a change of {change}, {_judge(effect, found)}."


def _format_value(value: Interval, scale: Scale, confidence: float) -> str:
    return format_interval(value, scale, confidence)


def _judge(effect: ComparedEffect, found: Reproduction) -> str:
    margin = f"±{format_level(found.margin)}"
    if effect.verdict == "reproduced":
        return f"within {margin}"
    if effect.verdict == "not reproduced":
        return f"beyond {margin}"
    return f"which may lie within {margin} or beyond"


def _phrase_headline(found: Reproduction) -> str:
    if found.verdict == "reproduced":
        return f"The result was reproduced, within ±{format_level(found.margin)}."
    if found.verdict == "not reproduced":
        beyond = [name_effect(item) for item in found.effects if item.verdict == "not reproduced"]
        named = ", ".join(beyond[:_MOST_SENTENCES])
        return f"The result was not reproduced: {named} changed by more than ±{format_level(found.margin)}."
    if not found.effects:
        return "The data cannot tell whether the result was reproduced: both have no effect in common."
    if found.missing and all(item.verdict == "reproduced" for item in found.effects):
        return "Part of the result was reproduced; the re-run does not have the rest."
    return f"The data cannot tell yet whether the result was reproduced within ±{format_level(found.margin)}."


def _advise(found: Reproduction) -> tuple[str, ...]:
    """What it would take to decide, if nothing differs."""
    undecided = [effect for effect in found.effects if effect.verdict == "undecided"]
    if found.verdict != "undecided" or not undecided:
        return ()
    growths = [effect.more for effect in undecided]
    if any(more is None or more > _MOST_GROWTH for more in growths):
        return (
            "No larger re-run would decide it: the original itself is too uncertain for this margin. "
            "A wider margin for the next re-run would have to be chosen before it begins.",
        )
    largest = max(more for more in growths if more is not None)
    if largest <= 1:
        return ("The effect lies near the margin; a larger re-run would tell on which side.",)
    return (
        f"If nothing differs, a re-run of {format_figures(largest, 2)} times as many trials would say so "
        "with a probability of 80%.",
    )

"""What is predicted of a commit, and the functions behind it, as a statement."""

from __future__ import annotations

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import format_figures, format_share
from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.selection.prediction_json import summarize_prediction
from datamill.report.tables.statement import BLANK, Heading, Paragraph, Part
from datamill.report.tables.table import build_table
from datamill.report.words.scales import round_shares
from datamill.selection.prediction.commit_prediction import (
    CommitPrediction,
    FiredIndicator,
)
from datamill.selection.prediction.magnitude import Magnitude

_MOST_NAMES = 2
_MOST_INDICATORS = 1
_MOST_FEATURES = 12
#: Characters of a function's name in the table: instances of templates and generics have hundreds.
_LONGEST_NAME = 48


def state_prediction(found: CommitPrediction) -> list[Part]:
    """Return the table of benchmarks: run or skip, probability, direction, indicators with functions."""
    parts: list[Part] = [*map(Paragraph, summarize_prediction(found))]
    if found.predictions:
        rows = [
            (
                item.benchmark,
                "run" if item.run else "skip",
                "" if item.probability is None else format_share(item.probability),
                item.direction if item.run else "",
                _tell_magnitude(item.magnitude) if item.run else "",
                item.reason or _tell_indicators(item.indicators),
            )
            for item in sorted(found.predictions, key=lambda item: not item.run)
        ]
        headers = ("benchmark", "", "probability", "direction", "size", "why")
        parts += [BLANK, build_table(headers, rows, words=2, last_words=2)]
    parts += [Paragraph(finish_sentence(f"Note: {line}")) for line in found.warnings]
    return parts


def _tell_magnitude(magnitude: Magnitude | None) -> str:
    size = None if magnitude is None else Interval.join(magnitude.size, magnitude.low, magnitude.high)
    return "unknown" if size is None else round_shares(size).phrase()


def explain_prediction(found: CommitPrediction, benchmark: str | None = None) -> list[Part]:
    """Return, of each benchmark, indicators with all functions behind them, and the features above 0."""
    parts: list[Part] = [*map(Paragraph, summarize_prediction(found))]
    for item in found.predictions:
        if benchmark is not None and item.benchmark != benchmark:
            continue
        said = "run" if item.run else "skip"
        share = "" if item.probability is None else f", probability {format_share(item.probability)}"
        parts += [BLANK, Heading(f"{item.benchmark}: {said}{share}, direction {item.direction}")]
        if item.magnitude is not None:
            told = item.magnitude
            parts.append(
                Paragraph(
                    f"If it changed, then by {_tell_magnitude(told)}: a typical change, and an interval that "
                    f"holds all changes of {format_share(told.confidence)} of versions, by "
                    f"{count_nouns(told.n, 'version')} of the history with a change ({told.method})."
                )
            )
        if item.reason:
            parts.append(Paragraph(finish_sentence(item.reason[0].upper() + item.reason[1:])))
        for fired in item.indicators:
            names = ", ".join(fired.functions) or "no function alone"
            parts.append(Paragraph(f"{_tell_value(fired)}: {names}"))
        features = {name: value for name, value in (item.features or {}).items() if value}
        if features:
            rows = [(name, format_figures(value, 4)) for name, value in sorted(features.items())]
            parts.append(build_table(("feature", "value"), rows))
    if found.changes is not None:
        rows = [(change.name, change.fate) for change in found.changes.functions if change.fate != "lines"]
        if rows:
            headers = ("function", "what became of it")
            parts += [BLANK, build_table(headers, rows, words=2, last_words=1)]
    return parts


def _tell_indicators(fired: tuple[FiredIndicator, ...]) -> str:
    """The first of them; `explain` has all."""
    more = len(fired) - _MOST_INDICATORS
    told = "; ".join(map(_tell, fired[:_MOST_INDICATORS]))
    return f"{told}; {more} more" if more > 0 else told


def _tell(fired: FiredIndicator) -> str:
    names = ", ".join(map(_shorten, fired.functions[:_MOST_NAMES]))
    more = len(fired.functions) - _MOST_NAMES
    also = f" and {more} more" if more > 0 else ""
    return f"{_tell_value(fired)}{f' ({names}{also})' if names else ''}"


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _tell_value(fired: FiredIndicator) -> str:
    value = format_figures(fired.value, 3)
    if fired.threshold is None:
        return f"{fired.name} {value}"
    return f"{fired.name} {value} ≥ {format_figures(fired.threshold, 3)}"

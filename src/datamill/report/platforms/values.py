"""Times and scores as people read them, and what is known of the data behind them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from datamill.analysis.interval import Interval
from datamill.experiment.messages.numbers import format_count, format_figures, format_level
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.prediction.platform_prediction import MachinePrediction, PlatformPrediction
from datamill.platforms.scores.score_matrix import ScoreKind
from datamill.report.words.scales import Scale, choose_scale, round_interval


@dataclass(frozen=True, slots=True)
class MeasuredMachine:
    """A machine on which the application was measured, and the geometric mean there: a time or a score."""

    machine: str
    value: float


@dataclass(frozen=True, slots=True)
class PlatformNotes:
    """What was given: the application's values, how large the suite is, and sentences about the data."""

    measured: tuple[MeasuredMachine, ...]
    benchmarks: int
    machines: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueWords:
    """How values of an application are spelled: seconds with a prefix, or scores as they are."""

    kind: ScoreKind
    scale: Scale
    confidence: float

    @property
    def verb(self) -> str:
        """What an application does on a machine where it was not measured."""
        return "take" if self.kind == "seconds" else "score"

    @property
    def noun(self) -> str:
        """What is predicted."""
        return "time" if self.kind == "seconds" else "score"

    @property
    def head(self) -> str:
        """The name of a column of values."""
        return f"{self.noun} ({self.scale.unit})" if self.scale.unit else self.noun

    @property
    def level(self) -> str:
        """The name of a column of intervals."""
        return f"{format_level(self.confidence)} interval"

    def spell(self, value: float) -> str:
        """A value with three figures, without its unit."""
        return format_figures(value * self.scale.factor) if math.isfinite(value) else "-"

    def spell_ends(self, value: float, low: float, high: float) -> tuple[str, str]:
        """A value and its interval with two figures of half the interval, without unit."""
        around = Interval.join(value, low, high)
        if around is None or not (math.isfinite(low) and math.isfinite(high)):
            return self.spell(value), "-"
        shown = round_interval(around, self.scale.factor)
        return shown.estimate, shown.ends

    def phrase(self, item: MachinePrediction) -> str:
        """A predicted value with unit and interval, as it stands in a sentence."""
        value, ends = self.spell_ends(item.seconds, item.low, item.high)
        unit = f" {self.scale.unit}" if self.scale.unit else ""
        around = "no interval" if ends == "-" else f"{self.level} {ends}"
        return f"{value}{unit} ({around})"


def quote(name: str) -> str:
    """A name as it stands in a list: in quotes where it holds a comma itself."""
    return f'"{name}"' if "," in name else name


def choose_words(prediction: PlatformPrediction, measured: Sequence[MeasuredMachine]) -> ValueWords:
    """How values are spelled: in the unit that suits the middle one of all."""
    values = sorted(
        value
        for value in (
            *(item.seconds for item in prediction.predictions if not item.refused),
            *(item.value for item in measured),
        )
        if math.isfinite(value) and value > 0
    )
    middle = values[len(values) // 2] if values else 0.0
    scale = choose_scale("s", middle) if prediction.kind == "seconds" else Scale(1.0, "")
    return ValueWords(prediction.kind, scale, prediction.confidence)


def order_predictions(
    items: Sequence[MachinePrediction], kind: ScoreKind
) -> tuple[tuple[MachinePrediction, ...], tuple[MachinePrediction, ...]]:
    """Those that are not refused, the best one first, and those that are."""
    sign = 1 if kind == "seconds" else -1
    kept = [item for item in items if not item.refused]
    kept.sort(key=lambda item: sign * item.seconds)
    return tuple(kept), tuple(item for item in items if item.refused)


def count_data(notes: PlatformNotes) -> str:
    """How much data there is, for the line that says the method."""
    return (
        f"n = {count_nouns(len(notes.measured), 'machine')} with the application, of "
        f"{format_count(notes.machines)} with {count_nouns(notes.benchmarks, 'benchmark')}"
    )

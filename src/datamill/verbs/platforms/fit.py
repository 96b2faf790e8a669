"""`platforms fit`: whether an application can be predicted from a suite, and what would carry it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from datamill.platforms.fingerprint.fingerprint import Fingerprint, take_fingerprint
from datamill.platforms.prediction.platform_prediction import HeldOutMachine, PlatformPrediction
from datamill.platforms.prediction.predict_platforms import fit_platforms as fit_to_matrix
from datamill.report.figures.figure import Figure
from datamill.report.platforms.figures.check_figure import draw_check
from datamill.report.platforms.figures.prediction_figures import draw_carriers
from datamill.report.platforms.fit_statement import phrase_fit, state_fit
from datamill.report.platforms.json import spell_fit
from datamill.report.platforms.prediction_statement import collect_warnings
from datamill.report.platforms.values import PlatformNotes
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_confidence, take_name
from datamill.verbs.platforms.fingerprint_file import write_fingerprint
from datamill.verbs.platforms.platform_inputs import ask_strategy, read_platform_data, take_limit
from datamill.verbs.platforms.predict import USUAL_CONFIDENCE


@dataclass(frozen=True, slots=True, eq=False)
class FittedPlatforms(Analysis):
    """Whether an application can be predicted, from what, and its fingerprint."""

    prediction: PlatformPrediction
    fingerprint: Fingerprint
    notes: PlatformNotes

    def save(self, file: str | Path) -> None:
        """Write the fingerprint, which `predict_platforms(scores, fingerprint=file)` reads.

        Raises:
            OSError: the file cannot be written.
        """
        write_fingerprint(self.fingerprint, Path(file))

    @property
    def check(self) -> tuple[HeldOutMachine, ...]:
        """Each machine that measured it, predicted from the others."""
        return self.prediction.check

    @property
    def title(self) -> str:
        """What was fitted."""
        return f"Fingerprint of {self.prediction.application}"

    @property
    def lead(self) -> tuple[str, ...]:
        """The verdict."""
        return phrase_fit(self.prediction)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the predictions."""
        return collect_warnings(self.prediction, self.notes)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The verdict, what carries it, refusals, the method."""
        return state_fit(self.prediction, self.notes)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit, and the digest of the fingerprint."""
        return {**spell_fit(self.prediction, self.notes), "digest": self.fingerprint.digest}

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The check on measured machines, then what carries the predictions: benchmarks, machines."""
        check = (partial(draw_check, self.prediction, self.notes),) if self.check else ()
        return (
            *check,
            partial(draw_carriers, self.prediction.benchmarks, "benchmarks"),
            partial(draw_carriers, self.prediction.machines, "machines"),
        )


def fit_platforms(
    scores: Any,
    application: Any,
    *,
    machines: Any = None,
    strategy: str = "",
    confidence: float | None = None,
    limit: float | None = None,
    name: str = "",
    response: str = "",
) -> FittedPlatforms:
    """Say whether an application can be predicted from a suite, and which benchmarks and machines carry it.

    The arguments are those of `predict_platforms`.

    Raises:
        InputError: the data cannot be used; says what to do.
    """
    level = take_confidence(confidence) or USUAL_CONFIDENCE
    data = read_platform_data(
        scores,
        application,
        machines=machines,
        name=take_name("name", name),
        response=take_name("response", response),
    )
    asked = ask_strategy(strategy)
    prediction = fit_to_matrix(
        data.matrix, data.application, confidence=level, limit=take_limit(limit), **asked
    )
    fingerprint = take_fingerprint(data.matrix, data.application, asked.get("strategy", ""))
    return FittedPlatforms(prediction, fingerprint, data.notes)

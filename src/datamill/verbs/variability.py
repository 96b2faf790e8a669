"""`variability`: coefficients of variation and skewness, and what changes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack, get_args

from datamill.analysis.contrasts.multiplicity import Adjustment
from datamill.analysis.distribution.variability import Assumption, PointVariabilities, measure_variability
from datamill.analysis.distribution.variability_comparison import FactorVariability, compare_variability
from datamill.analysis.distribution.windows import WindowAnalysis, analyze_windows
from datamill.analysis.groups.logarithms import is_logarithm
from datamill.analysis.model_data.cells import ModelFactor
from datamill.analysis.model_data.observations import Observations
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.report.figures.figure import Figure
from datamill.report.tables.statement import Part
from datamill.report.tests.statement import ResponseNotes
from datamill.report.variability.figures import draw_variability, draw_windows
from datamill.report.variability.json import spell_variability, spell_windows
from datamill.report.variability.statement import (
    collect_warnings,
    phrase_association,
    phrase_variability,
    state_variability,
    state_windows,
)
from datamill.verbs.analyses.analysis import Analysis, Asked, build_groups_question, refuse_covariates
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import (
    SHORTEST_WINDOW,
    check_choice,
    take_confidence,
    take_name,
    take_seed,
    take_whole,
)
from datamill.verbs.inputs.data import locate_errors, read_data


@dataclass(frozen=True, slots=True, eq=False)
class Variability(Analysis):
    """Variability of each design point, and its comparison between the levels of each factor."""

    notes: ResponseNotes
    points: PointVariabilities
    by_factor: tuple[FactorVariability, ...]
    factors: tuple[ModelFactor, ...]

    @property
    def title(self) -> str:
        """What was measured."""
        return f"Variability of {self.notes.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which factor changes the variability, and how much."""
        return tuple(phrase_variability(self.notes.response, self.points, self.by_factor))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return collect_warnings(self.points, self.by_factor)

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return tuple((factor.name, factor.levels) for factor in self.factors)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The table of design points."""
        return state_variability(self.notes, self.points, self.by_factor)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_variability(self.notes, self.points, self.by_factor)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Coefficients of variation by the levels of factors (thesis 2015, Figures 5.5 to 5.9)."""
        return (partial(draw_variability, self.notes.response, self.points, self.factors),)


@dataclass(frozen=True, slots=True, eq=False)
class Windows(Analysis):
    """Variability over windows of consecutive observations against a count of events among them."""

    notes: ResponseNotes
    windows: WindowAnalysis

    @property
    def title(self) -> str:
        """What was measured."""
        return f"Variability of {self.notes.response} against {self.windows.against}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Whether variability and skewness go with the count."""
        return tuple(
            phrase_association(self.notes.response, self.windows, item) for item in self.windows.associations
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.windows.warnings

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The table of counts."""
        return state_windows(self.notes, self.windows)

    def numbers(self) -> dict[str, Any]:
        """Every window with every digit."""
        return spell_windows(self.notes, self.windows)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Coefficient of variation and skewness against the count (thesis 2019, section 2.2.1)."""
        return (partial(draw_windows, self.notes.response, self.windows),)


@split_by_level()
def variability(
    data: Any,
    *,
    assume: Assumption = "nothing",
    adjust: Adjustment = "holm",
    window: int | None = None,
    against: str = "",
    confidence: float | None = None,
    seed: int = 1,
    **asked: Unpack[Asked],
) -> Variability | Windows:
    """Measure how much a response varies at each design point, and whether a factor changes that.

    `data` is as in `anova`; without factors all rows of a plain table are one group. With `window`, a
    number of consecutive observations, and `against`, a column that counts events, variability and
    skewness of windows are set against that count.

    Raises:
        InputError: the data cannot be used, or do not allow it; says what to do.
    """
    check_choice("assume", assume, get_args(Assumption))
    check_choice("adjust", adjust, get_args(Adjustment))
    confidence, seed = take_confidence(confidence), take_seed(seed)
    window, against = take_whole("window", window, SHORTEST_WINDOW), take_name("against", against)
    if bool(window) != bool(against):
        raise InputError(
            f"{argument('window')} and {argument('against')} go together",
            remedy="Give both, a number of observations and a column that counts events, or neither.",
        )
    question = build_groups_question(asked, variability)
    if window:
        if question.formula:
            raise InputError(
                "windows are taken within design points, which a formula does not name",
                remedy="Name them by factors instead.",
            )
        # Measurements stand in their order inside a trial: averaging would take away what is looked for.
        read = read_data(data, replace(question, covariates=(against,)), average=False)
        with locate_errors(read.source):
            _refuse_logarithm(read.selected.observations)
            found = analyze_windows(
                read.selected.observations, window, confidence=read.choose_confidence(confidence)
            )
        found = replace(found, warnings=(*found.warnings, *read.notes))
        return Windows(describe_response(read.selected.observations), found)
    read = read_data(data, question, allow_no_factor=True)
    observations = read.selected.observations
    refuse_covariates(observations, variability)
    with locate_errors(read.source):
        _refuse_logarithm(observations)
        points = measure_variability(
            observations.cells,
            assumption=assume,
            confidence=read.choose_confidence(confidence),
            seed=seed,
        )
        by_factor = compare_variability(points, adjust)
    points = replace(points, warnings=(*points.warnings, *read.notes))
    return Variability(describe_response(observations), points, by_factor, observations.cells.factors)


def _refuse_logarithm(observations: Observations) -> None:
    """Refuse a logarithm: its zero depends on the unit, and with it the ratio of spread to mean."""
    if is_logarithm(observations):
        raise InputError(
            f"the coefficient of variation of {observations.response} depends on the unit",
            remedy=f"Ask for the response itself; tests {argument('compare', 'spread')} compares "
            "spreads of logarithms.",
        )

"""`summary`: distributions by groups, as five numbers and as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Unpack, get_args

from datamill.analysis.distribution.shapes import bin_observations, find_boxes, find_steps
from datamill.analysis.distribution.summary import DistributionSummary, summarize_distributions
from datamill.analysis.groups.logarithms import is_logarithm
from datamill.analysis.model_data.cells import Cells
from datamill.report.figures.figure import Figure
from datamill.report.summary.figures import draw_boxes, draw_ecdf, draw_histogram
from datamill.report.summary.json import spell_summary
from datamill.report.summary.statement import choose_summary_scale, phrase_summary, state_summary
from datamill.report.tables.statement import Part
from datamill.report.tests.statement import ResponseNotes
from datamill.verbs.analyses.analysis import Analysis, Asked, build_groups_question, refuse_covariates
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import check_choice, take_confidence
from datamill.verbs.inputs.data import locate_errors, read_data

Kind = Literal["box", "ecdf", "histogram"]


@dataclass(frozen=True, slots=True, eq=False)
class Summary(Analysis):
    """Five numbers, mean and spread of every group."""

    notes: ResponseNotes
    summary: DistributionSummary
    cells: Cells

    @property
    def title(self) -> str:
        """What was summarised."""
        return f"Distribution of {self.notes.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Where the middle of the observations lies."""
        scale = choose_summary_scale(self.notes.unit, self.summary)
        return (phrase_summary(self.notes.response, self.summary, scale),)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return self.summary.warnings

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return tuple((factor.name, factor.levels) for factor in self.cells.factors)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The table of five numbers."""
        return state_summary(self.notes, self.summary)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_summary(self.notes, self.summary)

    def figure(self, kind: Kind, *, log: bool = False) -> Figure:
        """Box plots, empirical distribution functions or histograms.

        Raises:
            InputError: there is no such kind; `log`, and there are values that have no logarithm.
        """
        check_choice("kind", kind, get_args(Kind))
        response, unit, cells = self.notes.response, self.notes.unit, self.cells
        if kind == "box":
            return draw_boxes(response, unit, cells, find_boxes(cells), log=log)
        if kind == "ecdf":
            return draw_ecdf(response, unit, cells, find_steps(cells), log=log)
        return draw_histogram(response, unit, cells, bin_observations(cells, log=log), log=log)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """All three pictures of the distributions."""
        kinds: tuple[Kind, ...] = ("box", "ecdf", "histogram")
        return tuple(partial(self.figure, kind) for kind in kinds)


@split_by_level()
def summary(data: Any, *, confidence: float | None = None, **asked: Unpack[Asked]) -> Summary:
    """Summarise the distribution of a response: of all observations, or by the levels of factors.

    `data` is as in `anova`; without factors all rows of a plain table are one group.

    Raises:
        InputError: the data cannot be used; says what to do.
    """
    confidence = take_confidence(confidence)
    question = build_groups_question(asked, summary)
    read = read_data(data, question, average=False, allow_no_factor=True, describes=True)
    observations = read.selected.observations
    refuse_covariates(observations, summary)
    with locate_errors(read.source):
        found = summarize_distributions(observations, read.choose_confidence(confidence))
    found = replace(found, warnings=(*found.warnings, *read.notes))
    if is_logarithm(observations):
        # Its zero depends on the unit, and with it the ratio of spread to mean.
        found = replace(found, groups=tuple(replace(group, cv=None) for group in found.groups))
    return Summary(describe_response(observations), found, observations.cells)

"""`tests`: groups compared; the caller states the assumption, the test follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack, get_args

from datamill.analysis.contrasts.multiplicity import Adjustment
from datamill.analysis.groups.comparison import compare_groups
from datamill.analysis.groups.group_comparison import Aspect, Assumption, GroupComparison, Stratum
from datamill.analysis.groups.logarithms import find_transform, speak_of_ratios
from datamill.analysis.groups.splitting import find_factor, split_groups
from datamill.experiment.messages.arguments import tell, verb
from datamill.report.figures.figure import Figure
from datamill.report.tables.statement import Part
from datamill.report.tests.figures import draw_comparison
from datamill.report.tests.json import spell_tests
from datamill.report.tests.statement import (
    ResponseNotes,
    choose_response_scale,
    collect_warnings,
    phrase_answer,
    state_tests,
)
from datamill.verbs.analyses.analysis import Analysis, Asked, build_groups_question, refuse_covariates
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import check_choice, take_confidence, take_name, take_seed
from datamill.verbs.inputs.data import locate_errors, read_data

_SHARED_BUILDS = (
    "strata share builds, and what is said over all strata takes observations for independent: of packages "
    f"and build factors it is too sure; the bundle's report and {verb('compare')} judge by builds"
)


@dataclass(frozen=True, slots=True, eq=False)
class Tests(Analysis):
    """A comparison of groups."""

    notes: ResponseNotes
    comparison: GroupComparison
    strata: tuple[Stratum, ...]

    @property
    def title(self) -> str:
        """What was compared."""
        return f"{self.notes.response} by {self.comparison.factor}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which group is larger, by how much, how sure."""
        scale = choose_response_scale(self.notes.unit, self.comparison)
        return (phrase_answer(self.notes.response, self.comparison, scale),)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return tuple(collect_warnings(self.comparison))

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The groups that are compared."""
        pairs = [pair for stratum in self.comparison.strata for pair in stratum.pairs]
        names = dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second))
        return ((self.comparison.factor, tuple(names)),)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """The answer, then every comparison."""
        return state_tests(self.notes, self.comparison)

    def numbers(self) -> dict[str, Any]:
        """Every comparison with every digit."""
        return spell_tests(self.notes, self.comparison)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The groups' observations, and every pair's estimate with its interval."""
        notes = self.notes
        return (partial(draw_comparison, notes.response, notes.unit, self.comparison, self.strata),)


@split_by_level()
def tests(
    data: Any,
    *,
    factor: str = "",
    assume: Assumption = "nothing",
    compare: Aspect = "location",
    adjust: Adjustment = "holm",
    confidence: float | None = None,
    seed: int = 1,
    **asked: Unpack[Asked],
) -> Tests:
    """Compare the groups that the levels of a factor form, by the test that the assumption asks for.

    `data` is as in `anova`. `factor` is the first of the factors unless named, and may be the only one
    named; groups are compared within each combination of the others. Measurements of one trial are
    averaged first.

    Raises:
        InputError: the data cannot be used, or do not allow the comparison; says what to do.
    """
    check_choice("assume", assume, get_args(Assumption))
    check_choice("compare", compare, get_args(Aspect))
    check_choice("adjust", adjust, get_args(Adjustment))
    confidence, seed, factor = take_confidence(confidence), take_seed(seed), take_name("factor", factor)
    question = replace(build_groups_question(asked, tests), usual_factor=factor)
    read = read_data(data, question)
    observations = read.selected.observations
    refuse_covariates(observations, tests)
    with locate_errors(read.source):
        chosen = find_factor(observations.cells, factor, read.selected.blocks)
        strata = split_groups(observations.cells, chosen)
        comparison = compare_groups(
            strata,
            observations.cells.factors[chosen].name,
            assumption=assume,
            aspect=compare,
            adjustment=adjust,
            confidence=read.choose_confidence(confidence),
            seed=seed,
        )
    if observations.cells.builds is not None and comparison.combined is not None:
        comparison = replace(comparison, warnings=(*comparison.warnings, tell(_SHARED_BUILDS)))
    comparison = replace(comparison, warnings=(*comparison.warnings, *read.notes))
    comparison = speak_of_ratios(comparison, find_transform(observations))
    return Tests(describe_response(observations), comparison, strata)

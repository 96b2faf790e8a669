"""`anova`: linear model, analysis of variance, and whether its assumptions hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack, get_args

import numpy as np

from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.assumptions.diagnostics import gather_diagnostics
from datamill.analysis.levels.level_changes import LevelChanges
from datamill.analysis.levels.level_means import bound_over_blocks
from datamill.analysis.levels.level_observations import split_observations
from datamill.analysis.linear.linear_model import LevelEffect, LinearModel, SquaresType
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.linear.reduction import centre_covariates
from datamill.analysis.model_data.observations import Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles
from datamill.analysis.quantile.quantile_model import QuantileModel
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import tell, verb
from datamill.report.anova.answer import choose_largest_change, state_answer, word_changes
from datamill.report.anova.diagnosis import diagnose_model
from datamill.report.anova.figures import draw_diagnostics, draw_effect_shares
from datamill.report.anova.json import spell_anova
from datamill.report.anova.statement import state_anova
from datamill.report.changes.figure import draw_change
from datamill.report.figures.figure import Figure
from datamill.report.quantiles.figures import draw_effects_by_quantile
from datamill.report.quantiles.warnings import list_quantile_warnings
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis, Asked, build_question
from datamill.verbs.analyses.by_level import split_by_level
from datamill.verbs.analyses.level_changes import compare_levels
from datamill.verbs.inputs.arguments import check_choice, take_alpha, take_confidence
from datamill.verbs.inputs.data import locate_errors, read_data

#: Quantiles that stand beside the mean where the linear model's assumptions do not hold.
_QUANTILES = (0.5, 0.9)
_SHARED_BUILDS = (
    "design points share builds, and this table takes all observations for independent: p-values of what a "
    "build has (package, build factors) are too small, those of other factors too large; the bundle's report "
    f"and {verb('compare')} judge by builds"
)


@dataclass(frozen=True, slots=True, eq=False)
class Anova(Analysis):
    """A linear model with its checks; `quantiles` where these fail, at the median and 0.9."""

    observations: Observations
    model: LinearModel
    checks: AssumptionChecks
    quantiles: QuantileModel | None
    changes: LevelChanges
    reduced: bool

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"Analysis of variance of {self.observations.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Which effects were detected, how large they are, and what to trust."""
        diagnosis = diagnose_model(self.checks)
        said = state_answer(self.observations, self.model, self.checks, self.quantiles, self.changes)
        return (*said, *((diagnosis.advice,) if diagnosis else ()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        seen, beside = self.observations, self.quantiles
        more = () if beside is None else list_quantile_warnings(beside, seen.response, seen.unit)
        return tuple(dict.fromkeys((*self.model.warnings, *self.checks.warnings, *more)))

    def label_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Levels of the factors."""
        return tuple((factor.name, factor.levels) for factor in self.observations.cells.factors)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """Means by level, then the table as in the papers; `verbose`: half-changes as shares of the mean."""
        return state_anova(
            self.observations,
            self.model,
            self.checks,
            self.quantiles,
            self.changes,
            reduced=self.reduced,
            verbose=verbose,
        )

    def numbers(self) -> dict[str, Any]:
        """The table with every digit."""
        return spell_anova(self.observations, self.model, self.checks, self.quantiles, self.changes)

    def effects_figure(self) -> Figure:
        """The observations at the levels of the factor that changes most, and the changes between these.

        Of a model whose changes are its own, as with covariates, half-changes as shares of the mean.
        """
        seen, found = self.observations, self.changes
        if not found.changes:
            return self.shares_figure()
        most = choose_largest_change(found, self.model)
        wording = word_changes(found, self.model, seen.response, seen.unit)
        return draw_change(
            most,
            split_observations(seen.cells, most),
            found.means,
            response=seen.response,
            units=seen.units,
            scale=wording.scale,
            confidence=self.model.confidence,
        )

    def shares_figure(self) -> Figure:
        """Half-changes as shares of the mean (thesis 2015, Figure 5.1)."""
        return draw_effect_shares(self.model, self.observations.response)

    def diagnostics_figure(self) -> Figure:
        """Residuals, probability plot, histogram and Cook's distances.

        Raises:
            InputError: there is no error to draw.
        """
        found = gather_diagnostics(self.observations.cells, self.model)
        if found is None:
            raise InputError("there is no error to draw: like observations are all equal")
        return draw_diagnostics(found, self.observations.response, self.observations.unit)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Effects, diagnostics, and effects by quantile where the model's assumptions fail."""
        quantiles = self.quantiles
        beside = (
            () if quantiles is None else (partial(draw_effects_by_quantile, self.observations, quantiles),)
        )
        return (self.effects_figure, self.diagnostics_figure, *beside)


@split_by_level(0.01)
def anova(
    data: Any,
    *,
    squares: SquaresType = "III",
    reduced: bool = False,
    confidence: float | None = None,
    alpha: float | None = None,
    quantiles: bool = True,
    **asked: Unpack[Asked],
) -> Anova:
    """Fit a linear model, test its terms and check its assumptions.

    `data` is a table (polars, pandas, Arrow, a dict of columns) or the path of a CSV or Parquet file
    or of a bundle. Observations of one trial are averaged first, since they are no replicates. Where
    assumptions fail, the median and the 0.9 quantile are fitted as well unless `quantiles` is false.

    Raises:
        InputError: the data cannot be used, or do not allow the model; says what to do.
    """
    check_choice("squares", squares, get_args(SquaresType))
    confidence = take_confidence(confidence)
    alpha = None if alpha is None else take_alpha(alpha)
    question = build_question(asked, anova)
    read = read_data(data, question)
    read.ask_about_identifiers(question)
    observations = read.selected.observations
    with locate_errors(read.source):
        model = fit_linear_model(
            observations.cells,
            terms=read.selected.terms,
            covariates=observations.covariates,
            blocks=read.selected.blocks,
            squares=squares,
            confidence=read.choose_confidence(confidence),
            alpha=read.choose_alpha(alpha, 0.01),
            transform=observations.transform,
        )
        if read.selected.blocks:
            model = _bound_means_over_blocks(read.selected, model)
        if observations.cells.builds is not None:
            model = replace(model, warnings=(*model.warnings, tell(_SHARED_BUILDS)))
        model = replace(model, warnings=(*model.warnings, *read.notes))
        checks = check_assumptions(
            observations.cells, model, covariates=observations.covariates, when=observations.order
        )
        beside = None
        if checks.trust != "means" and quantiles:
            beside = _fit_beside(read.selected, model)
        changes = compare_levels(read, model)
    return Anova(observations, model, checks, beside, changes, reduced)


def _bound_means_over_blocks(data: ModelData, model: LinearModel) -> LinearModel:
    """The model with intervals of its means that other blocks than these would also keep to."""
    cells = data.observations.cells
    names = [factor.name for factor in cells.factors]
    blocks = [names.index(block) for block in data.blocks]

    def bound(mean: LevelEffect, factor: int) -> LevelEffect:
        member = cells.codes[:, factor] == cells.factors[factor].levels.index(mean.levels[0])
        return replace(mean, value=bound_over_blocks(cells, mean.value, member, blocks, model.confidence))

    everywhere = np.ones(cells.counts.size, dtype=bool)
    return replace(
        model,
        mean=bound_over_blocks(cells, model.mean, everywhere, blocks, model.confidence),
        terms=tuple(
            row
            if row.block
            else replace(row, means=tuple(bound(mean, row.term.factors[0]) for mean in row.means))
            for row in model.terms
        ),
    )


def _fit_beside(data: ModelData, model: LinearModel) -> QuantileModel:
    """Quantiles of the same model, over covariates that count from their means as the model's do."""
    centred = tuple(covariate for covariate, _ in centre_covariates(data.observations.covariates))
    same = replace(
        data,
        observations=replace(data.observations, covariates=centred),
        terms=tuple(row.term for row in model.terms),
    )
    return fit_quantiles(same, _QUANTILES, confidence=model.confidence, alpha=model.alpha)

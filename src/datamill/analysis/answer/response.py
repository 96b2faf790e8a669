"""Everything that is inferred about one response of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from datamill.analysis.answer.claims.asked_change import find_asked_change
from datamill.analysis.answer.fitted.blocked_model import (
    BLOCK,
    BlockedModel,
    fit_within_blocks,
    share_within_blocks,
    wants_blocks,
)
from datamill.analysis.answer.fitted.possible_model import find_fallback, fit_possible_model
from datamill.analysis.answer.influence import rank_terms
from datamill.analysis.answer.term_influence import Influence
from datamill.analysis.assumptions.assumption_checks import AssumptionChecks
from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.contrasts.blocks import BlockFit
from datamill.analysis.contrasts.contrast import (
    PooledError,
    bound_contrast,
    estimate_contrast,
    has_replicates,
    use_own_errors,
    use_pooled_errors,
)
from datamill.analysis.distribution.shapes import (
    CellBox,
    CellSteps,
    GroupBox,
    find_boxes,
    find_steps,
    summarize_groups,
)
from datamill.analysis.levels.comparison import Comparison, PackageMean
from datamill.analysis.levels.level_changes import LevelChange, find_largest_changes, rank_changes
from datamill.analysis.levels.level_means import (
    LevelMean,
    bound_over_blocks,
    estimate_level_means,
    include_spread_of_blocks,
)
from datamill.analysis.levels.level_observations import split_observations
from datamill.analysis.levels.missing_levels import find_missing_levels, phrase_missing_levels
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, FloatArray, merge_cells
from datamill.analysis.model_data.observations import Observations, select_response
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response


@dataclass(frozen=True, slots=True, eq=False)
class ResponseAnalysis:
    """One response: its observations and what they tell.

    What the data do not allow is None, and `warnings` say why. `package_factor` is the index of
    the package among the cells' factors, None when a single one has valid data; `mean` is that
    package's, None with several. `boxes` has the quartiles of each package's observations. `blocked` is the
    model with blocks, where trials were run in some; then differences are those within blocks.
    `missing_packages` were to be compared and have no valid data. `level_means` and `changes` are of the
    other factors, by package; `package_means` and `package_change` of the packages. `asked_change` answers a
    question about factors, where no packages are compared.
    """

    response: Response
    observations: Observations
    package_factor: int | None
    model: LinearModel | None
    comparison: Comparison | None
    influence: Influence | None
    checks: AssumptionChecks | None
    level_means: tuple[LevelMean, ...]
    changes: tuple[LevelChange, ...]
    mean: PackageMean | None
    boxes: tuple[GroupBox, ...]
    missing_packages: tuple[str, ...]
    confidence: float
    alpha: float
    warnings: tuple[str, ...]
    blocked: BlockedModel | None = None
    package_means: tuple[LevelMean, ...] = ()
    package_change: LevelChange | None = None
    asked_change: LevelChange | None = None

    @property
    def unit(self) -> str:
        """Unit of the response, as the experiment gives it or else the table."""
        return self.response.unit or self.observations.unit

    def find_largest_change(self, factor: str) -> tuple[LevelChange | None, int]:
        """Return the largest change of a factor, the package or another, and among how many groups."""
        of_package = (self.package_change,) if self.package_change is not None else ()
        own = [change for change in (*of_package, *self.changes) if change.factor == factor]
        return (rank_changes(own)[0] if own else None), len(own)

    def list_shown_changes(self, factor: str) -> tuple[LevelChange, ...]:
        """Return the changes of a factor, by package, that are told from zero, the largest first."""
        own = [item for item in self.changes if item.factor == factor]
        return rank_changes([item for item in own if item.pair.difference.excludes_zero])

    def split_observations(self, change: LevelChange) -> dict[str, FloatArray]:
        """Return the observations that the means of a change are of: by level, ordered by size."""
        return split_observations(self.observations.cells, change)

    def find_boxes(self, factors: Sequence[int]) -> tuple[Cells, tuple[CellBox, ...]]:
        """Return the groups that some of the cells' factors (indices) make, and the box of each."""
        merged = merge_cells(self.observations.cells, factors)
        return merged, find_boxes(merged)

    def find_steps(self) -> tuple[Cells, tuple[CellSteps, ...]]:
        """Return the packages, or all observations of a single one, and the distribution function of each."""
        packages = [] if self.package_factor is None else [self.package_factor]
        merged = merge_cells(self.observations.cells, packages)
        return merged, find_steps(merged)


def analyze_response(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: Response
) -> ResponseAnalysis:
    """Fit the model, compare the packages, rank the factors and check the assumptions.

    Factors are those of the design, and the machine when there are several, that have more than
    one level with data. The order of interactions is the experiment's, or less where there are
    too few observations for it.

    Raises:
        InputError: the response has no valid row, or a factor's column is missing.
    """
    # A package of that name that is no factor has one level; whatever varies in the data is a factor.
    levels = {factor.name: factor.levels for factor in design.crossed}
    valid = table.filter((pl.col("response") == response.name) & pl.col("valid"))
    names = [name for name in levels if name not in valid.columns or valid[name].n_unique() > 1]
    # On a fleet the worker is the machine under another name.
    for extra in ("package",) if MACHINE_FACTOR in levels else ("package", "worker"):
        if extra not in names and extra in valid.columns and valid[extra].n_unique() > 1:
            names.append(extra)
    levels.setdefault("package", tuple(package.name for package in experiment.packages))
    observations = select_response(table, response.name, names, levels=levels)
    cells = observations.cells
    warnings = _phrase_measurements(observations, planned=experiment.replication is not None)
    planned = dict(levels)
    if experiment.packages:
        planned["package"] = tuple(package.name for package in experiment.packages)
    missing = find_missing_levels(valid, planned)
    warnings += phrase_missing_levels(missing, planned)
    model = fit_possible_model(cells, experiment, warnings)
    package_factor = names.index("package") if "package" in names else None
    fallback = find_fallback(cells, package_factor, model, experiment)
    blocked, by_block = None, None
    if wants_blocks(experiment, valid):
        by_block = select_response(table, response.name, (*names, BLOCK), levels=levels).cells
        if model is not None:
            blocked = fit_within_blocks(names, cells, by_block, model, warnings)
    blocks = None if blocked is None else blocked.fit
    comparison = None
    if package_factor is not None:
        chosen = design.points // len(levels["package"]) if design.construction else 0
        comparison = _compare(cells, package_factor, experiment, response, fallback, blocks, chosen, warnings)
    influence, checks = None, None
    if model is not None:
        influence = rank_terms(cells, model, group_factor=package_factor, fallback=fallback, blocks=blocks)
        if blocked is None:
            checks = check_assumptions(cells, model, when=observations.order)
        else:
            influence = share_within_blocks(influence, blocked.model)
            in_cells = float(np.min(cells.counts))
            checks = check_assumptions(
                blocked.cells, blocked.model, when=observations.order, in_cells=in_cells
            )
    mean, name = None, ""
    if package_factor is None:
        present = valid["package"].drop_nulls() if "package" in valid.columns else None
        name = str(present[0]) if present is not None and present.len() else next(iter(levels["package"]), "")
        mean = _estimate_mean(cells, by_block, name, experiment, fallback, warnings)
    means: list[LevelMean] = []
    changes: list[LevelChange] = []
    for index in range(len(cells.factors)):
        if index != package_factor:
            found = _compare_levels(
                cells, index, package_factor, experiment, response, fallback, blocks, by_block
            )
            means += found[0]
            changes += found[1]
    packages: tuple[tuple[LevelMean, ...], tuple[LevelChange, ...]] = ((), ())
    if package_factor is not None and comparison is not None:
        packages = _compare_levels(
            cells, package_factor, None, experiment, response, fallback, blocks, by_block
        )
    if comparison is not None and packages[0]:
        # The comparison's means are those of the packages as levels, which blocks make uncertain.
        bounded = {mean.level: mean.value for mean in packages[0]}
        comparison = replace(
            comparison,
            means=tuple(
                replace(mean, value=bounded.get(mean.package, mean.value)) for mean in comparison.means
            ),
        )
    for part in (model, comparison, influence, checks):
        if part is not None:
            warnings += [warning for warning in part.warnings if warning not in warnings]
    return ResponseAnalysis(
        response=response,
        observations=observations,
        package_factor=package_factor,
        model=model,
        comparison=comparison,
        influence=influence,
        checks=checks,
        level_means=tuple(means),
        changes=tuple(changes),
        mean=mean,
        boxes=summarize_groups(cells, package_factor, name),
        missing_packages=missing.get("package", ()),
        confidence=experiment.confidence,
        alpha=experiment.alpha,
        warnings=tuple(warnings),
        blocked=blocked,
        package_means=packages[0],
        package_change=next(iter(packages[1]), None),
        asked_change=find_asked_change(experiment, cells.factors, influence, changes)
        if package_factor is None
        else None,
    )


def _compare_levels(
    cells: Cells,
    factor: int,
    group_factor: int | None,
    experiment: Experiment,
    response: Response,
    fallback: tuple[PooledError, ...],
    blocks: BlockFit | None,
    by_block: Cells | None,
) -> tuple[tuple[LevelMean, ...], tuple[LevelChange, ...]]:
    """Means of a factor's levels, and the largest change between them, of each group."""
    means = estimate_level_means(
        cells,
        factor=factor,
        group_factor=group_factor,
        confidence=experiment.confidence,
        fallback=fallback,
        blocks=blocks,
    )
    if by_block is not None:
        means = include_spread_of_blocks(
            by_block,
            means,
            factor=factor,
            group_factor=group_factor,
            blocks=[len(cells.factors)],
            confidence=experiment.confidence,
        )
    changes = find_largest_changes(
        cells,
        factor=factor,
        group_factor=group_factor,
        direction=response.direction,
        confidence=experiment.confidence,
        alpha=experiment.alpha,
        fallback=fallback,
        blocks=blocks,
    )
    return means, changes


def _phrase_measurements(observations: Observations, *, planned: bool) -> list[str]:
    """What became of repetition within observations, unless the experiment planned it so."""
    warnings = []
    if observations.averaged and not planned:
        warnings.append(
            f"{observations.averaged} trials have several measurements each, which were averaged: "
            "measurements inside one execution are not replicates"
        )
    if observations.averaged_builds and not planned:
        warnings.append(
            f"{observations.averaged_builds} builds have several executions each, which were averaged: "
            "executions of one build are not replicates, so that n counts builds"
        )
    if observations.partly_valid:
        warnings.append(
            f"{observations.partly_valid} trials have invalid measurements besides valid ones: "
            "their mean is over the valid ones"
        )
    return warnings


def _estimate_mean(
    cells: Cells,
    by_block: Cells | None,
    name: str,
    experiment: Experiment,
    fallback: tuple[PooledError, ...],
    warnings: list[str],
) -> PackageMean | None:
    weights = np.full(cells.counts.size, 1.0 / cells.counts.size)
    errors = use_own_errors(cells)
    if not has_replicates(cells):
        if not fallback:
            warnings.append("the mean has no interval: there are no replicates and no model")
            return None
        errors = use_pooled_errors(np.zeros(cells.counts.size, dtype=np.int64), fallback)
        warnings.append("some design points have one observation only: the variance is the model's error")
    mean = estimate_contrast(cells, weights, errors)
    value = bound_contrast(mean, experiment.confidence)
    if by_block is not None:
        everywhere = np.ones(by_block.counts.size, dtype=bool)
        value = bound_over_blocks(by_block, value, everywhere, [len(cells.factors)], experiment.confidence)
    return PackageMean(name, cells.n, value, mean.df)


def _compare(
    cells: Cells,
    package_factor: int,
    experiment: Experiment,
    response: Response,
    fallback: tuple[PooledError, ...],
    blocks: BlockFit | None,
    planned: int,
    warnings: list[str],
) -> Comparison | None:
    packages = cells.factors[package_factor].levels
    first = experiment.packages[0].name if experiment.packages else packages[0]
    baseline = experiment.baseline or first
    if baseline not in packages:
        warnings.append(f"the baseline {baseline} has no valid data; {packages[0]} stands in for it")
        baseline = packages[0]
    try:
        return compare_packages(
            cells,
            factor=package_factor,
            baseline=baseline,
            direction=response.direction,
            confidence=experiment.confidence,
            alpha=experiment.alpha,
            fallback=fallback,
            blocks=blocks,
            planned=planned,
        )
    except InputError as problem:
        warnings.append(f"the packages cannot be compared yet: {problem.message}")
        return None

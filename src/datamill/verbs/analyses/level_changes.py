"""By how much a response changes between levels: of a bundle, the same figures as in its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from datamill.analysis.answer.response import ResponseAnalysis, analyze_response
from datamill.analysis.contrasts.blocks import BlockFit, fit_blocks
from datamill.analysis.contrasts.contrast import PooledError, has_replicates
from datamill.analysis.levels.level_changes import LevelChange, LevelChanges, find_largest_changes
from datamill.analysis.levels.level_means import LevelMean, estimate_level_means, include_spread_of_blocks
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.model_data.cells import Cells, gather_cells
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Direction
from datamill.results.bundles.opening import open_bundle
from datamill.verbs.inputs.data import Data

_PACKAGE = "package"


def compare_levels(data: Data, model: LinearModel) -> LevelChanges:
    """Find the largest change of each factor of a model, and the means behind it, at the model's level.

    Of a bundle whose factors the model has, these are the figures of `datamill run`. Effects of other
    factors are by package where several were measured. A model of a transformed response, with covariates, or
    of unbalanced data that it does not fit cell by cell has none here: its changes are the model's own.
    """
    observations = data.selected.observations
    direction = _find_direction(data)
    asked = _list_main_effects(model)
    if model.transform or observations.covariates or not asked:
        return LevelChanges((), (), direction)
    known = _analyze_as_run_does(data, model, asked)
    if known is not None:
        return LevelChanges(
            (*known.package_means, *known.level_means),
            (*(() if known.package_change is None else (known.package_change,)), *known.changes),
            direction,
        )
    if not (model.balanced or _is_saturated(observations.cells, model)):
        return LevelChanges((), (), direction)
    cells, blocks = _take_blocks_out(observations.cells, data.selected.blocks)
    names = [factor.name for factor in cells.factors]
    package = names.index(_PACKAGE) if _PACKAGE in names else None
    means: list[LevelMean] = []
    changes: list[LevelChange] = []
    for name in asked:
        index = names.index(name)
        group = None if index == package else package
        groups = 1 if group is None else len(cells.factors[group].levels)
        fallback = (PooledError(model.error_ms, model.error_df),) * groups
        own = estimate_level_means(
            cells,
            factor=index,
            group_factor=group,
            confidence=model.confidence,
            fallback=fallback,
            blocks=blocks,
        )
        # Blocks are among the factors of all cells, whether or not changes are within them.
        all_names = [factor.name for factor in observations.cells.factors]
        means += include_spread_of_blocks(
            observations.cells,
            own,
            factor=all_names.index(name),
            group_factor=None if group is None else all_names.index(_PACKAGE),
            blocks=[all_names.index(block) for block in data.selected.blocks],
            confidence=model.confidence,
        )
        changes += find_largest_changes(
            cells,
            factor=index,
            group_factor=group,
            direction=direction or "lower",
            confidence=model.confidence,
            alpha=model.alpha,
            fallback=fallback,
            blocks=blocks,
        )
    return LevelChanges(tuple(means), tuple(changes), direction)


def _find_direction(data: Data) -> Direction | None:
    """Which way is better, where the experiment says so."""
    if data.experiment is None:
        return None
    name = data.selected.observations.response
    return next((item.direction for item in data.experiment.responses if item.name == name), None)


def _list_main_effects(model: LinearModel) -> list[str]:
    terms = [row.term for row in model.effects_of_interest]
    return [model.factors[term.factors[0]].name for term in terms if term.order == 1 and not term.covariates]


def _is_saturated(cells: Cells, model: LinearModel) -> bool:
    """Whether a model's effects are those of the cells' means: all cells have data, and each is fitted."""
    return cells.counts.size == cells.possible and model.pure_error_df == model.error_df


def _analyze_as_run_does(data: Data, model: LinearModel, asked: Sequence[str]) -> ResponseAnalysis | None:
    """What the report says of the same observations; None where something else is asked."""
    observations = data.selected.observations
    if data.experiment is None or data.selected.blocks:
        return None
    response = next((r for r in data.experiment.responses if r.name == observations.response), None)
    if response is None:
        return None
    bundle = open_bundle(Path(data.source))
    experiment = replace(data.experiment, confidence=model.confidence, alpha=model.alpha)
    try:
        found = analyze_response(experiment, bundle.design, bundle.read_table(), response)
    except InputError:
        return None
    cells = found.observations.cells
    same = {factor.name for factor in cells.factors} == set(asked) and cells.n == observations.cells.n
    return found if same else None


def _take_blocks_out(cells: Cells, names: Sequence[str]) -> tuple[Cells, BlockFit | None]:
    """The cells without their block, and differences within it; as they are where that cannot be done."""
    if len(names) != 1:
        return cells, None
    at = [factor.name for factor in cells.factors].index(names[0])
    kept = [index for index in range(len(cells.factors)) if index != at]
    codes = cells.codes[cells.of_row]
    merged = gather_cells([cells.factors[i] for i in kept], codes[:, kept], cells.values + cells.origin)
    if not has_replicates(merged):
        return cells, None
    try:
        return merged, fit_blocks(merged, codes[:, at].astype(np.int64), cells.factors[at].levels)
    except InputError:
        return cells, None

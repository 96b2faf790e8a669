"""The effects that an experiment's result consists of, with what is uncertain about each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from datamill.analysis.answer.fitted.possible_model import find_fallback
from datamill.analysis.answer.machines.machine_by_machine import relate_to_machines
from datamill.analysis.answer.response import ResponseAnalysis, analyze_response
from datamill.analysis.contrasts.contrast import CellErrors, estimate_contrast
from datamill.analysis.levels.level_changes import choose_errors
from datamill.analysis.levels.level_means import is_complete
from datamill.analysis.model_data.cells import Cells, FloatArray
from datamill.analysis.reproduction.reproduction import Effect, EffectKind
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.experiment import Experiment, Response

#: A mean whose standard error is a larger share of it has no usable logarithm.
_MOST_RELATIVE_ERROR = 0.25


@dataclass(frozen=True, slots=True)
class FoundEffects:
    """The effects of one execution, and why others are absent."""

    effects: tuple[Effect, ...]
    unit: str
    warnings: tuple[str, ...]


def choose_kind(experiment: Experiment, design: Design) -> EffectKind:
    """Return what the result of an experiment is about: packages, else levels of factors, else a value."""
    if len(experiment.packages) > 1:
        return "packages"
    varied = [factor for factor in design.crossed if len(factor.levels) > 1 and factor.name != "package"]
    return "levels" if any(factor.name != MACHINE_FACTOR for factor in varied) else "value"


def find_effects(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: Response, kind: EffectKind
) -> FoundEffects:
    """Return the effects of one execution of an experiment on a response.

    Of several packages each is compared with the baseline, of one package the levels of each factor with its
    first; means are over design points of equal weight, as in the experiment's answer, and machines count
    alike. The variance of a logarithm is that of the mean over its square (delta method).

    Raises:
        InputError: the response has no valid row, or a factor's column is missing.
    """
    if kind == "value":
        analysis = analyze_response(experiment, design, table, response)
        return _find_value(experiment, analysis)
    related = relate_to_machines(experiment, design, table)
    relative = next(item for item in related.experiment.responses if item.name == response.name)
    analysis = analyze_response(related.experiment, design, related.table, relative)
    cells = analysis.observations.cells
    baseline = experiment.baseline or (experiment.packages[0].name if experiment.packages else "")
    effects: list[Effect] = []
    warnings: list[str] = []
    for index, factor in enumerate(cells.factors):
        if (factor.name == "package") != (kind == "packages") or factor.name in (MACHINE_FACTOR, "worker"):
            continue
        first = baseline if kind == "packages" and baseline in factor.levels else factor.levels[0]
        effects += _compare_levels(experiment, analysis, index, first, warnings)
    return FoundEffects(tuple(effects), analysis.unit, tuple(warnings))


def _compare_levels(
    experiment: Experiment, analysis: ResponseAnalysis, factor: int, first: str, warnings: list[str]
) -> list[Effect]:
    """Each level against the first, over the combinations of the others that all of them have."""
    cells, item = analysis.observations.cells, analysis.observations.cells.factors[factor]
    member = is_complete(cells, np.ones(cells.counts.size, dtype=bool), factor)
    errors = _choose_errors(experiment, analysis, member, factor)
    if errors is None:
        warnings.append(f"the effect of {item.name} has no error to judge it by: there are no replicates")
        return []
    weights: dict[str, FloatArray] = {}
    for code, level in enumerate(item.levels):
        chosen = member & (cells.codes[:, factor] == code)
        weights[level] = chosen / chosen.sum()
    found = []
    for level in item.levels:
        if level == first:
            continue
        effect = _take_logarithm(cells, item.name, (level, weights[level]), (first, weights[first]), errors)
        if effect is None:
            warnings.append(f"the ratio of {level} to {first} has no logarithm: a mean may be zero")
        else:
            found.append(effect)
    return found


def _choose_errors(
    experiment: Experiment, analysis: ResponseAnalysis, member: np.ndarray, factor: int | None
) -> CellErrors | None:
    """The errors that the experiment's own answer has: each cell's, within blocks, or of a model."""
    cells = analysis.observations.cells
    fallback = find_fallback(cells, analysis.package_factor, analysis.model, experiment)
    by = factor if factor is not None and factor == analysis.package_factor else None
    own = fallback if by is not None or analysis.package_factor is None else ()
    blocks = None if analysis.blocked is None else analysis.blocked.fit
    return choose_errors(cells, member, own, by, blocks)


def _take_logarithm(
    cells: Cells,
    factor: str,
    above: tuple[str, FloatArray],
    below: tuple[str, FloatArray],
    errors: CellErrors,
) -> Effect | None:
    means = [estimate_contrast(cells, weights, errors) for _, weights in (above, below)]
    if any(
        mean.estimate <= 0 or math.sqrt(mean.variance) > _MOST_RELATIVE_ERROR * mean.estimate
        for mean in means
    ):
        return None
    scaled = [weights / mean.estimate for (_, weights), mean in zip((above, below), means, strict=True)]
    departure = scaled[0] - scaled[1]
    if errors.blocks is None:
        linear = estimate_contrast(cells, departure, errors)
        variance, df = linear.variance, linear.df
    else:
        variance = max(0.0, errors.blocks.covary(departure, departure))
        df = errors.blocks.estimate(above[1] - below[1]).df
    used = (above[1] != 0) | (below[1] != 0)
    log_ratio = math.log(means[0].estimate / means[1].estimate)
    return Effect(factor, above[0], below[0], log_ratio, variance, df, int(cells.counts[used].sum()))


def _find_value(experiment: Experiment, analysis: ResponseAnalysis) -> FoundEffects:
    """The mean alone, over all design points."""
    cells = analysis.observations.cells
    member = np.ones(cells.counts.size, dtype=bool)
    errors = _choose_errors(experiment, analysis, member, None)
    if errors is None:
        return FoundEffects((), analysis.unit, ("the mean has no error to judge it by: repeat trials",))
    mean = estimate_contrast(cells, member / member.sum(), errors)
    if mean.estimate <= 0 or math.sqrt(mean.variance) > _MOST_RELATIVE_ERROR * mean.estimate:
        return FoundEffects((), analysis.unit, ("the mean has no logarithm: it may be zero",))
    effect = Effect("", "", "", math.log(mean.estimate), mean.variance / mean.estimate**2, mean.df, cells.n)
    return FoundEffects((effect,), analysis.unit, ())

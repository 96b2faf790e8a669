"""What each factor does on each machine, and whether machines agree about it.

Each machine's effects come from its own trials and its own errors (ICPE 2013, Figure 6 and Table 4). Machines
are compared by the logarithms of ratios of two levels' means, which do not depend on how fast a machine is;
that these are equal is tested by Welch (1951) for each level against the first, together at one error rate:
Bonferroni over a factor's levels, Holm over factors and packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.answer.fitted.possible_model import find_fallback
from datamill.analysis.answer.machines.agreement import find_log_deviation, judge_equal_means
from datamill.analysis.answer.response import ResponseAnalysis
from datamill.analysis.contrasts.contrast import PooledError, WithinBlocks
from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.interval import Interval
from datamill.analysis.levels.comparison import PairComparison
from datamill.analysis.levels.level_changes import choose_errors
from datamill.analysis.levels.level_means import estimate_level_means, is_complete
from datamill.analysis.levels.packages import compare_means
from datamill.analysis.model_data.cells import Cells
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.experiment import Experiment

_PACKAGE = "package"


@dataclass(frozen=True, slots=True)
class LevelOnMachine:
    """A factor's level on one machine, for one package (or "all" where there is one only).

    `departure` is the mean there in percent of the machine's own mean over all levels, less 100; `change` is
    the level against the first one, None at the first itself or where no ratio is bounded. Both intervals are
    single ones at the experiment's confidence. `p` is that of the change, adjusted for the machines and the
    factor's levels by Bonferroni; None at the first level, or where nothing varies.
    """

    machine: str
    group: str
    factor: str
    level: str
    n: int
    departure: Interval | None
    change: Interval | None
    p: float | None


@dataclass(frozen=True, slots=True)
class FactorAgreement:
    """Whether machines agree on what a factor does, for one package (or "all").

    `p` is adjusted over the factor's levels, and over all factors and packages; None where fewer than two
    machines give a ratio. They `differ` where it is below alpha. `level` is the one whose change from `base`
    differs most clearly; `lowest` and `highest` are the machines with the extreme ratios of these two.
    """

    factor: str
    group: str
    base: str
    level: str
    p: float | None
    lowest: tuple[str, float] | None
    highest: tuple[str, float] | None
    differ: bool


@dataclass(frozen=True, slots=True)
class FactorsByMachine:
    """Every factor on every machine; `factors` are their names, each with its first level, as designed."""

    factors: tuple[tuple[str, str], ...]
    levels: tuple[LevelOnMachine, ...]
    agreements: tuple[FactorAgreement, ...]


@dataclass(frozen=True, slots=True)
class _LogRatio:
    """The logarithm of a ratio of two levels on one machine."""

    machine: str
    value: float
    variance: float
    df: float


def compare_factors(
    experiment: Experiment, design: Design, machines: Mapping[str, ResponseAnalysis]
) -> FactorsByMachine:
    """Return what each factor but package and machine does on each machine, and whether they agree.

    Args:
        experiment: with its confidence and alpha, which hold for all machines together.
        design: over all machines.
        machines: each one's analysis by itself.
    """
    factors = tuple(
        (item.name, item.levels[0])
        for item in design.crossed
        if item.name not in (MACHINE_FACTOR, _PACKAGE) and len(item.levels) > 1
    )
    found: list[LevelOnMachine] = []
    ratios: dict[tuple[str, str, str], list[_LogRatio]] = {}
    for name, analysis in machines.items():
        fallback = find_fallback(
            analysis.observations.cells, analysis.package_factor, analysis.model, experiment
        )
        for factor, base in factors:
            for item, ratio in _list_levels(
                name, analysis, factor, base, fallback, experiment, len(machines)
            ):
                found.append(item)
                if ratio is not None:
                    ratios.setdefault((factor, item.group, item.level), []).append(ratio)
    groups = list(dict.fromkeys(item.group for item in found)) or ["all"]
    agreements = [_judge_factor(factor, group, base, ratios) for factor, base in factors for group in groups]
    adjusted = adjust_holm([item.p for item in agreements])
    return FactorsByMachine(
        factors,
        tuple(found),
        tuple(
            replace(item, p=p, differ=p is not None and p < experiment.alpha)
            for item, p in zip(agreements, adjusted, strict=True)
        ),
    )


def _list_levels(
    machine: str,
    analysis: ResponseAnalysis,
    factor: str,
    base: str,
    fallback: tuple[PooledError, ...],
    experiment: Experiment,
    machines: int,
) -> list[tuple[LevelOnMachine, _LogRatio | None]]:
    """The levels of a factor on a machine with the ratio of each to the first, for each package."""
    cells, package = analysis.observations.cells, analysis.package_factor
    names = [item.name for item in cells.factors]
    if factor not in names:
        return []
    index = names.index(factor)
    blocks = None if analysis.blocked is None else analysis.blocked.fit
    means = estimate_level_means(
        cells,
        factor=index,
        group_factor=package,
        confidence=experiment.confidence,
        fallback=fallback,
        blocks=blocks,
    )
    results: list[tuple[LevelOnMachine, _LogRatio | None]] = []
    for mean in means:
        pair = None
        if mean.level != base and base in cells.factors[index].levels:
            pair = _compare_with_base(
                cells, index, package, mean.group, mean.level, base, fallback, blocks, experiment
            )
        comparisons = machines * max(1, len(cells.factors[index].levels) - 1)
        ratio = None if pair is None else pair.ratio
        item = LevelOnMachine(
            machine=machine,
            group=mean.group,
            factor=factor,
            level=mean.level,
            n=mean.n,
            departure=mean.percent,
            change=None if ratio is None else ratio.to_percent(),
            p=None if pair is None or pair.p is None else min(1.0, comparisons * pair.p),
        )
        results.append(
            (item, None if pair is None else _take_logarithm(machine, pair, experiment.confidence))
        )
    return results


def _take_logarithm(machine: str, pair: PairComparison, confidence: float) -> _LogRatio | None:
    deviation = find_log_deviation(pair.ratio, confidence, pair.df)
    if pair.ratio is None or deviation is None:
        return None
    return _LogRatio(machine, float(np.log(pair.ratio.estimate)), deviation**2, pair.df)


def _compare_with_base(
    cells: Cells,
    factor: int,
    package: int | None,
    group: str,
    level: str,
    base: str,
    fallback: tuple[PooledError, ...],
    blocks: WithinBlocks | None,
    experiment: Experiment,
) -> PairComparison | None:
    """A level against the first, over the combinations of other factors that have data at every level."""
    member = np.ones(cells.counts.size, dtype=bool)
    code = 0
    if package is not None:
        code = cells.factors[package].levels.index(group)
        member = cells.codes[:, package] == code
    member &= is_complete(cells, member, factor)
    errors = choose_errors(cells, member, fallback[code : code + 1], None, blocks)
    if errors is None:
        return None
    return compare_means(
        cells,
        {name: _weigh(cells, member, factor, name) for name in (level, base)},
        level,
        base,
        comparisons=1,
        errors=errors,
        direction="lower",
        confidence=experiment.confidence,
        alpha=experiment.alpha,
    )


def _weigh(cells: Cells, member: NDArray[np.bool_], factor: int, level: str) -> NDArray[np.float64]:
    at_level = member & (cells.codes[:, factor] == cells.factors[factor].levels.index(level))
    return np.asarray(at_level / at_level.sum(), dtype=np.float64)


def _judge_factor(
    factor: str, group: str, base: str, ratios: Mapping[tuple[str, str, str], Sequence[_LogRatio]]
) -> FactorAgreement:
    """Welch's test of each level's ratios, the smallest p-value times their number."""
    judged = []
    for (name, of, level), items in ratios.items():
        if (name, of) == (factor, group) and len(items) > 1:
            p = judge_equal_means(
                np.array([item.value for item in items]),
                np.array([item.variance for item in items]),
                np.array([item.df for item in items]),
            )
            judged.append((p, level, items))
    if not judged:
        return FactorAgreement(factor, group, base, "", None, None, None, differ=False)
    p, level, items = min(judged, key=lambda entry: entry[0])
    ordered = sorted((float(np.exp(item.value)), item.machine) for item in items)
    (low, lowest), (high, highest) = ordered[0], ordered[-1]
    return FactorAgreement(
        factor, group, base, level, min(1.0, len(judged) * p), (lowest, low), (highest, high), differ=False
    )

"""Experiments over several unlike machines: values relative to a machine's own level, and machine by machine.

A machine may be ten times as fast as another. A mean of their times would be that of the slow one, and the
spread between them would drown what is asked about. So each value is divided by its machine's level: then
every machine counts alike, and what is compared is compared within machines. Machines are fixed effects: what
is said holds for those that took part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from datamill.analysis.answer.machines.agreement import find_log_deviation, judge_equal_means
from datamill.analysis.answer.machines.effect_spread import EffectSpread, spread_effects
from datamill.analysis.answer.machines.factor_effects import FactorsByMachine, compare_factors
from datamill.analysis.answer.machines.labels import MachineLabel, label_machines
from datamill.analysis.answer.response import ResponseAnalysis, analyze_response
from datamill.analysis.contrasts.multiplicity import share_confidence
from datamill.analysis.levels.comparison import PairComparison
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response

#: Unit of values that are relative to the level of their machine.
RELATIVE_UNIT = "{% of its machine's mean}"
#: Passes in which levels of machines and of combinations of factors are fitted to each other.
_MOST_PASSES = 200


@dataclass(frozen=True, slots=True)
class RelativeStudy:
    """An experiment whose responses are relative to machines' levels.

    `experiment` and `table` have the unit and the values; `levels` are those of each machine by response, in
    the response's own unit: the mean over all combinations of the other factors. A response that is not in
    `levels` is as it was, for the reason in `unchanged`.
    """

    experiment: Experiment
    table: pl.DataFrame
    levels: Mapping[str, Mapping[str, float]]
    unchanged: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OneMachine:
    """What one machine says for itself, in the response's own unit; `problem` says why it says nothing."""

    name: str
    analysis: ResponseAnalysis | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether machines agree on the ratio of two packages.

    `p` is that of Welch's test (1951) that the logarithms of all machines' ratios are equal, None where
    fewer than two machines give one; they `differ` where it is below alpha. `lowest` and `highest` are the
    machines with the extreme ratios.
    """

    package: str
    baseline: str
    p: float | None
    lowest: tuple[str, float] | None
    highest: tuple[str, float] | None
    differ: bool


@dataclass(frozen=True, slots=True)
class MachineByMachine:
    """Each machine for itself, and whether they agree.

    Verdicts and intervals of a machine are adjusted for the number of machines by Bonferroni; `confidence`
    and `alpha` are those of the experiment, which `agreements` are judged by. `factors` is what each factor
    does on each machine, `spread` how these effects spread, and `labels` are the machines' names in figures.
    """

    machines: tuple[OneMachine, ...]
    agreements: tuple[Agreement, ...]
    confidence: float
    alpha: float
    factors: FactorsByMachine
    spread: EffectSpread
    labels: tuple[MachineLabel, ...]

    @property
    def disagree(self) -> bool:
        """Whether the machines were found to differ about some pair of packages, or about a factor."""
        of_factors = any(item.differ for item in self.factors.agreements)
        return of_factors or any(item.differ for item in self.agreements)


def list_machines(design: Design, table: pl.DataFrame) -> tuple[str, ...]:
    """Return the machines of a design that have valid data, in its order; none where it has only one."""
    factor = next((item for item in design.crossed if item.name == MACHINE_FACTOR), None)
    if factor is None or MACHINE_FACTOR not in table.columns:
        return ()
    present = set(table.filter(pl.col("valid"))[MACHINE_FACTOR].drop_nulls().unique().to_list())
    machines = tuple(name for name in factor.levels if name in present)
    return machines if len(machines) > 1 else ()


def relate_to_machines(experiment: Experiment, design: Design, table: pl.DataFrame) -> RelativeStudy:
    """Return the experiment with every response in percent of its machine's level, where that is possible.

    It is where all values are positive. Levels are fitted to the logarithms of the means of all combinations
    of machine and other factors, as if these acted alike on all machines; so a machine that made few trials
    gets a level that the others would have had in these.
    """
    levels: dict[str, Mapping[str, float]] = {}
    unchanged: dict[str, str] = {}
    responses = list(experiment.responses)
    others = [
        item.name for item in design.crossed if item.name != MACHINE_FACTOR and item.name in table.columns
    ]
    for index, response in enumerate(experiment.responses):
        rows = table.filter((pl.col("response") == response.name) & pl.col("valid"))
        if not list_machines(design, rows):
            continue
        if rows.filter(pl.col("value") <= 0).height:
            unchanged[response.name] = (
                f"machines are compared as they are, so that those with large values of {response.name} "
                "count most: not all values are above zero"
            )
            continue
        levels[response.name] = _fit_levels(rows, others)
        responses[index] = replace(response, unit=RELATIVE_UNIT)
    for name, found in levels.items():
        chosen = pl.col("response") == name
        level = (
            pl.col(MACHINE_FACTOR)
            .cast(pl.String)
            .replace_strict(found, default=None, return_dtype=pl.Float64)
        )
        changed = [pl.when(chosen).then(100 * pl.col("value") / level).otherwise("value").alias("value")]
        if "unit" in table.columns:
            unit = pl.lit(RELATIVE_UNIT)
            changed.append(pl.when(chosen).then(unit).otherwise(pl.col("unit").cast(pl.String)).alias("unit"))
        table = table.with_columns(changed)
    return RelativeStudy(replace(experiment, responses=tuple(responses)), table, levels, unchanged)


def _fit_levels(rows: pl.DataFrame, others: list[str]) -> dict[str, float]:
    """Fit log(mean) = machine + combination of the other factors to cells' means, by least squares."""
    keyed = rows.with_columns(
        pl.col(MACHINE_FACTOR).cast(pl.String), *(pl.col(o).cast(pl.String) for o in others)
    )
    cells = keyed.group_by(MACHINE_FACTOR, *others, maintain_order=True).agg(pl.col("value").mean())
    logs = np.log(cells["value"].to_numpy())
    names, machine = np.unique(cells[MACHINE_FACTOR].to_numpy().astype(str), return_inverse=True)
    points = np.zeros(logs.size, dtype=np.int64)
    if others:
        points = cells.select(pl.struct(others).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    height = np.zeros(names.size)
    for _ in range(_MOST_PASSES):
        point = _average(logs - height[machine], points)
        new = _average(logs - point[points], machine)
        done = np.max(np.abs(new - height)) < 1e-12
        height = new
        if done:
            break
    # The mean over all combinations, also those that a machine lacks; each machine counts alike.
    mean = float(_average(np.exp(logs - height[machine]), points).mean())
    return {str(name): mean * float(np.exp(value)) for name, value in zip(names, height, strict=True)}


def _average(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.bincount(groups, weights=values) / np.bincount(groups)


def compare_machine_by_machine(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: Response
) -> MachineByMachine | None:
    """Analyse each machine by itself, and ask whether they agree; None where there are not several.

    Args:
        experiment: the question.
        design: over all machines.
        table: the tidy table, with values as they were measured.
        response: the response to compare by.
    """
    rows = table.filter(pl.col("response") == response.name)
    machines = list_machines(design, rows)
    if not machines:
        return None
    adjusted = replace(
        experiment,
        confidence=share_confidence(experiment.confidence, len(machines)),
        alpha=experiment.alpha / len(machines),
    )
    factors = tuple(item for item in design.factors if item.name != MACHINE_FACTOR)
    answers = []
    for name in machines:
        own = replace(
            design,
            factors=factors,
            trials=tuple(trial for trial in design.trials if trial.levels.get(MACHINE_FACTOR) == name)
            if design.construction
            else (),
        )
        try:
            analysis = analyze_response(
                adjusted,
                own,
                rows.filter(pl.col(MACHINE_FACTOR) == name).drop("worker", strict=False),
                response,
            )
            answers.append(OneMachine(name, analysis))
        except InputError as problem:
            answers.append(OneMachine(name, None, problem.message))
    known = {answer.name: answer.analysis for answer in answers if answer.analysis is not None}
    factors_found = compare_factors(experiment, design, known)
    return MachineByMachine(
        tuple(answers),
        _judge_agreement(answers, experiment.alpha),
        experiment.confidence,
        experiment.alpha,
        factors_found,
        spread_effects(factors_found),
        label_machines(rows, machines),
    )


def _judge_agreement(answers: list[OneMachine], alpha: float) -> tuple[Agreement, ...]:
    found: dict[tuple[str, str], list[tuple[str, PairComparison, int, float]]] = {}
    for answer in answers:
        comparison = None if answer.analysis is None else answer.analysis.comparison
        if comparison is None:
            continue
        for pair in comparison.pairs:
            key = (pair.package, pair.baseline)
            found.setdefault(key, []).append(
                (answer.name, pair, len(comparison.pairs), comparison.confidence)
            )
    agreements = []
    for (package, baseline), items in found.items():
        known = []
        for name, pair, pairs, confidence in items:
            deviation = find_log_deviation(pair.ratio, 1 - (1 - confidence) / pairs, pair.df)
            if pair.ratio is not None and deviation is not None:
                known.append((name, pair.ratio.estimate, deviation, pair.df))
        if len(known) < 2:
            agreements.append(Agreement(package, baseline, None, None, None, differ=False))
            continue
        ordered = sorted((ratio, name) for name, ratio, _, _ in known)
        p = judge_equal_means(
            np.log([ratio for _, ratio, _, _ in known]),
            np.array([deviation for _, _, deviation, _ in known]) ** 2,
            np.array([df for _, _, _, df in known]),
        )
        (low, lowest), (high, highest) = ordered[0], ordered[-1]
        ends = (lowest, low), (highest, high)
        agreements.append(Agreement(package, baseline, p, *ends, differ=p < alpha))
    return tuple(agreements)

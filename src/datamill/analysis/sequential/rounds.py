"""Rounds: independent replicates of all design points, as far as they have been measured."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.design.batches import repeats_builds
from datamill.design.design import Design
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.experiment import Experiment
from datamill.late import pl


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """One value a round and package: the mean over the package's design points.

    `values` is (R × P), by `numbers` (R) and `packages` (P), NaN where a design point of that package has no
    valid value in that round. A design point's value is the mean of its executions in the round, and an
    execution's that of its measurements, so that rounds are independent and nothing below them counts.
    `steps` (P) are those in which a package's values come where they hide how much these vary, else 0; empty
    where none do. `executions` says how many a value is the mean of.
    """

    packages: tuple[str, ...]
    numbers: tuple[int, ...]
    values: FloatArray
    steps: tuple[float, ...] = ()
    executions: int = 1

    def find_step(self, package: str) -> float:
        """The step that hides how much the values of a package vary; 0 if none does."""
        return self.steps[self.packages.index(package)] if self.steps else 0.0

    def of_package(self, package: str) -> FloatArray:
        """The complete rounds of a package, in order."""
        column = self.values[:, self.packages.index(package)]
        return column[~np.isnan(column)]

    def of_pair(self, first: str, second: str) -> tuple[FloatArray, FloatArray]:
        """The rounds that are complete for both packages, in order."""
        columns = self.values[:, [self.packages.index(first), self.packages.index(second)]]
        both = columns[~np.isnan(columns).any(axis=1)]
        return both[:, 0], both[:, 1]


def gather_rounds(experiment: Experiment, design: Design, table: pl.DataFrame) -> Rounds:
    """Return the rounds of the response that answers the question, from the tidy table.

    Over several machines a round has all design points on each, and values are in percent of their machine's
    level where all are positive, so that each machine counts alike (`find_machine_levels`).
    """
    key = "build" if repeats_builds(experiment) else "replicate"
    packages = tuple(package.name for package in experiment.packages)
    planned = {(trial.package, trial.point) for trial in design.trials if trial.purpose == "question"}
    points = Counter(package for package, _ in planned)
    rows = table.filter(
        (pl.col("response") == experiment.responses[0].name)
        & pl.col("valid")
        & (pl.col("purpose") == "question")
    )
    levels = find_machine_levels(design, rows)
    steps = tuple(_find_step(rows, package, levels) for package in packages)
    if levels:
        level = pl.col("point").replace_strict(levels, default=None, return_dtype=pl.Float64)
        rows = rows.with_columns(value=100 * pl.col("value") / level)
    means = (
        rows.group_by("package", "point", key, "trial_id")
        .agg(pl.col("value").mean())
        .group_by("package", "point", key)
        .agg(pl.col("value").mean())
        .sort("package", key, "point")
        .group_by("package", key)
        .agg(pl.col("value").mean(), pl.len().alias("points"))
    )
    numbers = tuple(sorted(rows[key].unique().to_list()))
    at = {number: row for row, number in enumerate(numbers)}
    values = np.full((len(numbers), len(packages)), np.nan)
    for package, number, value, measured in means.select("package", key, "value", "points").iter_rows():
        if measured == points[package]:
            values[at[number], packages.index(package)] = value
    return Rounds(packages, numbers, values, steps)


def find_machine_levels(design: Design, rows: pl.DataFrame) -> dict[int, float]:
    """Return the level of the machine of each design point; empty unless there are several machines.

    A machine's level is the geometric mean over its design points, each by the mean of its values so far,
    times one factor for all machines, with which design points have 100% of their machine's level on
    average. Rounds are then taken for independent given the levels. That these are estimated from the
    same rounds is of no account where the machines agree on the ratio of the packages. Where they do not
    it adds to the variance of a package's mean the square of half the difference of the logarithms,
    hardly anything up to ±20%. Values that are not all positive have no levels.
    """
    crossed = any(factor.name == MACHINE_FACTOR for factor in design.crossed)
    if not crossed or not rows.height or rows.filter(pl.col("value") <= 0).height:
        return {}
    machine_of = {
        trial.point: trial.levels[MACHINE_FACTOR] for trial in design.trials if trial.purpose == "question"
    }
    logs: dict[str, list[float]] = defaultdict(list)
    means = dict(rows.group_by("point").agg(pl.col("value").mean()).sort("point").iter_rows())
    for point, mean in means.items():
        logs[machine_of[point]].append(math.log(mean))
    levels = {machine: math.exp(math.fsum(own) / len(own)) for machine, own in logs.items()}
    factor = math.fsum(mean / levels[machine_of[point]] for point, mean in means.items()) / len(means)
    return {point: factor * levels[machine] for point, machine in machine_of.items() if machine in levels}


def _find_step(rows: pl.DataFrame, package: str, levels: Mapping[int, float]) -> float:
    """The step that hides how much single measurements of a package vary, design point by design point.

    Over several machines it is the mean of what each machine's step makes of its values.
    """
    own = rows.filter(pl.col("package") == package)
    if not own.height:
        return 0.0
    if not levels:
        return find_hiding_step(own["value"].to_numpy(), own["point"].to_numpy())
    steps = []
    for level in sorted({levels[point] for point in own["point"].unique().to_list()}):
        alike = own.filter(pl.col("point").is_in([point for point, its in levels.items() if its == level]))
        step = find_hiding_step(alike["value"].to_numpy(), alike["point"].to_numpy())
        steps.append(100 * step / level)
    return math.fsum(steps) / len(steps)

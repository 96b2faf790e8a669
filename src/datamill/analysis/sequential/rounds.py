"""Rounds: independent replicates of all design points, as far as they have been measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.steps import find_hiding_step
from datamill.design.batches import repeats_builds
from datamill.design.design import Design
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
    """Return the rounds of the response that answers the question, from the tidy table."""
    key = "build" if repeats_builds(experiment) else "replicate"
    packages = tuple(package.name for package in experiment.packages)
    planned = {(trial.package, trial.point) for trial in design.trials if trial.purpose == "question"}
    points = Counter(package for package, _ in planned)
    rows = table.filter(
        (pl.col("response") == experiment.responses[0].name)
        & pl.col("valid")
        & (pl.col("purpose") == "question")
    )
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
    return Rounds(packages, numbers, values, tuple(_find_step(rows, package) for package in packages))


def _find_step(rows: pl.DataFrame, package: str) -> float:
    """The step that hides how much single measurements of a package vary, design point by design point."""
    own = rows.filter(pl.col("package") == package)
    return find_hiding_step(own["value"].to_numpy(), own["point"].to_numpy()) if own.height else 0.0

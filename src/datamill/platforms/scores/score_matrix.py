"""Scores of a suite by machine and benchmark, and times of the application by machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: What a table's values are: times, of which less is better, or scores, of which more is better.
ScoreKind = Literal["seconds", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """Times of a suite's benchmarks on machines.

    `seconds` (machines × benchmarks) are geometric means over replicates, NaN where a machine has no value;
    of scores they are 1 / score, a time in units of its own for each benchmark, which is all that the methods
    need. `noise` has the standard error of each one's logarithm, NaN where it rests on one replicate.
    `facts` are numbers that are known of machines besides (clock, cores …), NaN where one is not known;
    `families` a word for each machine that says which are built alike, empty where nothing was said.
    """

    machines: tuple[str, ...]
    benchmarks: tuple[str, ...]
    seconds: FloatArray
    noise: FloatArray
    kind: ScoreKind = "seconds"
    facts: Mapping[str, FloatArray] = field(default_factory=dict)
    families: tuple[str, ...] = ()

    def keep_machines(self, names: Sequence[str]) -> ScoreMatrix:
        """The rows of these machines, in this order."""
        rows = [self.machines.index(name) for name in names]
        return replace(
            self,
            machines=tuple(names),
            seconds=self.seconds[rows],
            noise=self.noise[rows],
            facts={name: values[rows] for name, values in self.facts.items()},
            families=tuple(self.families[row] for row in rows) if self.families else (),
        )

    def keep_benchmarks(self, names: Sequence[str]) -> ScoreMatrix:
        """The columns of these benchmarks, in this order."""
        columns = [self.benchmarks.index(name) for name in names]
        return replace(
            self,
            benchmarks=tuple(names),
            seconds=self.seconds[:, columns],
            noise=self.noise[:, columns],
        )


@dataclass(frozen=True, slots=True, eq=False)
class ApplicationTimes:
    """Times of the application: a geometric mean over replicates for each machine (`seconds`).

    `noise` as in `ScoreMatrix`. `kind` "score" says that they are 1 / score.
    """

    name: str
    machines: tuple[str, ...]
    seconds: FloatArray
    noise: FloatArray
    kind: ScoreKind = "seconds"

"""Nested measurements and what is estimated from them, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from datamill.analysis.model_data.cells import FloatArray, IntArray
from datamill.analysis.records import Interval

#: The levels of repetition, outermost first.
Level = Literal["build", "execution", "measurement"]
LEVELS: tuple[Level, ...] = get_args(Level)
PLURALS: dict[Level, str] = {"build": "builds", "execution": "executions", "measurement": "measurements"}


@dataclass(frozen=True, slots=True, eq=False)
class NestedValues:
    """All measurements of one version, nested in executions, which are nested in builds.

    `values` (N) hold executions one after the other, each in the order of its measurements;
    execution e is `values[executions[e]:executions[e + 1]]`, and build k has the executions from
    `builds[k]` up to `builds[k + 1]`: `executions` (E + 1) and `builds` (B + 1) are offsets.
    `build_names` (B) say which builds are those of another version; without names none is.
    """

    version: str
    response: str
    unit: str
    values: FloatArray
    executions: IntArray
    builds: IntArray
    build_names: tuple[str, ...] = ()

    def pool_builds(self) -> NestedValues:
        """The same with all executions in one build: for builds that are one and the same."""
        return replace(self, builds=self.builds[[0, -1]], build_names=self.build_names[:1])

    @property
    def build_count(self) -> int:
        """Number of builds, l in EPEW 2006."""
        return len(self.builds) - 1

    @property
    def execution_count(self) -> int:
        """Number of executions over all builds."""
        return len(self.executions) - 1

    @property
    def balanced(self) -> bool:
        """Whether all builds have as many executions, and all executions as many measurements."""
        return len({*(self.builds[1:] - self.builds[:-1]).tolist()}) == 1 and (
            len({*(self.executions[1:] - self.executions[:-1]).tolist()}) == 1
        )


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a variance that one level has, from 0 to 1, with its interval."""

    level: Level
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class VarianceEstimate:
    """What the nested measurements of one version say about its mean and its three variances.

    `builds` is l; `executions` and `measurements` are the effective m of a build and n of an execution (where
    unbalanced: harmonic means). `mean_squares` are the paper's S²_V, S²_B, S²_E (equations 16, 15, 14) by
    level and in the unit squared; `components` the unbiased estimates of σ²_V, σ²_B, σ²_E without
    what chance of the levels below adds to a mean square, 0 where negative. A level that is absent from
    either cannot be told apart or estimated: `unknown` says why, by level.

    `mean` has the interval of `confidence` with Student's t and `df` degrees of freedom; `paper_mean`
    the asymptotic one of equation 17. `uncertainty` is each level's share of the variance of the mean,
    `variation` that of the variance of a single measurement. `method` names the estimator.
    """

    version: str
    response: str
    unit: str
    builds: int
    executions: float
    measurements: float
    n: int
    mean: Interval
    paper_mean: Interval
    df: float
    confidence: float
    mean_squares: dict[Level, float]
    components: dict[Level, float]
    unknown: dict[Level, str]
    uncertainty: tuple[Share, ...]
    variation: tuple[Share, ...]
    method: str
    warnings: tuple[str, ...]

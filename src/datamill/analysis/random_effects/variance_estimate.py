"""Estimates of the variance that each level of repetition adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from datamill.analysis.interval import Interval

#: The levels of repetition, outermost first.
Level = Literal["build", "execution", "measurement"]
LEVELS: tuple[Level, ...] = get_args(Level)
PLURALS: dict[Level, str] = {"build": "builds", "execution": "executions", "measurement": "measurements"}


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

    @property
    def deviations(self) -> dict[Level, float]:
        """The standard deviation of each level by itself, in the response's unit."""
        return {level: variance**0.5 for level, variance in self.components.items()}

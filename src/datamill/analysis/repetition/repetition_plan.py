"""What repetitions are planned from and what the plan is, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from datamill.analysis.random_effects.variance_estimate import LEVELS, Level
from datamill.analysis.repetition.search import Bounds
from datamill.results.judgement.costs import RepetitionCosts

#: How sure a plan should be to suffice, where nothing else is asked for: said beside each plan.
SURER = 0.8
#: What a plan is for: an interval of this half-width, the best that fits into a time, or a difference to see.
GoalKind = Literal["half_width", "time", "detect"]


@dataclass(frozen=True, slots=True)
class SquareDraw:
    """A mean square of the pilot with its degrees of freedom: what is known of a level, and how well."""

    value: float
    df: float


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """The variances to plan with.

    `components` are σ²_V, σ²_B, σ²_E by level; a level that is absent from them is not planned, and `unknown`
    says why. `mean` is None where nothing is known of it. `squares` are the pilot's mean squares, empty where
    variances were given and count as exact; `executions` and `measurements` the pilot's m and n, `builds` its
    l (0 without a pilot). `one_build` says how all builds are known to be one and the same, whose executions
    are then what is planned; empty where they may differ.
    """

    components: Mapping[Level, float]
    unknown: Mapping[Level, str]
    mean: float | None
    squares: Mapping[Level, SquareDraw]
    builds: int = 0
    executions: float = 1.0
    measurements: float = 1.0
    one_build: str = ""

    @property
    def top(self) -> Level:
        """The level whose repetitions are the independent observations: the outermost that is known."""
        return next(level for level in LEVELS if level in self.components)


@dataclass(frozen=True, slots=True)
class PlanGoal:
    """What the plan is to reach.

    `value` is the half-width or the difference in the response's unit, or the time in the unit of the costs.
    `assurance` is how sure the plan is to be to suffice, given that the pilot's variances are uncertain; None
    takes them as exact.
    """

    kind: GoalKind
    value: float
    confidence: float = 0.95
    alpha: float = 0.05
    power: float = 0.9
    assurance: float | None = None


@dataclass(frozen=True, slots=True)
class PlanBounds:
    """How many of each there may be: least and most; at least 2 of the level on top."""

    builds: Bounds = (1, 100_000)
    executions: Bounds = (1, 100_000)
    measurements: Bounds = (1, 10_000_000)


@dataclass(frozen=True, slots=True)
class PlannedRepetition:
    """So many builds, executions of each and measurements in each of those, and what that brings.

    `time` is in the unit of the costs, that of all versions that are measured; `half_width` that
    of the interval to expect (root mean square), in the response's unit; `power` that of seeing the
    difference asked for, None where none is.
    """

    builds: int
    executions: int
    measurements: int
    time: float
    half_width: float
    power: float | None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another repetition than the planned one, and what it is; None where it does not reach the goal."""

    label: str
    repetition: PlannedRepetition | None


@dataclass(frozen=True, slots=True)
class RealOptimum:
    """The optimum of EPEW 2006, equations 21 and 23, before rounding; infinite or None where it has none.

    `executions` is m₀, `measurements` n₀. `w`, `b` and `q` are the costs in the paper's units: w and b in
    measured operations, q as how much longer a measurement takes than what it measures; None where a
    measurement costs nothing.
    """

    executions: float | None
    measurements: float | None
    w: float | None
    b: float | None
    q: float | None


@dataclass(frozen=True, slots=True)
class RepetitionPlan:
    """The plan: how often to repeat what.

    `low` and `high` bound, at `goal.confidence`, what the pilot's uncertain variances leave open: the number
    of the top level that reaches the goal with the plan's other numbers or, for a time, the half-width. None
    without a pilot; `high` is infinite where more than the bounds allow might be needed. `sure` is the
    probability that the plan suffices (that the variances are small enough for it), by the same draws, and
    `surer` the plan that is sure to a share `SURER`: None where there is no goal to reach or no uncertainty.
    All of `versions` are measured, each as planned. `notes` explain, `warnings` limit.
    """

    basis: PlanBasis
    goal: PlanGoal
    costs: RepetitionCosts
    best: PlannedRepetition
    optimum: RealOptimum
    low: float | None
    high: float | None
    sure: float | None
    surer: PlannedRepetition | None
    versions: int
    alternatives: tuple[Alternative, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WidthCurve:
    """Half-width against time for one way to spend it; `best` marks the optimum at every time."""

    label: str
    times: tuple[float, ...]
    half_widths: tuple[float, ...]
    repetitions: tuple[str, ...]

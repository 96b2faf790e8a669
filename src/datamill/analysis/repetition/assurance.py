"""How sure a plan is to suffice, given that a pilot tells variances with uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.variance_estimate import LEVELS, PLURALS, Level
from datamill.analysis.repetition.planner import Planner, allow
from datamill.analysis.repetition.repetition_plan import PlanBasis, PlanGoal
from datamill.analysis.repetition.search import Counts
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures

_DRAWS = 4000


def draw_variances(basis: PlanBasis, middle: float, inner: float, seed: int) -> FloatArray:
    """Draw the variance of one top-level repetition's mean, given the pilot's mean squares (4000 draws).

    Generalised pivots (Weerahandi 1993): each mean square over a chi-square of its degrees of freedom; what a
    level's square holds of those below it is taken away, and what is left below 0 counts as 0.
    """
    generator = np.random.default_rng(seed)
    known = [level for level in LEVELS if level in basis.squares]
    piloted = {"execution": basis.executions, "measurement": basis.measurements}
    planned = {"execution": float(middle), "measurement": float(inner)}
    if basis.top == "execution":
        planned = {"measurement": float(middle)}
    total = np.zeros(_DRAWS)
    below: Level | None = None
    held = np.zeros(_DRAWS)
    for level in reversed(known):
        square = basis.squares[level]
        drawn = square.value * square.df / generator.chisquare(square.df, _DRAWS)
        # A square expects that of the next known level too, over how often this is repeated within it.
        own = drawn if below is None else np.maximum(drawn - held / _multiply(piloted, level, below), 0.0)
        total += own / _multiply(planned, known[0], level)
        held, below = drawn, level
    return total


def _multiply(counts: Mapping[str, float], outer: Level, inner: Level) -> float:
    """How many repetitions of an inner level one of an outer level has."""
    between = LEVELS[LEVELS.index(outer) + 1 : LEVELS.index(inner) + 1]
    return math.prod(counts.get(level, 1.0) for level in between)


def assure(
    planner: Planner, counts: Counts, goal: PlanGoal, drawn: FloatArray | None, assurance: float
) -> Counts:
    """As many of the top level as are sure to suffice, but no fewer than the plan has."""
    if drawn is None:
        raise InputError(
            "variances that are given count as exact, so that a plan from them is sure to suffice",
            where=argument("assurance"),
            remedy="Leave it out, or plan from a pilot.",
        )
    enough = count_assured(planner, goal, drawn, assurance)
    if enough is None:
        last = planner.levels.outer[1]
        reached = share_enough(last, goal, drawn)
        raise InputError(
            f"no plan within bounds is so sure to suffice: with {last} {PLURALS[planner.basis.top]} the "
            f"assurance is {format_figures(100 * reached)}%",
            where=argument("assurance"),
            remedy=f"Ask for less, allow more by {argument('builds')}, {argument('executions')}, "
            f"{argument('measurements')}, "
            "or measure a larger pilot.",
        )
    return max(enough, counts[0]), counts[1], counts[2]


def count_assured(planner: Planner, goal: PlanGoal, drawn: FloatArray, assurance: float) -> int | None:
    """How many of the top level suffice for such a share of the variances that are possible."""
    return planner.count_for(float(np.quantile(drawn, assurance)), goal)


def share_enough(outer: int, goal: PlanGoal, drawn: FloatArray) -> float:
    """The share of the variances that are possible for which so many of the top level suffice."""
    allowed = allow(np.array([float(outer)]), goal)[0]
    return float(np.mean(drawn <= allowed))

"""Which slowdowns a gate makes alarms of, from the noise that it saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.intervals import bound_relative_difference
from datamill.analysis.sequential.pairs import PARTS, shows_means
from datamill.analysis.sequential.rounds import Rounds
from datamill.analysis.sequential.typical_ratio import bound_typical_below, estimate_typical

#: Probability with which a slowdown is found that is said to be detectable.
POWER = 0.8
#: Slowdowns of which it is said how likely they are found.
SLOWDOWNS = (0.01, 0.03, 0.05, 0.1)
#: Runs that are drawn from the rounds of a benchmark: all of them together, and of each at most and least.
_ALL_RUNS, _MOST_RUNS, _FEWEST_RUNS = 1500, 150, 25
_SEED = 1


@dataclass(frozen=True, slots=True)
class Found:
    """Which slowdowns of all executions alike so many rounds of one benchmark make an alarm of.

    `detectable` is the slowdown, as a share, that is one with probability `POWER`; None where the rounds are
    too few for that. `power` is the probability of an alarm, by the slowdown.
    """

    detectable: float | None
    power: Mapping[float, float]


def find_slowdowns(rounds: Rounds, *, alpha: float, tolerate: float = 0.0, runs: int = _MOST_RUNS) -> Found:
    """Return what a slowdown has to be in order to be an alarm.

    Args:
        rounds: of base and head, in this order.
        alpha: error rate of this benchmark.
        tolerate: the slowdown up to which there is no alarm, as a share.
        runs: how many are drawn.

    Head is made equal to base, in the mean for the interval of means and in typical values for that of
    typical ones. Where nothing differs, base and head of a round may be exchanged, and rounds come in any
    order: a run is drawn by doing both. Values of head that are all multiplied alike move the bounds of both
    intervals by the same factor, so that one look tells from which slowdown on the rule of `compare_pairs`
    gives an alarm. It is the rule of the alarms themselves: whether means or typical values show it.
    """
    base, head = rounds.of_pair(*rounds.packages)
    if base.size < 2 or (base <= 0).any() or (head <= 0).any():
        return Found(None, dict.fromkeys(SLOWDOWNS, 0.0))
    steps = rounds.find_step(rounds.packages[0]), rounds.find_step(rounds.packages[1])
    alike = np.stack([base, head * (base.mean() / head.mean())])
    typical = np.stack([base, head / (1 + estimate_typical(base, head))])
    enough = shows_means(rounds, int(base.size))
    generator = np.random.default_rng(_SEED)
    # A bound of -1 is one that no factor moves.
    lows = np.full((runs, 2), -1.0)
    for run in range(runs):
        order, swapped = generator.permutation(base.size), generator.random(base.size) < 0.5
        sides = np.stack([swapped, ~swapped]).astype(np.intp)
        if enough:
            first, second = alike[sides, order]
            lows[run, 0] = _bound_mean(first, second, alpha / PARTS, steps)
        first, second = typical[sides, order]
        lows[run, 1] = _bound_typical(first, second, alpha / PARTS, steps)
    with np.errstate(divide="ignore"):
        equal, more = 1 / (1 + lows), (1 + tolerate) / (1 + lows)
    found = _Alarms(told=equal[:, 0] - 1, by_means=more[:, 0] - 1, by_typical=more[:, 1] - 1)
    return Found(found.find_detectable(), {share: found.measure_power(share) for share in SLOWDOWNS})


def find_all_slowdowns(rounds: Mapping[str, Rounds], *, alpha: float, tolerate: float) -> dict[str, Found]:
    """Return the slowdowns that each benchmark finds, by its name.

    Args:
        rounds: of each benchmark by its name.
        alpha: error rate of all of them together, of which each has an equal part.
        tolerate: the slowdown up to which there is no alarm, as a share.
    """
    count = max(1, len(rounds))
    runs = max(_FEWEST_RUNS, min(_MOST_RUNS, _ALL_RUNS // count))
    return {
        name: find_slowdowns(item, alpha=alpha / count, tolerate=tolerate, runs=runs)
        for name, item in rounds.items()
    }


def average_power(found: Mapping[str, Found]) -> dict[float, float]:
    """Return the probability with which each of `SLOWDOWNS` is found, in the mean over benchmarks."""
    return {
        share: sum(item.power[share] for item in found.values()) / max(1, len(found)) for share in SLOWDOWNS
    }


@dataclass(frozen=True, slots=True)
class _Alarms:
    """The slowdown from which on each run (B) says something.

    `told` is where means are told apart, `by_means` and `by_typical` where their interval lies above what is
    tolerated. Where means are told apart it is they that decide.
    """

    told: FloatArray
    by_means: FloatArray
    by_typical: FloatArray

    def measure_power(self, share: float) -> float:
        alarms = np.where(share >= self.told, share >= self.by_means, share >= self.by_typical)
        return float(alarms.mean())

    def find_detectable(self) -> float | None:
        steps = np.unique(np.concatenate([self.told, self.by_means, self.by_typical]))
        steps = steps[np.isfinite(steps) & (steps > 0)]
        powers = np.array([self.measure_power(float(step)) for step in steps])
        # From it on: tolerance may make a larger one less likely to be an alarm.
        short = np.flatnonzero(powers < POWER)
        first = int(short[-1]) + 1 if short.size else 0
        return float(steps[first]) if first < steps.size else None


def _bound_mean(base: FloatArray, head: FloatArray, alpha: float, steps: tuple[float, float]) -> float:
    low = bound_relative_difference(base, head, "", alpha, steps=steps).low
    return -1.0 if low is None else max(-1.0, low)


def _bound_typical(base: FloatArray, head: FloatArray, alpha: float, steps: tuple[float, float]) -> float:
    low = bound_typical_below(base, head, alpha)
    best = -1.0 if low is None else low - (steps[0] + steps[1]) / float(base.min())
    if math.log2(1 / alpha) <= base.size - 2:
        # Where values do not overlap at all (`bound_value_range`).
        best = max(best, float((head.min() - steps[1]) / (base.max() + steps[0])) - 1)
    return max(-1.0, best)

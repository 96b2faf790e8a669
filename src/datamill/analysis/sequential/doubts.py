"""What limits a decision of a sequential experiment: lost, few, dependent, coarse or equal rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from datamill.analysis.distribution.skewed_means import find_heavy_tail
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.sequential.rounds import Rounds
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import argument, tell, verb
from datamill.experiment.messages.numbers import format_figures, format_fixed, say_p
from datamill.results.bundles.decisions import Cause, LookInterval

#: Rounds from which runs that are slow one time in ten have hardly all been missed (0.9^30 is 4%).
_SHOWS_RARE = 30
_RARE = 0.1
#: L-skewness of a package's rounds from which its tail may be too heavy for the rule: normal ones never have
#: it, log-normal ones with σ = 0.5 in 1 to 11%, and those with infinite variance that mislead nearly always.
_HEAVY = 0.35
#: Level of the test for autocorrelation, and rounds from which it is made: fewer tell nothing.
_DEPENDENCE_LEVEL = 0.01
_FEWEST_SUCCESSIVE = 8
#: Autocorrelation beyond which no factor of width is worth naming.
_NEARLY_ALIKE = 0.95
#: Causes of a decision by which the rule was met.
_MET = ("changed", "no difference", "precise", "supported", "refuted")


def find_pair(experiment: Experiment) -> tuple[str, str]:
    """Return the baseline (the first package unless stated) and the other one of two packages."""
    names = [package.name for package in experiment.packages]
    baseline = experiment.baseline or names[0]
    return baseline, next(name for name in names if name != baseline)


def list_doubts(
    experiment: Experiment,
    rounds: Rounds,
    cause: Cause,
    intervals: Sequence[LookInterval],
    *,
    timed: bool = False,
) -> tuple[str, ...]:
    """Say what limits a decision, each in a sentence without its full stop.

    `timed` says that commands are timed rather than an experiment file run: rounds are asked for elsewhere.
    """
    least = tell(argument("min_runs", _SHOWS_RARE, verb="time"))
    begin = f"type {least}" if timed else f"let [replication] begin with {_SHOWS_RARE}"
    more = "time more of them" if timed else "let [replication] begin with more"
    doubts = _doubt_lost(rounds, intervals, timed=timed)
    if any(interval.of == "mean" for interval in intervals):
        # Slow values that are rare decide means, and not typical values.
        doubts += [
            *_doubt_few(rounds, cause, intervals, begin, timed=timed),
            *_doubt_heavy(rounds, cause, intervals, more),
        ]
    for name, series in _list_series(experiment, rounds):
        doubts += _doubt_dependence(name, series)
    doubts += [
        f"the values of {package} come in steps of {format_figures(step)}, which hide how much they "
        "vary: intervals are "
        "wider by a step, which no further round makes less"
        for package, step in zip(rounds.packages, rounds.steps, strict=False)
        if step > 0
    ]
    if any(interval.low is not None and interval.low == interval.high for interval in intervals):
        doubts.append(
            "rounds do not differ at all, so that the rule saw no error to judge by; true of a deterministic "
            "response, suspicious otherwise"
        )
    return tuple(doubts)


def measure_dependence(values: FloatArray) -> tuple[float, float]:
    """Return the autocorrelation of successive values (R ≥ 4) and the one-sided p that it is not above zero.

    The mean and variance of the coefficient are those of independent normal values (Moran, "Some theorems on
    time series II", Biometrika 35, 1948); it is taken as normal. Equal values give 0 and 1.
    """
    n = values.size
    departures = values - values.mean()
    squares = float(departures @ departures)
    if squares <= 0:
        return 0.0, 1.0
    coefficient = float(departures[1:] @ departures[:-1]) / squares
    spread = (n - 2) / (n * math.sqrt(n - 1))
    return coefficient, float(ndtr(-(coefficient + 1 / n) / spread))


def _doubt_lost(rounds: Rounds, intervals: Sequence[LookInterval], *, timed: bool) -> list[str]:
    complete = min((interval.rounds for interval in intervals), default=0)
    if complete == len(rounds.numbers):
        return []
    lost = len(rounds.numbers) - complete
    if timed:
        return [
            f"{lost} of {len(rounds.numbers)} rounds have an execution that failed and are left out: the "
            "answer is about the others, and too fast where slow executions are those that fail"
        ]
    return [
        f"{lost} of {len(rounds.numbers)} rounds lack a valid observation of some design point and take "
        "no part in the rule; if trials are lost because of what they measure, its guarantees do not hold"
    ]


def _doubt_few(
    rounds: Rounds, cause: Cause, intervals: Sequence[LookInterval], begin: str, *, timed: bool
) -> list[str]:
    """Rare slow runs may all have been missed; only where the rule was met does that matter."""
    fewest = rounds.executions * min((interval.rounds for interval in intervals), default=0)
    if cause not in _MET or fewest >= _SHOWS_RARE:
        return []
    rare, missed = format_fixed(1 / _RARE, 0), format_fixed(100 * (1 - _RARE) ** fewest, 0)
    if timed:
        return [
            f"it stopped after {fewest} executions: if one in {rare} is slow, so few may not have met one "
            f"({missed}% of such timings meet none), and the answer may be wrong; {begin} where that is to "
            "be expected"
        ]
    return [
        tell(
            f"it stopped after {fewest} rounds: if runs are slow only now and then, so few may not have met "
            f"one, and the answer may be wrong much more often than stated (of runs that are slow one time "
            f"in {rare}, {missed}% of such experiments meet none; at alpha 0.05, "
            "where one package alone has Pareto tails of index 2.5, 8% err, most of them so early, and of "
            f"index 1.5 a fifth); {begin} where that is to be expected"
        )
    ]


def _doubt_heavy(rounds: Rounds, cause: Cause, intervals: Sequence[LookInterval], more: str) -> list[str]:
    """Tails so heavy that also many rounds have not met what decides the mean, where the rule was met."""
    fewest = min((interval.rounds for interval in intervals), default=0)
    if cause not in _MET or fewest < _SHOWS_RARE:
        return []
    found = {package: find_heavy_tail(rounds.of_package(package), _HEAVY) for package in rounds.packages}
    names = [
        f"{package} (L-skewness {format_fixed(skewness, 2)})"
        for package, skewness in found.items()
        if skewness
    ]
    if not names:
        return []
    return [
        tell(
            f"rounds of {' and '.join(names)} have a heavy tail: rare extremes decide their mean, and even "
            f"{fewest} rounds may not have met them, so that the answer may be wrong more often than "
            "stated (at "
            "alpha 0.05, where packages' tails are not alike in shape and size and one has infinite "
            "variance, 10 "
            f"to 27% err). Compare quantiles, which tails do not decide ({verb('analyze quantiles')}), "
            f"or {more}"
        )
    ]


def _list_series(experiment: Experiment, rounds: Rounds) -> list[tuple[str, FloatArray]]:
    """What the rule takes for independent, by name."""
    rule = experiment.until
    if rule is None or rule.half_width is not None:
        return [(package, rounds.of_package(package)) for package in rounds.packages]
    pair = rule.hypothesis
    baseline, other = find_pair(experiment) if pair is None else (pair.baseline, pair.package)
    first, second = rounds.of_pair(baseline, other)
    if not first.size or not first.mean():
        return []
    return [(f"{other} against {baseline}", second - second.mean() / first.mean() * first)]


def _doubt_dependence(name: str, series: FloatArray) -> list[str]:
    if series.size < _FEWEST_SUCCESSIVE or np.ptp(series) <= 0:
        return []
    coefficient, p = measure_dependence(series)
    if p >= _DEPENDENCE_LEVEL:
        return []
    known = min(coefficient, _NEARLY_ALIKE)
    factor = math.sqrt((1 + known) / (1 - known))
    least = "at least " if known < coefficient else ""
    return [
        f"successive rounds of {name} resemble each other (autocorrelation "
        f"{format_fixed(coefficient, 2)}, {say_p(p)}), "
        "and the rule takes them for independent: its interval is too narrow and errs more often than "
        f"stated; it should be {least}about {format_fixed(factor, 1)} times as wide if likeness fades "
        "from round to round "
        "by this factor. Look for what changes slowly: heat, other load, the machine's state"
    ]

"""One look at commands that are timed in turns: are they told apart, known well enough, or out of time?"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from datamill.analysis.sequential.doubts import list_doubts
from datamill.analysis.sequential.intervals import bound_stopped_mean
from datamill.analysis.sequential.pairs import FEWEST_FOR_MEANS, Pair, compare_pairs, list_undecided
from datamill.analysis.sequential.rounds import Rounds
from datamill.design.batches import FEWEST_ROUNDS
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, StoppingRule
from datamill.experiment.messages.numbers import format_figures
from datamill.experiment.quantities import format_duration
from datamill.results.bundles.decisions import DECISION_SCHEMA, Cause, Decision, LookInterval

#: Unit of memory, which hardly ever has rare large values.
_BYTES = "B"


def find_limit(rule: StoppingRule) -> float:
    """Return the difference, or half the width, from which on more rounds would change nothing."""
    return rule.detect or rule.half_width or 0.0


def decide_timing(
    experiment: Experiment,
    rounds: Rounds,
    *,
    look: int,
    trials: int,
    elapsed_s: float,
    ended: Cause = "not yet",
    fewest: int = 0,
) -> tuple[Decision, tuple[Pair, ...]]:
    """Decide after a batch whether timing goes on, and return what is known of each pair.

    Several commands are timed until every pair is settled (`compare_pairs`), a single one until its mean is
    known to the limit, and `fewest` rounds at least. `ended` says which bound ended it before that, if one
    did. What looking at the data
    again and again does to error rates, the intervals allow for.

    Raises:
        InputError: the experiment has no rule.
    """
    rule = experiment.until
    if rule is None:
        raise InputError("the experiment has no rule to stop by", remedy="Write until in [replication].")
    limit = find_limit(rule)
    means = tuple(
        _leave_out_negative(
            bound_stopped_mean(values, package, rule.confidence, step=rounds.find_step(package)), values
        )
        for package in rounds.packages
        if (values := rounds.of_package(package)).size >= 2
    )
    several = len(rounds.packages) > 1
    of_memory = experiment.responses[0].unit == _BYTES
    pairs = compare_pairs(rounds, alpha=rule.alpha, limit=limit, by_range=of_memory) if several else ()
    enough = len(rounds.numbers) >= fewest or ended != "not yet"
    cause = _find_cause(rounds, means, pairs, limit) if enough else "not yet"
    settled = cause != "not yet"
    if not settled and ended != "not yet":
        # What is known when a bound ends it is known, if not as precisely as was asked.
        known = bool(pairs) and all(pair.verdict in ("less", "more") for pair in pairs)
        cause = "changed" if known else ended
    intervals = (pairs[0].interval, pairs[0].interval) if rule.detect is not None else means
    # What rare slow executions do to means limits no verdict that rests on typical values.
    decisive = tuple(pair.interval for pair in pairs) or means
    decision = Decision(
        schema=DECISION_SCHEMA,
        look=look,
        trials=trials,
        elapsed_s=elapsed_s,
        response=experiment.responses[0].name,
        rule=phrase_timing_rule(rule, len(rounds.packages), fewest),
        intervals=intervals,
        decision="go on" if cause == "not yet" else "stop",
        cause=cause,
        reason=_phrase_reason(cause if settled else ended, pairs, elapsed_s, limit),
        warnings=() if cause == "not yet" else list_doubts(experiment, rounds, cause, decisive, timed=True),
        means=means,
        pairs=tuple(pair.interval for pair in pairs),
    )
    return decision, pairs


def _leave_out_negative(mean: LookInterval, values: NDArray[np.float64]) -> LookInterval:
    """Take from an interval what is below zero, where no value can be: of times, counts and bytes."""
    if mean.low is None or mean.low >= 0 or values.min() < 0:
        return mean
    return msgspec.structs.replace(mean, low=0.0)


def phrase_timing_rule(rule: StoppingRule, commands: int, fewest: int = 0) -> str:
    """Return in words when timing stops; `fewest` rounds are measured however early it could."""
    limit = f"{format_figures(100 * find_limit(rule))}%"
    early = f"a fifth below {FEWEST_FOR_MEANS} rounds"
    goal = (
        f"until the mean is known to ±{limit}"
        if commands == 1
        else f"until each difference is known to ±{limit} or to a tenth of it ({early}), or is below {limit}"
    )
    bounds = [format_duration(rule.max_time_s)] if rule.max_time_s else []
    bounds += [f"{rule.max_trials} executions"] if rule.max_trials else []
    least = f", after {fewest} rounds at least" if fewest else ""
    return f"{goal}{least}; at most {' or '.join(bounds)}"


def _find_cause(
    rounds: Rounds, means: tuple[LookInterval, ...], pairs: tuple[Pair, ...], limit: float
) -> Cause:
    if pairs:
        if list_undecided(pairs):
            return "not yet"
        return "no difference" if all(pair.verdict == "unchanged" for pair in pairs) else "changed"
    known = all(mean.half_width is not None and mean.half_width <= limit for mean in means)
    enough = all(rounds.of_package(package).size >= FEWEST_ROUNDS for package in rounds.packages)
    return "precise" if means and known and enough else "not yet"


def _phrase_reason(cause: Cause, pairs: tuple[Pair, ...], elapsed_s: float, limit: float) -> str:
    share = f"{format_figures(100 * limit)}%"
    if cause == "precise":
        return f"the mean is known to ±{share}"
    if cause in ("changed", "no difference"):
        one = len(pairs) == 1
        return f"{'the difference is' if one else 'all differences are'} known well enough"
    if cause == "not yet":
        return "not yet"
    left = len(list_undecided(pairs))
    of = f", with {left} of {len(pairs)} pairs not settled" if pairs else ""
    if cause == "interrupted":
        return f"it was interrupted after {format_duration(elapsed_s)}{of}"
    if cause == "max_trials":
        return f"the executions allowed have ended{of}"
    return f"the time allowed is over after {format_duration(elapsed_s)}{of}"

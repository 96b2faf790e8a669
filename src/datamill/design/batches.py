"""Batches of a sequential experiment: the whole plan up to its bound, and where it may stop.

Everything is planned before data, as if the experiment went on to its bound. A batch holds every design point
equally often, in random order; a round is one independent replicate of every design point. The first batch
holds the rounds that `[replication]` states, each later one a single round more, or the share of those before
it that `grow` states.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from datamill.design.design import Design, PlannedTrial
from datamill.design.order import order_trials
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count, format_figures, format_given, format_level
from datamill.experiment.quantities import format_duration

if TYPE_CHECKING:
    # All records of the question, which who needs a constant from here need not wait for.
    from datamill.experiment.experiment import Experiment, Replication, StoppingRule

#: Independent replicates of each design point before which no rule stops. With fewer, skewed noise makes the
#: rules err more often than they say; `tests/planted/decisions/test_sequential_rules.py` shows what so many
#: give.
FEWEST_ROUNDS = 15
#: Most trials that are planned where only time bounds them, and the time below which no trial ends.
MOST_TIMED_TRIALS = 100_000
SHORTEST_TRIAL_S = 0.01


def repeats_builds(experiment: Experiment) -> bool:
    """Tell whether a round is a new build with all of its executions, rather than one execution."""
    replication = experiment.replication
    if replication is None:
        return False
    return replication.builds > 1 or replication.randomise_builds or experiment.build == "fresh"


def count_first_rounds(experiment: Experiment) -> int:
    """Return how many rounds the first batch has: those stated, and two at least, to see variation."""
    replication = _find_replication(experiment)
    return max(2, replication.builds if repeats_builds(experiment) else replication.executions)


def _find_replication(experiment: Experiment) -> Replication:
    if experiment.replication is not None:
        return experiment.replication
    from datamill.experiment.experiment import Replication

    return Replication()


def grow_replication(experiment: Experiment, points: int, *, machines: int = 1) -> Experiment:
    """Return the experiment with as many rounds of its `points` as its bound allows, if it is sequential.

    A round has every point on each of the `machines`, which all get equally many: the bound on trials is one
    of all machines together.

    Raises:
        InputError: when the bound does not hold the first batch, or `FEWEST_ROUNDS`.
    """
    if experiment.until is None:
        return experiment
    replication = _find_replication(experiment)
    nested = repeats_builds(experiment)
    points *= machines
    round_trials = points * (replication.executions if nested else 1)
    rounds = limit_trials(experiment) // round_trials
    first = max(count_first_rounds(experiment), FEWEST_ROUNDS)
    if rounds < first:
        bound = f"max_trials = {experiment.until.max_trials}" if experiment.until.max_trials else "max_time"
        on = f" on {machines} machines together" if machines > 1 else ""
        raise InputError(
            f"{bound} leaves no room for the rule: it needs {first * round_trials} trials at least, "
            f"{first} independent replicates of {points} design points{on}",
            where="[replication]",
            remedy=f"Allow {first * round_trials} trials or more, or name fewer levels"
            + (" or machines." if machines > 1 else "."),
        )
    grown = replace(replication, builds=rounds) if nested else replace(replication, executions=rounds)
    return replace(experiment, replication=grown, replicates=grown.builds * grown.executions)


def limit_trials(experiment: Experiment) -> int:
    """Return how many trials are planned at most: `max_trials`, or more than `max_time` can hold.

    With time alone it is one trial for each `SHORTEST_TRIAL_S`, and `MOST_TIMED_TRIALS` at most.
    """
    rule = experiment.until
    if rule is None:
        return 0
    timed = min(MOST_TIMED_TRIALS, int(rule.max_time_s / SHORTEST_TRIAL_S))
    return rule.max_trials or timed


def phrase_batches(experiment: Experiment, points: int, *, machines: int = 1) -> str:
    """Return in words how many replicates each design point gets, batch by batch, on each machine."""
    grown = grow_replication(experiment, points, machines=machines)
    one = "build" if repeats_builds(experiment) else "execution"
    executions = grown.replicates // grown.replication.builds if grown.replication else 1
    of = f" of {executions} executions" if one == "build" and executions > 1 else ""
    grow = experiment.until.grow if experiment.until is not None else 0.0
    more = f"{format_figures(100 * grow)}% of them, and 1 {one} at least," if grow else f"1 {one} more"
    return (
        f"{count_first_rounds(experiment)} {one}s{of} in the first batch, then {more} in each, at most "
        f"{format_count(grown.replicates)} replicates"
    )


def phrase_rule(rule: StoppingRule) -> str:
    """Return a stopping rule in words."""
    if rule.half_width is not None:
        text = (
            f"until the {format_level(rule.confidence)} interval of each package's mean is within "
            f"±{format_figures(100 * rule.half_width)}% of it"
        )
    elif rule.hypothesis is not None:
        text = (
            f"until it is shown that {rule.hypothesis.phrase()} (alpha {format_given(rule.alpha)}), or that "
            f"it is not so (power {format_given(rule.power)})"
        )
    else:
        text = (
            f"until the packages differ (alpha {format_given(rule.alpha)}), or do not differ by "
            f"{format_figures(100 * (rule.detect or 0))}% or more (power {format_given(rule.power)})"
        )
    bounds = [f"{rule.max_trials} trials"] if rule.max_trials else []
    bounds += [format_duration(rule.max_time_s)] if rule.max_time_s else []
    return f"{text}; at most {' or '.join(bounds)}"


def number_round(experiment: Experiment, trial: PlannedTrial) -> int:
    """Return which independent replicate of its design point a trial is part of, from 1."""
    return trial.build if repeats_builds(experiment) else trial.replicate


def number_batch(experiment: Experiment, trial: PlannedTrial) -> int:
    """Return the batch that a trial belongs to, from 1; what is not for the question comes in the first."""
    if trial.purpose != "question":
        return 1
    number, grow = number_round(experiment, trial), experiment.until.grow if experiment.until else 0.0
    first = count_first_rounds(experiment)
    if not grow:
        return max(1, number - first + 1)
    return 1 + bisect_left(_list_ends(first, grow), number)


@lru_cache(maxsize=8)
def _list_ends(first: int, grow: float) -> tuple[int, ...]:
    """Return the last round of each batch, up to more rounds than an experiment can have."""
    ends = [first]
    while ends[-1] < MOST_TIMED_TRIALS:
        ends.append(ends[-1] + max(1, math.floor(ends[-1] * grow)))
    return tuple(ends)


def order_batches(experiment: Experiment, trials: Sequence[PlannedTrial]) -> tuple[PlannedTrial, ...]:
    """Return the trials batch by batch, in the experiment's order within each.

    Batches are blocks, or with `order = "interleaved"` the replicates in them.
    """
    by_batch: dict[int, list[PlannedTrial]] = {}
    for trial in trials:
        by_batch.setdefault(number_batch(experiment, trial), []).append(trial)
    ordered: list[PlannedTrial] = []
    blocks = 0
    for batch, members in sorted(by_batch.items()):
        within = order_trials(experiment, members)
        if experiment.order == "interleaved":
            ordered += [replace(trial, block=str(blocks + int(trial.block))) for trial in within]
            blocks += len({trial.block for trial in within})
        else:
            ordered += [replace(trial, block=f"batch {batch}") for trial in within]
    return tuple(replace(trial, order=order) for order, trial in enumerate(ordered, start=1))


def list_batches(experiment: Experiment, design: Design) -> tuple[tuple[PlannedTrial, ...], ...]:
    """Return the planned trials by batch, in run order; all in one where nothing is sequential.

    A trial that is not for the question belongs to the batch in which it comes.
    """
    if experiment.until is None:
        return (design.trials,)
    batches: list[list[PlannedTrial]] = [[]]
    for trial, number in zip(design.trials, find_batches(experiment, design.trials), strict=True):
        if number > len(batches):
            batches.append([])
        batches[-1].append(trial)
    return tuple(tuple(batch) for batch in batches)


def find_batches(experiment: Experiment, trials: Iterable[PlannedTrial]) -> Iterator[int]:
    """Yield the batch in which each planned trial comes, from 1, given all of them in run order."""
    latest = 1
    for trial in trials:
        if trial.purpose == "question" and number_batch(experiment, trial) > latest:
            latest += 1
        yield latest

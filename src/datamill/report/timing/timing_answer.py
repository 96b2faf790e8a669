"""The answer of `datamill time` as records: each command, each pair, and what limits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.analysis.sequential.pairs import Pair
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.experiment import Experiment, Response
from datamill.results.bundles.decisions import Decision, LookInterval

#: What a comparison comes to. Of times, less is faster; of other responses "better" and "worse" follow their
#: direction, and the words stay the same: the second is faster where it is better.
Verdict = Literal["faster", "slower", "unchanged", "cannot tell"]


@dataclass(frozen=True, slots=True)
class CommandMean:
    """The mean of a command with its interval; both bounds are None where too little was measured."""

    command: CommandLine
    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class CommandComparison:
    """How much of the response `b` takes for each unit that `a` takes, and the verdict on `b`.

    `typical` says that the ratio is one of typical values rather than of means.
    """

    a: CommandLine
    b: CommandLine
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    needed_rounds: int
    typical: bool


@dataclass(frozen=True, slots=True)
class TimingAnswer:
    """All that `datamill time` answers; `limit` is the share below which a difference does not matter.

    A round is an execution of each command; where `executions` is not 0, it is a build of each with so many.
    """

    response: Response
    confidence: float
    limit: float
    means: tuple[CommandMean, ...]
    comparisons: tuple[CommandComparison, ...]
    warnings: tuple[str, ...]
    measured_s: float
    rounds: int
    round_s: float
    most_rounds: int
    interrupted: bool
    bundle: str
    executions: int = 0


def build_timing_answer(
    experiment: Experiment,
    commands: Sequence[CommandLine],
    decision: Decision,
    pairs: Sequence[Pair],
    *,
    limit: float,
    most_rounds: int,
    warnings: tuple[str, ...],
    measured_s: float,
    interrupted: bool,
    bundle: str,
    executions: int = 0,
) -> TimingAnswer:
    """Return the answer that a last decision is.

    Args:
        experiment: of the bundle.
        commands: in the order in which they were typed.
        decision: the last one, with the means and ratios that it rests on.
        pairs: what is known of each pair of commands.
        limit: the share below which a difference does not matter.
        most_rounds: executions of each command at most.
        warnings: a sentence each, without the full stop.
        measured_s: time from the first execution to the last.
        interrupted: whether the user ended it.
        bundle: where it is kept.
        executions: of each build; 0 where what the commands execute is not built.
    """
    response = experiment.responses[0]
    by_name = {command.name: command for command in commands}
    found = {mean.name: mean for mean in decision.means}
    means = tuple(_take_mean(command, found.get(command.name)) for command in commands)
    comparisons = tuple(_take_comparison(by_name, pair, response) for pair in pairs)
    rounds = max((mean.n for mean in means), default=0)
    return TimingAnswer(
        response=response,
        confidence=experiment.confidence,
        limit=limit,
        means=means,
        comparisons=comparisons,
        warnings=warnings,
        measured_s=measured_s,
        rounds=rounds,
        round_s=decision.elapsed_s / max(1, rounds),
        most_rounds=most_rounds,
        interrupted=interrupted,
        bundle=bundle,
        executions=executions,
    )


def _take_mean(command: CommandLine, mean: LookInterval | None) -> CommandMean:
    if mean is None:
        return CommandMean(command, None, None, None, 0)
    return CommandMean(command, mean.estimate, mean.low, mean.high, mean.rounds)


def _take_comparison(
    commands: Mapping[str, CommandLine], pair: Pair, response: Response
) -> CommandComparison:
    interval = pair.interval
    good = "less" if response.direction == "lower" else "more"
    word: Verdict
    if pair.verdict in ("unchanged", "cannot tell"):
        word = "unchanged" if pair.verdict == "unchanged" else "cannot tell"
    else:
        word = "faster" if pair.verdict == good else "slower"

    def to_ratio(share: float | None) -> float | None:
        return None if share is None else 1 + share

    return CommandComparison(
        commands[pair.baseline],
        commands[pair.other],
        to_ratio(interval.estimate),
        to_ratio(interval.low),
        to_ratio(interval.high),
        word,
        pair.needed_rounds,
        interval.of == "typical",
    )

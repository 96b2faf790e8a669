"""The answer of `datamill time` as records: each command, each pair, and what limits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
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
    """The mean of a command with its interval; both bounds are None where too little was measured.

    `is_bound` says that the true mean may be less, whatever the interval is.
    """

    command: CommandLine
    mean: float | None
    low: float | None
    high: float | None
    n: int
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class CommandComparison:
    """How much of the response `b` takes for each unit that `a` takes, and the verdict on `b`.

    `typical` says that the ratio is one of typical values rather than of means, `is_bound` that one of the
    commands may have less than was seen, so that they may differ by more; where that leaves the verdict open
    it cannot be told.
    """

    a: CommandLine
    b: CommandLine
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    needed_rounds: int
    typical: bool
    is_bound: bool = False

    def turn(self) -> CommandComparison:
        """Return the same with `a` and `b` exchanged; a bound that is 0 leaves the other one open."""
        turned: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        return replace(
            self,
            a=self.b,
            b=self.a,
            ratio=_invert(self.ratio),
            low=_invert(self.high),
            high=_invert(self.low),
            verdict=turned.get(self.verdict, self.verdict),
        )


def _invert(ratio: float | None) -> float | None:
    return 1 / ratio if ratio else None


@dataclass(frozen=True, slots=True)
class TimingAnswer:
    """All that `datamill time` answers; `limit` is the share below which a difference does not matter.

    A round is an execution of each command; where `executions` is not 0, it is a build of each with so many.
    `time_unit` is that in which times are written; empty where it follows their size. `by_mean` shows the
    commands in the order of their means, not as they were typed. `has_reference` says that the first command
    is what the others are compared with.
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
    time_unit: str = ""
    by_mean: bool = False
    has_reference: bool = False

    @property
    def shown_means(self) -> tuple[CommandMean, ...]:
        """The commands in the order in which pictures and tables show them; without a mean they come last."""
        if not self.by_mean:
            return self.means
        return tuple(sorted(self.means, key=lambda item: inf if item.mean is None else item.mean))


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
    bounded: frozenset[str] = frozenset(),
    executions: int = 0,
    time_unit: str = "",
    by_mean: bool = False,
    has_reference: bool = False,
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
        bounded: names of commands of which no less could be seen than was seen.
        executions: of each build; 0 where what the commands execute is not built.
        time_unit: in which times are written; empty where it follows their size.
        by_mean: whether commands are shown in the order of their means.
        has_reference: whether the first command is what the others are compared with.
    """
    response = experiment.responses[0]
    by_name = {command.name: command for command in commands}
    found = {mean.name: mean for mean in decision.means}
    means = tuple(_take_mean(command, found.get(command.name), bounded) for command in commands)
    comparisons = tuple(_take_comparison(by_name, pair, response, bounded) for pair in pairs)
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
        time_unit=time_unit,
        by_mean=by_mean,
        has_reference=has_reference,
    )


def _take_mean(command: CommandLine, mean: LookInterval | None, bounded: frozenset[str]) -> CommandMean:
    if mean is None:
        return CommandMean(command, None, None, None, 0)
    is_bound = command.name in bounded
    return CommandMean(command, mean.estimate, mean.low, mean.high, mean.rounds, is_bound)


def _take_comparison(
    commands: Mapping[str, CommandLine], pair: Pair, response: Response, bounded: frozenset[str]
) -> CommandComparison:
    interval = pair.interval
    good = "less" if response.direction == "lower" else "more"
    word: Verdict
    if pair.verdict in ("unchanged", "cannot tell"):
        word = "unchanged" if pair.verdict == "unchanged" else "cannot tell"
    else:
        word = "faster" if pair.verdict == good else "slower"

    at_floor = {name for name in (pair.baseline, pair.other) if name in bounded}
    # What is seen from above only may be anything below: that it has less is all that can be known of it.
    less = pair.baseline if pair.verdict == "more" else pair.other if pair.verdict == "less" else None
    hidden = bool(at_floor) and at_floor != {less} and pair.verdict != "cannot tell"
    if hidden:
        word = "cannot tell"

    def to_ratio(share: float | None) -> float | None:
        return None if share is None or hidden else 1 + share

    return CommandComparison(
        commands[pair.baseline],
        commands[pair.other],
        to_ratio(interval.estimate),
        to_ratio(interval.low),
        to_ratio(interval.high),
        word,
        pair.needed_rounds,
        interval.of == "typical",
        bool(at_floor),
    )

"""Executions before those that count: as many as it takes until they are no longer slower than the next."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from statistics import median
from time import monotonic

from datamill.conduct.timing.executions import (
    EndedExecution,
    describe_failure,
    execute_command,
    find_missing,
    request_command,
    run_beside,
)
from datamill.conduct.timing.listener import TimingListener
from datamill.conduct.timing.question import FEWEST_WITH_INTERVAL, PADDING, PEAK_MEMORY, TimingQuestion
from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import CommandLine, read_commands
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.quantities import format_duration, format_size
from datamill.protocol.commands import CommandAnswer

#: A round this much faster than the one before shows that there was something to warm up.
_STILL_FALLING = 0.03
#: Rounds at most, and the share of the time allowed that another one may take.
_MOST_ROUNDS = 5
_MOST_SHARE = 0.05
#: Time beyond that allowed after which the first execution is ended: how long it takes is worth some waiting.
_PATIENCE_S = 10.0
#: What programs say that miss a terminal.
_NO_TERMINAL = re.compile(r"\btty\b|\bterminal\b|\bioctl\b|\bcurses\b|\bTERM\b", re.IGNORECASE)
#: Times below which starting a process is a good part of a command.
SHORT_S = 0.005
#: Executions of a program that does nothing, whose median says what starting a process takes.
_STARTS = 15


@dataclass(slots=True)
class WarmUp:
    """What was seen before anything counted: rounds, their times, and what each command wrote."""

    rounds: int = 0
    round_s: list[float] = field(default_factory=list)
    outputs: dict[str, set[str]] = field(default_factory=dict)
    executions: dict[str, list[EndedExecution]] = field(default_factory=dict)
    #: Time that a process takes which does nothing; 0 where all commands are so long that it does not matter.
    start_s: float = 0.0

    def find_output_bytes(self, command: CommandLine) -> int:
        """What the last execution of a command that did not count wrote to standard output."""
        executions = self.executions.get(command.name, [])
        run = executions[-1].answer.run if executions else None
        return 0 if run is None else run.stdout_bytes

    def find_time_s(self, command: CommandLine) -> float:
        """Time of the last execution of a command that did not count; infinite where there was none."""
        executions = self.executions.get(command.name, [])
        run = executions[-1].answer.run if executions else None
        return inf if run is None else run.wall_time_ns / 1e9


def warm_up_commands(session: CommandSession, question: TimingQuestion, listener: TimingListener) -> WarmUp:
    """Execute each command without counting it, once and then as long as it gets faster.

    What is decided here is decided before anything counts, so that no answer depends on it. The first
    execution also shows whether a command works at all, and whether the time that somebody names holds it.

    Raises:
        InputError: when a command fails, or has not ended when the time allowed is over.
    """
    seen = WarmUp()
    wanted = question.warmup_rounds
    for command in question.commands:
        run_beside(session, question, command, question.setup, "setup")
    over_s = monotonic() + question.within_s + _PATIENCE_S if question.within_s else inf
    while True:
        enough = not _goes_on(seen, question.longest_s) if wanted is None else seen.rounds >= wanted
        if enough:
            break
        began = monotonic()
        for command in question.commands:
            listener.begin_warm_up(command, seen.rounds + 1)
            _warm_up(session, question, command, seen, over_s)
        seen.rounds += 1
        seen.round_s.append(monotonic() - began)
    _refuse_small_memory(question, seen)
    if any(seen.find_time_s(command) < SHORT_S for command in question.commands):
        seen.start_s = _measure_start(session, question)
    return seen


def _refuse_small_memory(question: TimingQuestion, seen: WarmUp) -> None:
    """Refuse to compare the peak memory of commands that all have no more than what starts them.

    Raises:
        InputError: when that is so, since they would all seem equal.
    """
    if question.response.formula != PEAK_MEMORY or len(question.commands) < 2:
        return
    last = [seen.executions[command.name][-1].answer.run for command in question.commands if seen.executions]
    floors = [
        run.peak_memory_floor_bytes
        for run in last
        if run is not None and run.peak_memory_bytes <= run.peak_memory_floor_bytes
    ]
    if len(floors) == len(question.commands):
        raise InputError(
            f"{question.response.name} of these commands cannot be compared: any program begins with the "
            f"{format_size(max(floors))} of what starts it, and none of them has more",
            remedy="Give them more to do, or compare another response.",
        )


def _measure_start(session: CommandSession, question: TimingQuestion) -> float:
    """Return the median time of a program that does nothing, started as the commands are."""
    in_shell = question.commands[0].in_shell
    nothing = read_commands(["true"], shell=in_shell, program=question.shell)[0]
    times = []
    for _ in range(_STARTS):
        run = session.measure(request_command(question, nothing, {PADDING: "0"})).run
        if run is not None and run.exit_code == 0:
            times.append(run.wall_time_ns / 1e9)
    return median(times) if times else 0.0


def _goes_on(seen: WarmUp, longest_s: float) -> bool:
    if not seen.rounds:
        return True
    if seen.rounds >= _MOST_ROUNDS or seen.round_s[-1] > _MOST_SHARE * longest_s:
        return False
    return seen.rounds == 1 or seen.round_s[-1] < (1 - _STILL_FALLING) * seen.round_s[-2]


def _warm_up(
    session: CommandSession, question: TimingQuestion, command: CommandLine, seen: WarmUp, over_s: float
) -> None:
    left_s = max(0.1, over_s - monotonic()) if over_s < inf else 0.0
    execution = execute_command(
        session, question, command, {PADDING: "0"}, number=seen.rounds, warm_up=True, longest_s=left_s
    )
    run = execution.answer.run
    if run is not None and run.timed_out and left_s and not 0 < question.timeout_s <= left_s:
        raise InputError(
            f"{command.label} had not ended after {format_duration(run.wall_time_ns / 1e9)}, when the "
            f"{format_duration(question.within_s)} allowed were over: it was ended, and there is no answer",
            remedy=f"Allow at least {FEWEST_WITH_INTERVAL + 1} times as long as "
            f"{'it takes' if len(question.commands) == 1 else 'all commands take together'} with "
            f"{argument('within', verb='time')}.",
        )
    problem = describe_failure(execution.answer, question.allowed_statuses)
    if problem:
        raise InputError(
            f"{command.label} {problem}", remedy=_advise(question, seen.rounds, execution.answer)
        )
    missing = find_missing(question, execution.answer)
    if missing:
        raise InputError(f"{question.response.name} of {command.label} cannot be measured: {missing}")
    seen.executions.setdefault(command.name, []).append(execution)
    if execution.answer.stdout_sha256 is not None:
        seen.outputs.setdefault(command.name, set()).add(execution.answer.stdout_sha256)


def _advise(question: TimingQuestion, earlier: int, answer: CommandAnswer) -> str:
    run = answer.run
    if run is None or run.timed_out:
        # Why it could not be executed, or that it took too long, has its own remedy.
        return ""
    if _NO_TERMINAL.search(answer.stderr_tail):
        return (
            "Commands have no terminal here: execute it as one would in a script, or give it one "
            "with script -qec 'COMMAND' /dev/null."
        )
    if earlier and not question.prepare:
        return (
            "It worked the first time: if it consumes its input, put that back before each execution with "
            f"{argument('prepare', verb='time')}."
        )
    if run.signal is not None:
        return "Run it alone to see why."
    return f"Run it alone to see why. Allow other exit statuses with {argument('allow_status', verb='time')}."

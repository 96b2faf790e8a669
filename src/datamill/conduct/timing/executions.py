"""One execution of a timed command: what is asked of the worker, and the trial record that it becomes."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import time_ns

from datamill.conduct.timing.builds import Built
from datamill.conduct.timing.question import Output, TimingQuestion
from datamill.design.design import PlannedTrial
from datamill.execution.command_session import CommandSession
from datamill.execution.errors import WorkerError
from datamill.experiment.command_lines import SHELL, CommandLine, fill, wrap_words
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.commands import CommandAnswer, CommandGreeting, CommandOutput, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION, FactorFacts, Failure, FailureKind, Outcome, TrialRecord
from datamill.results.trials.responses import list_built_in_values

#: Says to a command which of its executions this is, by the name that scripts for hyperfine read.
ITERATION = "HYPERFINE_ITERATION"
#: What of a program's last words a message quotes.
_QUOTED_CHARACTERS = 400
#: What of a file is read for them: colours take more signs than are quoted.
_READ_BYTES = 16_384
#: What colours words, moves about on a terminal, or makes links and titles there.
_COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


@dataclass(frozen=True, slots=True)
class EndedExecution:
    """An execution that has ended: what the worker answered, and when it began and ended."""

    answer: CommandAnswer
    started_unix_ns: int
    ended_unix_ns: int


def request_command(
    question: TimingQuestion,
    command: CommandLine,
    levels: dict[str, str],
    *,
    number: int = 0,
    warm_up: bool = False,
    longest_s: float = 0.0,
) -> CommandRequest:
    """Return what the worker is asked for one execution, which is the `number`th from 0 of its command.

    It is ended after `longest_s` where that is not 0 and less than what the question allows each.
    """
    redirection = question.find_redirection(command)
    return CommandRequest(
        schema=SCHEMA_VERSION,
        command=command.words,
        directory=str(question.find_folder(command)),
        variables={ITERATION: f"warmup-{number}" if warm_up else str(number)},
        input=str(question.input_file) if question.input_file else None,
        # What a command writes is compared while it warms up: to hash it later, too, would hold up commands
        # that write a lot.
        output=_choose_output(redirection.output, warm_up=warm_up),
        output_file=str(redirection.file) if redirection.file else None,
        timeout_s=min(longest_s, question.timeout_s or inf) if longest_s else question.timeout_s,
        levels=levels,
    )


def _choose_output(output: Output, *, warm_up: bool) -> CommandOutput:
    if warm_up and output in ("capture", "null"):
        return "capture"
    return "read" if output == "capture" else output


def execute_command(
    session: CommandSession,
    question: TimingQuestion,
    command: CommandLine,
    levels: dict[str, str],
    *,
    number: int = 0,
    warm_up: bool = False,
    longest_s: float = 0.0,
) -> EndedExecution:
    """Prepare, execute and conclude one execution of a command; only the middle is measured.

    The arguments are those of `request_command`.

    Raises:
        InputError: when what comes before or after it fails.
    """
    run_beside(session, question, command, question.prepare, "prepare")
    started = time_ns()
    answer = session.measure(
        request_command(question, command, levels, number=number, warm_up=warm_up, longest_s=longest_s)
    )
    ended = time_ns()
    run_beside(session, question, command, question.conclude, "conclude")
    return EndedExecution(answer, started, ended)


def run_beside(
    session: CommandSession,
    question: TimingQuestion,
    command: CommandLine | None,
    texts: tuple[str, ...],
    option: str,
) -> None:
    """Run what is not measured: one command for all that are timed, or one for each of them.

    Raises:
        InputError: when it fails, with what it said last.
    """
    if not texts:
        return
    place = 0 if command is None or len(texts) == 1 else question.commands.index(command)
    text = fill(texts[place], command.parameters if command is not None else {})
    if not text.strip():
        return
    answer = session.measure(
        CommandRequest(
            schema=SCHEMA_VERSION,
            command=wrap_words(text, question.shell or (SHELL,)),
            directory=(command.directory if command is not None else "") or str(question.directory),
            variables={},
            input=None,
            output="capture",
            output_file=None,
            timeout_s=0.0,
            levels={},
        )
    )
    problem = describe_failure(answer, frozenset({0}))
    if problem:
        raise InputError(
            f"{argument(option, verb='time')}: {text!r} {problem}",
            remedy="Correct it, or let it end with status 0 whatever it finds (… || true).",
        )


def clean_up(session: CommandSession, question: TimingQuestion, notes: list[str]) -> None:
    """Run what cleans up, once or where it names a parameter once for each command; note what fails."""
    named = any(f"{{{name}}}" in text for text in question.cleanup for name in _list_parameters(question))
    for command in question.commands if named else (None,):
        try:
            run_beside(session, question, command, question.cleanup, "cleanup")
        except (InputError, WorkerError) as problem:
            notes.append(" ".join(str(problem).split()))


def _list_parameters(question: TimingQuestion) -> set[str]:
    return {name for command in question.commands for name in command.parameters}


def describe_failure(answer: CommandAnswer, allowed: frozenset[int] | None) -> str:
    """Return how an execution failed, in words that follow the command's name; empty when it did not."""
    if answer.failure is not None:
        return f"could not be measured: {answer.failure.message} {answer.failure.remedy}".strip()
    run = answer.run
    if run is None:
        return "could not be measured"
    words = strip_colours(answer.stderr_tail).strip()
    said = f'; it said: "{words[-_QUOTED_CHARACTERS:]}"' if words else ""
    if run.signal is not None:
        try:
            name = signal.Signals(run.signal).name
        except ValueError:
            name = "unknown"
        return f"was ended by signal {run.signal} ({name}){said}"
    if allowed is not None and run.exit_code not in allowed:
        return f"ended with status {run.exit_code}{said}"
    return ""


def strip_colours(text: str) -> str:
    """Return what a program said without what colours it in a terminal, or does anything else there."""
    return _COLOURS.sub("", text)


def read_last_words(printed: Path) -> str:
    """Return the end of what a program wrote to a file, without colours; empty where there is no file."""
    with suppress(OSError), printed.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _READ_BYTES))
        return strip_colours(file.read().decode("utf-8", errors="replace")).strip()
    return ""


def find_missing(question: TimingQuestion, answer: CommandAnswer) -> str:
    """Return why this machine does not give what is to be compared; empty when it does."""
    name = question.response.formula
    if answer.run is None or name in list_built_in_values(answer.run):
        return ""
    counter = next((item for item in answer.run.counters if item.name == name), None)
    return counter.reason if counter is not None else "this machine does not count it"


def make_record(
    question: TimingQuestion,
    experiment: str,
    trial: PlannedTrial,
    execution: EndedExecution,
    greeting: CommandGreeting,
    package_sha256: str,
    built: Built | None = None,
) -> TrialRecord:
    """Return the trial record of an execution.

    A command that ends as the question allows has completed, whatever its exit status: the status of record
    is then none, since records of completed trials have no other.
    """
    answer = execution.answer
    problem = describe_failure(answer, question.allowed_statuses)
    outcome: Outcome = "completed"
    failure: Failure | None = None
    run = answer.run
    if problem:
        timed_out = run is not None and run.timed_out
        outcome = "timed_out" if timed_out else "failed"
        kind: FailureKind = "exit_status"
        if run is not None and run.signal is not None:
            kind = "signal"
        if timed_out:
            kind = "timeout"
        failure = answer.failure or Failure(
            phase="run", kind=kind, message=f"The command {problem}.", remedy="Run it alone to see why."
        )
    return TrialRecord(
        schema=SCHEMA_VERSION,
        experiment=experiment,
        trial_id=trial.trial_id,
        attempt=1,
        package=trial.package,
        package_sha256=package_sha256,
        levels={name: level for name, level in trial.levels.items() if name != "package"},
        seed=trial.seed,
        worker=greeting.worker,
        host=greeting.host,
        isolation=greeting.isolation,
        started_unix_ns=execution.started_unix_ns,
        ended_unix_ns=execution.ended_unix_ns,
        outcome=outcome,
        failure=failure,
        build=built.facts if built is not None else None,
        run=run,
        collect=None,
        factors=_join_factors(trial, answer, built),
        metrics={},
        archive=None,
        notices=(),
        disturbance=answer.disturbance,
    )


def _join_factors(trial: PlannedTrial, answer: CommandAnswer, built: Built | None) -> tuple[FactorFacts, ...]:
    """What was read back of the factors of process and build, as far as the trial has them."""
    of_build = [fact for fact in built.factors if fact.name in trial.levels] if built is not None else []
    return tuple(sorted((*answer.factors, *of_build), key=lambda fact: fact.name))

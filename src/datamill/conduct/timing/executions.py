"""One execution of a timed command: what is asked of the worker, and the trial record that it becomes."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from time import time_ns

from datamill.conduct.timing.question import TimingQuestion
from datamill.design.design import PlannedTrial
from datamill.execution.command_session import CommandSession
from datamill.experiment.command_lines import CommandLine, fill, list_words
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.commands import CommandAnswer, CommandGreeting, CommandRequest
from datamill.protocol.trial import SCHEMA_VERSION, Failure, FailureKind, Outcome, TrialRecord

#: What of a program's last words a message quotes.
_QUOTED_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution that has ended: what the worker answered, and when it began and ended."""

    answer: CommandAnswer
    started_unix_ns: int
    ended_unix_ns: int


def request_command(
    question: TimingQuestion, command: CommandLine, levels: dict[str, str], *, warm_up: bool = False
) -> CommandRequest:
    """Return what the worker is asked for one execution."""
    return CommandRequest(
        schema=SCHEMA_VERSION,
        command=command.words,
        directory=str(question.directory),
        variables={},
        input=str(question.input_file) if question.input_file else None,
        # What a command writes is looked at while it warms up: whether it is what the others write.
        output="capture" if warm_up and question.output == "null" else question.output,
        output_file=str(question.output_file) if question.output_file else None,
        timeout_s=question.timeout_s,
        levels=levels,
    )


def execute_command(
    session: CommandSession,
    question: TimingQuestion,
    command: CommandLine,
    levels: dict[str, str],
    *,
    warm_up: bool = False,
) -> Execution:
    """Prepare, execute and conclude one execution of a command; only the middle is measured.

    Raises:
        InputError: when what comes before or after it fails.
    """
    run_beside(session, question, command, question.prepare, "prepare")
    started = time_ns()
    answer = session.measure(request_command(question, command, levels, warm_up=warm_up))
    ended = time_ns()
    run_beside(session, question, command, question.conclude, "conclude")
    return Execution(answer, started, ended)


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
            command=list_words(text, shell=True),
            directory=str(question.directory),
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


def describe_failure(answer: CommandAnswer, allowed: frozenset[int] | None) -> str:
    """Return how an execution failed, in words that follow the command's name; empty when it did not."""
    if answer.failure is not None:
        return f"could not be measured: {answer.failure.message} {answer.failure.remedy}".strip()
    run = answer.run
    if run is None:
        return "could not be measured"
    words = answer.stderr_tail.strip()
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


def make_record(
    question: TimingQuestion,
    experiment: str,
    trial: PlannedTrial,
    execution: Execution,
    greeting: CommandGreeting,
    package_sha256: str,
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
        build=None,
        run=run,
        collect=None,
        factors=answer.factors,
        metrics={},
        archive=None,
        notices=(),
        disturbance=answer.disturbance,
    )

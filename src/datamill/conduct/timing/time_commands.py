"""Commands executed in turns until they are told apart, into a bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from datamill.conduct.timing.builds import Builds
from datamill.conduct.timing.cautions import (
    check_time,
    find_bounded,
    list_cautions,
    list_limits,
    list_overruns,
    look_at_number,
)
from datamill.conduct.timing.executions import clean_up
from datamill.conduct.timing.listener import TimingListener
from datamill.conduct.timing.question import TimingQuestion
from datamill.conduct.timing.warm_up import WarmUp, warm_up_commands
from datamill.execution.command_session import CommandSession
from datamill.execution.errors import WorkerError
from datamill.execution.host_lock import lock_host
from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle_files import check_bundle_place

if TYPE_CHECKING:
    # Brings statistics along.
    from datamill.analysis.sequential.pairs import Pair
    from datamill.conduct.timing.timing_bundle import PackageOrigin
    from datamill.conduct.timing.timing_run import TimingRun
    from datamill.results.bundles.bundle import Bundle
    from datamill.results.bundles.decisions import Decision


@dataclass(frozen=True, slots=True)
class TimedCommands:
    """What timing came to: where it is kept, the last decision, and what limits the answer.

    `completed` are the executions of each command, by its name, that ended as they should.

    `measured_s` is the time from the first execution to the last; `interrupted` says that something, such as
    the user, ended it before the answer was known or a bound was met.
    `bounded` are the names of commands whose response is known only as an upper bound.
    """

    question: TimingQuestion
    bundle: Bundle
    decision: Decision
    pairs: tuple[Pair, ...]
    completed: Mapping[str, Sequence[TrialRecord]]
    warnings: tuple[str, ...]
    measured_s: float
    interrupted: bool = False
    bounded: frozenset[str] = frozenset()


def time_commands(
    question: TimingQuestion, binary: Path, folder: Path, listener: TimingListener
) -> TimedCommands:
    """Time commands: warm up, execute them in turns in random order, look, stop, and keep everything.

    An interruption (Ctrl-C) ends the rounds and not the answer: intervals hold whenever one stops.

    Args:
        question: what is timed.
        binary: the worker.
        folder: where the bundle is made.
        listener: hears of each step.

    Raises:
        InputError: when no bundle can be made there, or a command fails before anything counted, or too
            often afterwards.
        WorkerError: when the worker ended.
        KeyboardInterrupt: when it was interrupted before there was anything to tell.
    """
    check_bundle_place(folder, resumes=False)
    notes: list[str] = []
    with ExitStack() as held:
        held.enter_context(lock_host(tell=listener.tell_waiting))
        session = held.enter_context(CommandSession(binary))
        began_s = monotonic()
        held.callback(clean_up, session, question, notes)
        warm = warm_up_commands(session, question, listener)
        check_time(question, warm, monotonic() - began_s)
        timed = measure_rounds(session, question, binary, folder, listener, warm, began_s=began_s)
    return replace(timed, warnings=(*timed.warnings, *notes))


def measure_rounds(
    session: CommandSession,
    question: TimingQuestion,
    binary: Path,
    folder: Path,
    listener: TimingListener,
    warm: WarmUp,
    *,
    began_s: float,
    builds: Builds | None = None,
    origins: Mapping[str, PackageOrigin] | None = None,
) -> TimedCommands:
    """Execute commands that are warm in turns, look, stop, and keep everything.

    Args:
        session: executes commands.
        question: what is timed.
        binary: the worker.
        folder: where the bundle is made.
        listener: hears of each step.
        warm: what was seen before.
        began_s: when timing began, on the monotonic clock.
        builds: makes what the commands execute; None where that is there.
        origins: where the package of each command is from; None for commands alone.

    Raises:
        InputError: when a command fails too often.
        WorkerError: when the worker ended.
        KeyboardInterrupt: when it was interrupted before there was anything to tell.
    """
    # Imported late: statistics take a while to load, which the first execution need not wait for.
    from datamill.conduct.timing.timing_bundle import make_timing_bundle
    from datamill.conduct.timing.timing_run import TimingRun

    cautions = list_cautions(question, warm)
    for caution in cautions:
        listener.warn(caution)
    bundle = make_timing_bundle(question, binary, folder, origins)
    run = TimingRun(session, question, bundle, listener, began_s, builds)
    notes = []
    try:
        run.run()
    except (KeyboardInterrupt, InputError, WorkerError, OSError) as ending:
        # What was measured until then is an answer, too.
        if run.decision is None:
            raise
        if not isinstance(ending, KeyboardInterrupt):
            notes.append(_phrase_ending(run, ending))
    measured_s = monotonic() - began_s
    assert run.decision is not None, "the first batch always runs, and is looked at"
    completed = {
        command.name: [
            record
            for record in run.records
            if record.package == command.name and record.outcome == "completed"
        ]
        for command in question.commands
    }
    limits = list_limits(question, run.records)
    # Where too few were asked for it has been said.
    if not look_at_number(question, question.most_rounds):
        # What was ended early had time left: to allow more of it helps nobody.
        round_s = 0.0 if run.ended_early else run.round_s
        limits += look_at_number(question, run.rounds, round_s=round_s, measured_s=measured_s)
    if not run.ended_early:
        limits += list_overruns(question, run.rounds, measured_s)
    return TimedCommands(
        question,
        bundle,
        run.decision,
        run.pairs,
        completed,
        (*cautions, *limits, *run.decision.warnings, *notes),
        measured_s,
        run.ended_early,
        find_bounded(question, run.records),
    )


def _phrase_ending(run: TimingRun, ending: Exception) -> str:
    """What ended timing, or kept the bundle from holding all of it."""
    if not isinstance(ending, OSError):
        return f"it ended early: {' '.join(str(ending).split())}"
    why = ending.strerror or str(ending)
    if ending is not run.unkept:
        place = f"{ending.filename}: " if ending.filename is not None else ""
        return f"it ended early: {place}{why}"
    early = "it ended early, and " if run.ended_early else ""
    return f"{early}the bundle does not hold all executions: {why}"

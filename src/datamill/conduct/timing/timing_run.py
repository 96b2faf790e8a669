"""The rounds that count: each command once a round, in random order, until the rule or a bound ends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from time import monotonic

from datamill.analysis.sequential.pairs import Pair
from datamill.analysis.sequential.timing_look import decide_timing
from datamill.conduct.timing.builds import Builds
from datamill.conduct.timing.executions import execute_command, make_record
from datamill.conduct.timing.listener import TimingListener, TimingProgress
from datamill.conduct.timing.question import FEWEST_WITH_INTERVAL, TimingQuestion
from datamill.conduct.timing.rounds_so_far import RoundsSoFar
from datamill.design.batches import list_batches, number_round
from datamill.design.design import PlannedTrial
from datamill.execution.command_session import CommandSession
from datamill.execution.errors import WorkerError
from datamill.execution.placing.page_cache import find_program, place_anew
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Cause, Decision

#: Time after which what was measured goes to disk; more often would disturb what is measured.
_FLUSH_S = 2.0
#: A program that takes longer to be read again, from a slow disk for example, stays where it is.
_LONGEST_PLACING_S = 0.05
#: Failed executions of one command that end timing, where they are so many of all.
_MOST_FAILURES, _MOST_FAILED_SHARE = 5, 0.5


class TimingRun:
    """Runs the rounds of a bundle, looks at them, and keeps what happened.

    Args:
        session: executes commands.
        question: what is timed.
        bundle: where records and decisions go.
        listener: hears of rounds and looks.
        began_s: when timing began, on the monotonic clock: warming up takes of the time allowed.
        builds: makes what the commands execute; None where that is there.
    """

    def __init__(
        self,
        session: CommandSession,
        question: TimingQuestion,
        bundle: Bundle,
        listener: TimingListener,
        began_s: float,
        builds: Builds | None = None,
    ) -> None:
        self._session, self._question, self._bundle, self._listener = session, question, bundle, listener
        self._builds = builds
        self._commands: Mapping[str, CommandLine] = {item.name: item for item in question.commands}
        self._programs = {
            item.name: program
            for item in question.commands
            if builds is None and (program := find_program(item.words, question.find_folder(item)))
        }
        self._archives = {item.name: item.sha256 for item in bundle.head.packages}
        self._rounds = RoundsSoFar(bundle.experiment)
        self._began_s, self._counting_s, self._flushed_s = began_s, monotonic(), monotonic()
        self._executions: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._unwritten: list[TrialRecord] = []
        self._unwritten_decisions: list[Decision] = []
        self._complete = self._looked = self._trials = 0
        self.records: list[TrialRecord] = []
        self.decision: Decision | None = None
        self.pairs: tuple[Pair, ...] = ()
        #: Whether something other than the rule and the bounds ended it.
        self.ended_early = False
        #: Why the bundle does not hold all.
        self.unkept: OSError | None = None

    def run(self) -> None:
        """Execute batch after batch until a look or a bound says stop; what happened is on disk afterwards.

        Raises:
            InputError: when a command fails too often.
            WorkerError: when the worker ended.
            OSError: when something cannot be read or written; `unkept` is that of the bundle.
            KeyboardInterrupt: after what was known at the last look has been kept.
        """
        try:
            for number, batch in enumerate(list_batches(self._bundle.experiment, self._bundle.design), 1):
                if bound := self._find_bound(batch):
                    self._stop(bound)
                    return
                if self._builds is not None:
                    self._builds.make(batch)
                whole = self._execute_batch(batch)
                self._look(number)
                if self.decision is not None and self.decision.decision == "stop":
                    return
                if not whole:
                    self._stop("max_time")
                    return
            self._stop("max_trials")
        except (KeyboardInterrupt, InputError, WorkerError, OSError):
            self.ended_early = self.decision is None or self.decision.decision != "stop"
            self._stop("interrupted")
            raise
        finally:
            self._write(final=True)

    @property
    def rounds(self) -> int:
        """Rounds that are complete."""
        return self._complete

    @property
    def round_s(self) -> float:
        """Time of a round in the mean, until the last look."""
        return self.decision.elapsed_s / max(1, self._looked) if self.decision is not None else 0.0

    def _execute_batch(self, batch: tuple[PlannedTrial, ...]) -> bool:
        """Execute a batch round by round; false where the time allowed does not hold the whole of it."""
        before = self._complete
        for trial in batch:
            number = number_round(self._bundle.experiment, trial)
            if self._builds is None and number > self._complete + 1:
                # Without builds, rounds follow one another, also within a batch.
                self._complete = number - 1
                if self._is_over(1):
                    return False
            self._execute(trial)
            self._trials += 1
        self._complete = max(before, self._find_last(batch))
        return True

    def _execute(self, trial: PlannedTrial) -> None:
        command = self._commands[trial.package]
        built = self._builds.put(trial) if self._builds is not None else None
        of_build = {fact.name for fact in built.factors} if built is not None else set()
        levels = {
            name: level for name, level in trial.levels.items() if name != "package" and name not in of_build
        }
        self._place_program(trial.package)
        execution = execute_command(
            self._session,
            self._question,
            command,
            levels,
            number=self._executions[trial.package],
        )
        self._executions[trial.package] += 1
        record = make_record(
            self._question,
            self._bundle.experiment.name,
            trial,
            execution,
            self._session.greeting,
            self._archives[trial.package],
            built,
        )
        self.records.append(record)
        self._unwritten.append(record)
        self._rounds.add(trial, record)
        if record.outcome != "completed":
            self._note_failure(command, record)

    def _place_program(self, name: str) -> None:
        """Draw where the kernel keeps the program of a command, unless that takes long."""
        if name in self._programs:
            began_s = monotonic()
            place_anew([self._programs[name]])
            if monotonic() - began_s > _LONGEST_PLACING_S:
                del self._programs[name]

    def _note_failure(self, command: CommandLine, record: TrialRecord) -> None:
        self._failures[command.name] += 1
        executions = self._executions[command.name]
        failed = self._failures[command.name]
        if failed >= _MOST_FAILURES and failed > _MOST_FAILED_SHARE * executions:
            told = record.failure.message if record.failure is not None else ""
            raise InputError(
                f"{command.label} failed in {failed} of {executions} executions: {told}",
                remedy="Run it alone to see why. If it changes its input, put that back with "
                f"{argument('prepare', verb='time')}.",
            )

    def _look(self, number: int) -> None:
        experiment = self._bundle.experiment
        self.decision, self.pairs = decide_timing(
            experiment,
            self._rounds.gather(self._complete),
            look=number,
            trials=self._trials,
            elapsed_s=monotonic() - self._counting_s,
            fewest=self._question.least_rounds,
        )
        self._looked = self._complete
        self._unwritten_decisions.append(self.decision)
        self._listener.tell_look(self.decision, self.pairs, self._tell_progress())
        if monotonic() - self._flushed_s > _FLUSH_S:
            self._write(final=False)

    def _find_bound(self, batch: tuple[PlannedTrial, ...]) -> Cause | None:
        """The bound that the next batch would break; the first one always begins."""
        if not self._complete:
            return None
        most, last = self._question.most_rounds, self._find_last(batch)
        if most is not None and last > most:
            return "max_trials"
        # A batch whose builds are made at once is made whole; else one more round is better than none.
        return "max_time" if self._is_over(last - self._complete if self._builds is not None else 1) else None

    def _is_over(self, rounds: int) -> bool:
        """Tell whether so many more rounds would take longer than is allowed, judged by those before."""
        fewest = FEWEST_WITH_INTERVAL if self._question.within_s else self._question.fewest_rounds
        if self._complete < fewest:
            return False
        foreseen_s = self._tell_progress().round_s * rounds
        return monotonic() - self._began_s + foreseen_s > self._question.longest_s

    def _find_last(self, batch: tuple[PlannedTrial, ...]) -> int:
        return max(number_round(self._bundle.experiment, trial) for trial in batch)

    def _stop(self, cause: Cause) -> None:
        """Make the last look one that ends timing."""
        if self.decision is None or self.decision.decision == "stop":
            return
        self.decision, self.pairs = decide_timing(
            self._bundle.experiment,
            # What an interruption cut off in the midst of a batch is not looked at any more.
            self._rounds.gather(self._looked),
            look=self.decision.look,
            trials=self.decision.trials,
            elapsed_s=self.decision.elapsed_s,
            ended=cause,
            fewest=self._question.least_rounds,
        )
        self._unwritten_decisions[-1] = self.decision

    def _tell_progress(self) -> TimingProgress:
        now = monotonic()
        return TimingProgress(
            rounds=self._complete,
            elapsed_s=now - self._began_s,
            round_s=(now - self._counting_s) / max(1, self._complete),
            longest_s=self._question.longest_s,
        )

    def _write(self, *, final: bool) -> None:
        """Put on disk what is not there yet; the last decision may still become another one."""
        self._flushed_s = monotonic()
        try:
            if self._unwritten:
                self._bundle.append_records(self._unwritten)
                self._unwritten = []
            while len(self._unwritten_decisions) > (0 if final else 1):
                self._bundle.append_decision(self._unwritten_decisions[0])
                # Each at once: after a failure the rest is tried again.
                del self._unwritten_decisions[0]
        except OSError as problem:
            self.unkept = problem
            raise
